"""Roundhouse: what we know about running HyperPod clusters. No CDK here; adapters live in `aws`, `slack`."""
