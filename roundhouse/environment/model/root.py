"""The root of an environment file. Imports pydantic."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from roundhouse.environment.model.base import Section
from roundhouse.environment.model.cluster import Cluster, Rehearsal, Waits
from roundhouse.environment.model.groups import Group
from roundhouse.environment.model.people import Costs, Deployment, Slack
from roundhouse.environment.model.place import FileSystem, Network
from roundhouse.environment.model.policy import Policy
from roundhouse.environment.model.types import Account, AzId, EnvironmentName, Region, Several


class Environment(Section):
    """One deployment, and so one cluster. `az_id` is where subnets, plans and storage must all be."""

    name: EnvironmentName
    account: Account
    region: Region
    az_id: AzId
    network: Network
    cluster: Cluster
    groups: Annotated[Several[Group], Field(min_length=1, max_length=20)]
    slack: Slack
    storage: Several[FileSystem] = ()
    waits: Waits = Waits()
    rehearsal: Rehearsal = Rehearsal()
    policy: Policy = Policy()
    costs: Costs = Costs()
    deployment: Deployment = Deployment()
