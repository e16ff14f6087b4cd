"""Readers of real-world text and payloads: HyperPod events, health-agent records, Slurm snapshots. Pure."""
