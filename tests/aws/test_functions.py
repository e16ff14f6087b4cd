"""Calling a deployed function, by botocore's Stubber."""

from __future__ import annotations

import io
import json
from typing import Any

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from roundhouse.aws.functions import LambdaFunctions
from roundhouse.errors import AwsFailure, NotFound

ASKED = {"FunctionName": "roundhouse-test-reconcile-line", "Qualifier": "live", "Payload": b'{"asked_by": "ada"}'}


def answer(body: object, **more: Any) -> dict[str, Any]:
    text = json.dumps(body).encode()
    return {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(text), len(text)), **more}


def test_the_answer_is_what_the_function_returned() -> None:
    client: Any = boto3.client("lambda", region_name="us-west-2")
    with Stubber(client) as stub:
        stub.add_response("invoke", answer({"mended": []}), ASKED)
        said = LambdaFunctions(client).invoke("roundhouse-test-reconcile-line", {"asked_by": "ada"})
    assert said == {"mended": []}


def test_a_function_that_failed_says_its_own_words() -> None:
    client: Any = boto3.client("lambda", region_name="us-west-2")
    failed = {"errorType": "StoreFailure", "errorMessage": "the table is away"}
    with Stubber(client) as stub:
        stub.add_response("invoke", answer(failed, FunctionError="Unhandled"), ASKED)
        with pytest.raises(AwsFailure, match="reconcile-line failed: StoreFailure: the table is away"):
            LambdaFunctions(client).invoke("roundhouse-test-reconcile-line", {"asked_by": "ada"})


def test_a_function_that_is_not_deployed() -> None:
    client: Any = boto3.client("lambda", region_name="us-west-2")
    with Stubber(client) as stub:
        stub.add_client_error("invoke", "ResourceNotFoundException")
        with pytest.raises(NotFound):
            LambdaFunctions(client).invoke("roundhouse-test-reconcile-line", {"asked_by": "ada"})
