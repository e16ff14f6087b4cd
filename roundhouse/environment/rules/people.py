"""Rules about people: who may answer when Roundhouse asks."""

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
