"""Histories: whole lives of a small cluster, written by chance and replayable by their seed, judged by the ten rules."""
