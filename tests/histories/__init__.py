"""Histories: whole lives of a small cluster, written by chance, replayable by seed, judged by the ten rules."""
