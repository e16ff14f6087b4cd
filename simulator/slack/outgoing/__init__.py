"""What Slack sends to an app (interactions, events), signed, and the response_url that an app answers to."""
