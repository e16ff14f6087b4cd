"""Maintenance that AWS has announced: hearing of it, and minding the nodes that it is about. Ports only."""
