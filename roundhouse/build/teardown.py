"""The guard before anything is deleted: the plan compared with who calls, where, and what is there. Pure.

Deleting a name that is absent succeeds in AWS, and the region may come from a flag, two variables, a profile or a
default that tools rank differently. So a plan says account, region and ids itself, nothing is guessed, every place that
states a region must agree, and what is absent is an error: the thing meant may be running, at full price, elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

# Storage is never in the path of a teardown; whoever wants it gone deletes it by hand. EC2's are told by resource.
STORAGE_SERVICES = frozenset(
    {"fsx", "s3", "s3express", "elasticfilesystem", "backup", "dynamodb", "ecr", "rds", "glacier"}
)
STORAGE_RESOURCES = ("volume/", "snapshot/", "image/")
_ARN = re.compile(
    r"arn:aws[a-z-]*:(?P<service>[a-z0-9-]+):(?P<region>[a-z0-9-]*):(?P<account>\d{12}):(?P<resource>.+)", re.ASCII
)


class TeardownVerdict(StrEnum):
    """What the guard says."""

    PROCEED = "PROCEED"
    NOT_FOUND = "NOT_FOUND"  # something of the plan is not there: an error, never "done"
    REFUSE = "REFUSE"


@dataclass(frozen=True, slots=True)
class TeardownPlan:
    """What people approve: `targets` is name → ARN; each target must carry all of `tags`."""

    account: str
    region: str
    targets: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """A thing that exists under a target's name."""

    arn: str
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was read right before the call.

    `account`: of the caller, by STS; None when it could not be read. `regions`: every place that says where calls go →
    what it says (the client's region, AWS_REGION, the profile). `found`: target name → what is there, None for nothing;
    a name that is absent was not looked up, or the answer could not be read.
    """

    account: str | None
    regions: Mapping[str, str]
    found: Mapping[str, Found | None]


@dataclass(frozen=True, slots=True)
class Teardown:
    """The verdict with every reason. Without a reason to refuse or to miss something there is none to give."""

    verdict: TeardownVerdict
    reasons: tuple[str, ...]


def check_teardown(plan: TeardownPlan, there: Surroundings) -> Teardown:
    """PROCEED only when all of `plan` is certain; refusals outweigh what is missing, and all are listed."""
    refusals = [*_place(plan, there), *(why for name in plan.targets for why in _target(name, plan, there))]
    if refusals:
        return Teardown(TeardownVerdict.REFUSE, tuple(refusals))
    missing = [name for name in plan.targets if there.found[name] is None]
    if missing:
        where = f"in {plan.region} of account {plan.account}"
        reasons = (f"{name}: nothing of that name {where}; it may stand elsewhere, plan again" for name in missing)
        return Teardown(TeardownVerdict.NOT_FOUND, tuple(reasons))
    return Teardown(TeardownVerdict.PROCEED, ())


def _place(plan: TeardownPlan, there: Surroundings) -> Iterator[str]:
    """Account and region: stated in the plan, and the same wherever they are stated."""
    if not re.fullmatch(r"\d{12}", plan.account, re.ASCII):
        yield f"the plan's account is {plan.account!r}, not 12 digits; plans state their account"
    if not re.fullmatch(r"[a-z]+(-[a-z]+)+-\d+", plan.region, re.ASCII):
        yield f"the plan's region is {plan.region!r}; plans state their region"
    if not plan.targets:
        yield "the plan names nothing to delete"
    if there.account is None:
        yield "STS did not say whose credentials these are"
    elif there.account != plan.account:
        yield f"the credentials are for account {there.account}, the plan is for {plan.account}"
    if not there.regions:
        yield "nothing says in which region the calls would be made; give it explicitly"
    for place, region in there.regions.items():
        if region != plan.region:
            yield f"{place} says {region or 'nothing'}, the plan is for {plan.region}"


def _target(name: str, plan: TeardownPlan, there: Surroundings) -> Iterator[str]:
    """One thing to delete: named by an ARN of the plan's place, no storage, and exactly what is there."""
    arn = plan.targets[name]
    match = _ARN.fullmatch(arn)
    if match is None or "*" in arn:
        yield f"{name}: the plan must name it by its full ARN, not by {arn!r}"
        return
    if match["account"] != plan.account or match["region"] not in {plan.region, ""}:
        yield f"{name}: {arn} is not in {plan.region} of account {plan.account}"
    if match["service"] in STORAGE_SERVICES or (
        match["service"] == "ec2" and match["resource"].startswith(STORAGE_RESOURCES)
    ):
        yield f"{name}: {arn} is storage, which no teardown deletes"
    if name not in there.found:
        yield f"{name}: it could not be read, which does not mean that it is gone"
        return
    found = there.found[name]
    if found is None:
        return
    if found.arn != arn:
        yield f"{name}: {found.arn} stands there, the plan is for {arn}"
    for key, wanted in plan.tags.items():
        if found.tags.get(key) != wanted:
            yield f"{name}: its tag {key} is {found.tags.get(key)!r}, the plan says {wanted!r}"
