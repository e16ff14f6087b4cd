"""Asking people, reading their answers, taking questions back. Ports only."""
