"""The steps of a repair, as `remediate_node` orders them. Ports only."""
