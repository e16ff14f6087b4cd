"""Lambda: Slack's clicks."""
