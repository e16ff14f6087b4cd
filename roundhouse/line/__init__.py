"""The line: event, incident, decision, approval, action, proof. Pure: no clock, no I/O, no SDK."""
