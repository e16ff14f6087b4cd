"""Building clusters: staging and the discount. Pure."""
