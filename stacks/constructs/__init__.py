"""Building blocks that carry the house's rules: own role, own log group, dead letters, retained tables."""
