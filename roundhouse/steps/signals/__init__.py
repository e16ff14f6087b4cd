"""From a signal to an incident and its workflow. Ports only."""
