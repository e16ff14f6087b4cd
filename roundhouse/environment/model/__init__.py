"""The model of an environment file, split by sections. Shapes and patterns are here, cross-field rules in rules/."""

from roundhouse.environment.model.cluster import Cluster, Rehearsal, Waits
from roundhouse.environment.model.groups import AccountReservation, Group, NoDiscount, TrainingPlan
from roundhouse.environment.model.people import Costs, Deployment, Slack
from roundhouse.environment.model.place import FileSystem, Network
from roundhouse.environment.model.policy import Breaker, Budget, Policy, Rule
from roundhouse.environment.model.root import Environment

__all__ = [
    "AccountReservation",
    "Breaker",
    "Budget",
    "Cluster",
    "Costs",
    "Deployment",
    "Environment",
    "FileSystem",
    "Group",
    "Network",
    "NoDiscount",
    "Policy",
    "Rehearsal",
    "Rule",
    "Slack",
    "TrainingPlan",
    "Waits",
]
