"""Rules about people, who may answer when Roundhouse asks, and about the deployment itself."""

from __future__ import annotations

from collections.abc import Iterator

from roundhouse.build.problem import Problem, shown
from roundhouse.environment.catalog import Catalog
from roundhouse.environment.model import Environment
from roundhouse.line.policy import Mode


def somebody_may_approve(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    if env.slack.approvers:
        return
    remedy = 'Name Slack user ids, like ["U0123ABCDEF"]'
    if Mode.ASK in env.policy.modes():
        yield Problem("slack.approvers", "", "a rule asks and nobody may answer", remedy)
    if any(group.discount.kind != "none" for group in env.groups):
        yield Problem("slack.approvers", "", "a lost discount is asked about and nobody may answer", remedy)


def approvers_are_given_once(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    approvers = env.slack.approvers
    for index, user in enumerate(approvers):
        if user in approvers[:index]:
            yield Problem(f"slack.approvers[{index}]", shown(user), "this person is named twice", "Name them once")


OFTEN_S, SELDOM_S = 300, 6 * 3600  # a run takes seconds; what got lost should not wait for longer than that


def reconciling_is_regular(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    every = env.deployment.reconcile_every
    if every % 60 or not OFTEN_S <= every <= SELDOM_S:
        reason = "the records are compared with live state every 5 minutes to 6 hours, in whole minutes"
        yield Problem("deployment.reconcile_every", f"{every} s", reason, 'Write "15m"')
