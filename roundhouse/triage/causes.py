"""From the words of a signal to a cause class. Pure; what is not recognised is UNKNOWN, never guessed.

Sources: fault types of HyperPod's health agent, its cluster event reference, and NVIDIA's Xid catalogue, of which only
the part is used that says plainly "hardware" or "the application". Sub-coded Xids (144 to 150, 154) stay unknown here.
"""

from __future__ import annotations

import re

from roundhouse.line.event import CauseClass
from roundhouse.line.theirs import is_shortage

HARDWARE_XIDS = frozenset({46, 48, 62, 64, 74, 79, 95, 110, 119, 120, 136, 140, 143, 155, 156, 158, 167, 171, 172})
APPLICATION_XIDS = frozenset(
    {8, 11, 13, 25, 31, 32, 37, 38, 39, 40, 41, 43, 44, 45, 60, 63, 66, 67, 68, 69, 70, 71, 72}
)

READ = 2000  # characters of a text that are searched: what a node writes may be long, and made to be slow to search

_XID = re.compile(r"\bxid\b[^0-9]{0,20}?(?:\([^)]*code\s*=\s*(\d{1,9})|\(PCI:[^)]*\):\s*(\d{1,9})|(\d{1,9}))", re.I)
_HARDWARE = re.compile(r"nvidia|dcgm|gpu|nvlink|nvswitch|neuron|ecc|\bhbm\b|memory error", re.I)
_NETWORK = re.compile(r"\befa|\bnic\b|network interface", re.I)
_FAULT = re.compile(r"fault type (.+?)(?: on this node| and is|[.,;]|$)", re.I)


def xid_of(text: str) -> int | None:
    """The first Xid number in a text: `Xid 79`, `XID Error (code=79)`, `Xid (PCI:0000:b9:00): 71, …`."""
    match = _XID.search(text[:READ])
    return int(next(group for group in match.groups() if group)) if match else None


def cause_of_xid(xid: int) -> CauseClass:
    """HARDWARE for Xids that mean nothing else; UNKNOWN otherwise."""
    return CauseClass.HARDWARE if xid in HARDWARE_XIDS else CauseClass.UNKNOWN


def fault_in(text: str) -> str | None:
    """The fault type that HyperPod names in a sentence ("… has detected fault type X on this node …")."""
    match = _FAULT.search(text[:READ])
    return match[1].strip() if match else None


def cause_of_fault(fault: str) -> tuple[str, CauseClass]:
    """(code, cause) of a fault type of the health agent.

    >>> cause_of_fault("NvidiaErrorTerminate"), cause_of_fault("XID Error (code=79)")
    (('NvidiaErrorTerminate', <CauseClass.HARDWARE: 'hardware'>), ('xid-79', <CauseClass.HARDWARE: 'hardware'>))
    """
    xid = xid_of(fault)
    if xid is not None:
        return f"xid-{xid}", cause_of_xid(xid)
    code = re.sub(r"\s+", "_", fault.strip())[:64]
    if _NETWORK.search(fault):
        return code, CauseClass.NETWORK
    if _HARDWARE.search(fault):
        return code, CauseClass.HARDWARE
    return code, CauseClass.UNKNOWN


def cause_of_failed_launch(description: str, failure: str, lifecycle_state: str | None) -> tuple[str, CauseClass]:
    """(code, cause) of a failed provision. Without a failure message nobody can tell: UNKNOWN, look it up first.

    A shortage is not mended by retrying; a failed EFA check mostly is.
    """
    text = f"{failure} {description}"
    if lifecycle_state == "Failed" or re.search(r"lifecycle (?:script|config)", text, re.I):
        return "lifecycle_failed", CauseClass.LIFECYCLE
    if is_shortage(text):
        return "insufficient_capacity", CauseClass.CAPACITY
    if not failure:
        return "launch_failed", CauseClass.UNKNOWN
    if re.search(r"\bEFA\b", failure):
        return "efa_check_failed", CauseClass.PROVISIONING
    return "launch_failed", CauseClass.PROVISIONING
