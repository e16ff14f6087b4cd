"""The steps of a creation, as `create_cluster` orders them. Ports only."""
