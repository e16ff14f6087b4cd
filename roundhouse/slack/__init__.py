"""The Slack adapter: the only place that imports slack_sdk. Reads clicks, draws notices, talks to the Web API."""
