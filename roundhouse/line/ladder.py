"""The action ladder: what may be done to a node, from gentle to hard. Pure."""

from __future__ import annotations

from enum import StrEnum


class Rung(StrEnum):
    """Actions from gentle to hard. Their order in this class is the order of the ladder."""

    NONE = "none"
    RESTART_JOB = "restart_job"
    RESET_GPU = "reset_gpu"
    REBOOT = "reboot"
    REPLACE = "replace"
    DELETE_RESTORE = "delete_restore"
    HUMAN = "human"

    @property
    def height(self) -> int:
        """Position on the ladder, 0 for NONE."""
        return list(Rung).index(self)

    @property
    def destructive(self) -> bool:
        """True when the instance's disks or the instance itself are lost."""
        return self in {Rung.REPLACE, Rung.DELETE_RESTORE}

    @property
    def changes_hyperpod(self) -> bool:
        """True when the rung is a HyperPod call, and so counted by the breaker."""
        return self in {Rung.REBOOT, Rung.REPLACE, Rung.DELETE_RESTORE}
