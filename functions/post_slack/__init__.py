"""Lambda: the outbox, posted to Slack."""
