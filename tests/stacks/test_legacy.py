"""UpdateCluster is granted only where the environment's cluster has legacy provisioning, and to two functions alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stacks.permissions import FUNCTIONS, LEGACY
from tests.stacks.conftest import make_deployment, synthesize
from tests.stacks.templates import Templates

UPDATE = "sagemaker:UpdateCluster"


def _holders(templates: Templates) -> set[str]:
    roles = templates.of_type("AWS::IAM::Role")
    return {
        name
        for _, logical_id, resource in roles
        for name in FUNCTIONS
        if logical_id.startswith(f"{name.replace('_', '')}Role") and UPDATE in json.dumps(resource)
    }


def test_no_function_of_a_continuous_cluster_may_set_a_count(templates: Templates) -> None:
    assert _holders(templates) == set()


@pytest.fixture(scope="module")
def legacy(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    known = make_deployment()
    deployment = make_deployment(cluster=replace(known.cluster, provisioning_mode="legacy"))
    return Templates.read(synthesize(deployment, Path(tmp_path_factory.mktemp("legacy"))))


def test_creation_and_restored_counts_of_a_legacy_cluster_may(legacy: Templates) -> None:
    assert _holders(legacy) == set(LEGACY) == {"launch_stage", "restore_count"}


def test_a_legacy_creation_is_waited_for_as_long_as_a_stage(legacy: Templates, templates: Templates) -> None:
    def patience(of: Templates) -> list[str]:
        machines = of.properties("AWS::StepFunctions::StateMachine")
        given = [each.get("DefinitionSubstitutions", {}) for each in machines]
        return [values["controller_timeout_s"] for values in given if "controller_timeout_s" in values]

    assert set(patience(legacy)) == {"7200"}
    assert set(patience(templates)) == {"3600"}
