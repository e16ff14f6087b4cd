"""What clusters cost, and why it changed: readers of AWS's cost alerts. Pure."""
