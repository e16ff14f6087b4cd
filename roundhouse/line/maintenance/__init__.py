"""Maintenance: AWS has announced work on an instance: its node before, in and after the window. Pure."""

from roundhouse.line.maintenance.admit import admit
from roundhouse.line.maintenance.decide import DUE, Mind, Move, applied, decide, in_window
from roundhouse.line.maintenance.facts import Facts, Other, entry
from roundhouse.line.maintenance.window import LONGEST, OPEN_END, Window, ahead, events_of, heard_last, window_id

__all__ = [
    "DUE",
    "LONGEST",
    "OPEN_END",
    "Facts",
    "Mind",
    "Move",
    "Other",
    "Window",
    "admit",
    "ahead",
    "applied",
    "decide",
    "entry",
    "events_of",
    "heard_last",
    "in_window",
    "window_id",
]
