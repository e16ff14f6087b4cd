"""Rules about instance groups and their stages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from roundhouse.build.problem import Problem, shown
from roundhouse.environment.catalog import Catalog
from roundhouse.environment.model import Environment


def names_are_unique(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, group in enumerate(env.groups):
        if group.name in seen:
            yield Problem(f"groups[{index}].name", shown(group.name), "another group has that name", "Choose another")
        seen.add(group.name)


def one_controller(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    controllers = [index for index, group in enumerate(env.groups) if group.role == "Controller"]
    if len(controllers) != 1:
        reason = f"there are {len(controllers)} Controller groups, Slurm on HyperPod has exactly one"
        yield Problem("groups", "", reason, 'Give exactly one group role = "Controller"')
    for index in controllers:
        count = env.groups[index].count
        if count != 1:
            reason = "several controllers need a provisioning file, which is written for none"
            yield Problem(f"groups[{index}].count", str(count), reason, "Write count = 1")


def some_compute(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    if all(group.role != "Compute" for group in env.groups):
        yield Problem("groups", "", "there is no Compute group", 'Add a group with role = "Compute"')


def partitions_are_for_compute(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for index, group in enumerate(env.groups):
        if group.partition is not None and group.role != "Compute":
            reason = f"partitions can only be given to Compute groups, this is a {group.role} group"
            yield Problem(f"groups[{index}].partition", shown(group.partition), reason, "Remove it")


def stages_rise_to_contract(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for index, group in enumerate(env.groups):
        stages = group.stages
        path = f"groups[{index}].further_stages"
        if any(later <= earlier for earlier, later in pairwise(stages)):
            reason = "stages are cumulative shares of the contract and must rise, the first share included"
            yield Problem(path, shown(list(stages)), reason, "Write rising shares, like [0.8, 1.0]")
        if stages[-1] != 1.0:
            yield Problem(path, shown(list(stages)), "the last stage must be the whole contract", "End it with 1.0")


def only_compute_is_staged(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for index, group in enumerate(env.groups):
        if group.role != "Compute" and group.stages != (1.0,):
            reason = f"a {group.role} group is created whole"
            remedy = "Remove first_stage_share and further_stages"
            yield Problem(f"groups[{index}]", shown(list(group.stages)), reason, remedy)
