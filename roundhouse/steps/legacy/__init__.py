"""Counts of clusters without continuous provisioning: one writer, absolute numbers. Ports only."""
