"""Lambda: decided approvals, passed on to their state machines."""
