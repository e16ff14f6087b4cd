"""Rules about clusters without continuous provisioning."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from roundhouse.build.legacy import LEGACY, RETRY_AFTER
from roundhouse.build.problem import Problem
from roundhouse.environment.catalog import Catalog
from roundhouse.environment.model import Environment

LEAST_STAGE_S = 1800  # a batch of nodes takes 15 to 25 minutes, and HyperPod does all of it or nothing


def legacy_has_time(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    if env.cluster.provisioning_mode != LEGACY:
        return
    waits, least = env.waits, 2 * round(RETRY_AFTER.total_seconds())
    if waits.shortage_timeout < least:
        reason = "one node without capacity undoes a whole update, and the next try comes ten minutes later"
        remedy = f"Write at least {least} s, so that it is tried again"
        yield Problem("waits.shortage_timeout", f"{waits.shortage_timeout} s", reason, remedy)
    if waits.stage_timeout < LEAST_STAGE_S:
        reason = "a legacy cluster is ready when every node of a stage is, which takes 15 to 25 minutes"
        yield Problem("waits.stage_timeout", f"{waits.stage_timeout} s", reason, f"Write at least {LEAST_STAGE_S} s")


def legacy_stages_add_nodes(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    """Every further stage is an UpdateCluster of its own, and one that adds nothing would prove nothing."""
    if env.cluster.provisioning_mode != LEGACY:
        return
    for index, group in enumerate(env.groups):
        if group.further_stages is None:
            continue
        targets = [
            max(1, min(group.count, -(-round(share * group.count * 1e6) // 1_000_000))) for share in group.stages
        ]
        if any(later == earlier for earlier, later in pairwise(targets)):
            reason = f"of {group.count} nodes these stages are {', '.join(map(str, targets))}: one of them adds none"
            yield Problem(f"groups[{index}].further_stages", "", reason, "Leave out the stage that adds no node")
