"""Lifecycle scripts in S3, rehearsals in DynamoDB, and tags of a throw-away cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from roundhouse.aws import scripts
from roundhouse.aws.hyperpod_reader import HyperpodReader
from roundhouse.aws.stores import DynamoRehearsals
from roundhouse.aws.surroundings import AwsSurroundings
from roundhouse.build.rehearsal import Rehearsal, Result
from roundhouse.build.scripts import MOST_FILES, ScriptFile, Scripts
from roundhouse.contracts.names import CONTROL
from roundhouse.errors import BadInput, ConditionFailed, NotFound
from roundhouse.ports import RehearsalStore
from tests.fakes.clocks import FakeClock
from tests.fakes.records import FakeRehearsals

NOW = datetime(2026, 10, 2, 12, tzinfo=UTC)
BUCKET = "sagemaker-unit"
ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/a1b2c3d4e5f6"
Aws = Callable[..., Any]


# Scripts ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def s3(aws: Aws) -> Any:
    client = aws("s3")
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    return client


def listed(aws: Aws, uri: str = f"s3://{BUCKET}/lifecycle/") -> list[ScriptFile]:
    return sorted(AwsSurroundings(aws, region="us-west-2").lifecycle_files(uri), key=lambda each: each.key)


def sha(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_every_file_under_the_prefix_and_none_beside_it(aws: Aws, s3: Any) -> None:
    for key in ("lifecycle/on_create.sh", "lifecycle/lib/mount.sh", "lifecycle2/other.sh", "on_create.sh"):
        s3.put_object(Bucket=BUCKET, Key=key, Body=key.encode())
    s3.put_object(Bucket=BUCKET, Key="lifecycle/lib/", Body=b"")  # a folder as the console makes it
    found = [
        ScriptFile("lib/mount.sh", 22, sha(b"lifecycle/lib/mount.sh")),
        ScriptFile("on_create.sh", 22, sha(b"lifecycle/on_create.sh")),
    ]
    assert listed(aws) == listed(aws, f"s3://{BUCKET}/lifecycle") == found
    assert [each.key for each in listed(aws, f"s3://{BUCKET}")] == [
        "lifecycle/lib/mount.sh",
        "lifecycle/on_create.sh",
        "lifecycle2/other.sh",
        "on_create.sh",
    ]


def test_the_content_counts_and_not_the_upload(aws: Aws, s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key="lifecycle/on_create.sh", Body=b"exit 0")
    before = listed(aws)
    s3.put_object(Bucket=BUCKET, Key="lifecycle/on_create.sh", Body=b"exit 0", ServerSideEncryption="aws:kms")
    assert listed(aws) == before
    s3.put_object(Bucket=BUCKET, Key="lifecycle/on_create.sh", Body=b"exit 1")
    assert listed(aws) != before


def test_of_several_versions_the_current_one_counts(aws: Aws, s3: Any) -> None:
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    for body in (b"exit 1", b"exit 0"):
        s3.put_object(Bucket=BUCKET, Key="lifecycle/on_create.sh", Body=body)
    s3.put_object(Bucket=BUCKET, Key="lifecycle/old.sh", Body=b"x")
    s3.delete_object(Bucket=BUCKET, Key="lifecycle/old.sh")
    assert listed(aws) == [ScriptFile("on_create.sh", 6, sha(b"exit 0"))]


def test_a_large_object_is_known_by_its_etag(aws: Aws, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "READ_UP_TO", 5)
    etag = s3.put_object(Bucket=BUCKET, Key="lifecycle/big.tar", Body=b"123456")["ETag"].strip('"')
    assert listed(aws) == [ScriptFile("big.tar", 6, f"etag:{etag}")]


def test_more_files_than_a_page_holds(aws: Aws, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        s3.put_object(Bucket=BUCKET, Key=f"lifecycle/{number:03}", Body=b"x")
    paged = s3.get_paginator("list_objects_v2")
    pages: list[int] = []

    class Small:
        def paginate(self, **query: Any) -> Any:
            for page in paged.paginate(**query, PaginationConfig={"PageSize": 25}):
                pages.append(len(page["Contents"]))
                yield page

    monkeypatch.setattr(s3, "get_paginator", lambda name: Small())
    assert len(listed(aws)) == 60
    assert pages == [25, 25, 10]


def test_an_empty_prefix_is_an_empty_listing_and_too_many_files_are_refused(
    aws: Aws, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert listed(aws) == []
    monkeypatch.setattr(scripts, "MOST_FILES", 2)
    for number in range(3):
        s3.put_object(Bucket=BUCKET, Key=f"lifecycle/{number}", Body=b"x")
    with pytest.raises(BadInput, match="a prefix of their own"):
        listed(aws)
    assert MOST_FILES > 500


def test_what_is_no_address_or_no_bucket(aws: Aws, s3: Any) -> None:
    with pytest.raises(BadInput, match="write s3://bucket/prefix/"):
        listed(aws, "https://example.com/x")
    with pytest.raises(NotFound):
        listed(aws, "s3://sagemaker-nowhere/lifecycle/")


# Rehearsals ------------------------------------------------------------------------------------------------------
RECORD = Rehearsal(
    environment="unit",
    rehearsal_id="r-1",
    scripts=Scripts("s3://sagemaker-unit/lifecycle", "on_create.sh"),
    digest="d" * 64,
    files=tuple(ScriptFile(f"a/rather/long/name/of/a/file/{n:04}", n, sha(b"x")) for n in range(MOST_FILES)),
    cluster="train-rehearsal-dddddddd",
    instance_type="ml.m5.xlarge",
    started_at=NOW,
    looked_at=NOW,
)


@pytest.fixture(params=["memory", "dynamodb"])
def store(request: pytest.FixtureRequest) -> RehearsalStore:
    if request.param == "memory":
        return FakeRehearsals()
    tables, aws = request.getfixturevalue("tables"), request.getfixturevalue("aws")
    return DynamoRehearsals(aws("dynamodb"), tables(CONTROL))


def test_the_newest_one_is_a_lock(store: RehearsalStore) -> None:
    assert store.newest() is None
    held = store.put(RECORD)
    assert store.newest() == held == replace(RECORD, version=1)
    with pytest.raises(ConditionFailed):
        store.put(replace(RECORD, rehearsal_id="r-2"))
    assert store.put(replace(held, result=Result.PASSED, ended_at=NOW)).version == 2


def test_each_digest_keeps_its_last_word(store: RehearsalStore) -> None:
    assert store.of_digest(RECORD.digest) is None

    def kept(result: Result) -> Result | None:
        store.keep(replace(RECORD, result=result, started_at=NOW + timedelta(days=1), version=7))
        found = store.of_digest(RECORD.digest)
        return found.result if found else None

    assert kept(Result.INCONCLUSIVE) is Result.INCONCLUSIVE
    assert kept(Result.PASSED) is Result.PASSED
    assert kept(Result.INCONCLUSIVE) is Result.PASSED, "one without a result says nothing against one that has"
    assert kept(Result.FAILED) is Result.FAILED
    assert kept(Result.INCONCLUSIVE) is Result.FAILED
    assert kept(Result.PASSED) is Result.PASSED
    assert store.of_digest("e" * 64) is None
    assert store.newest() is None, "what is kept is not what is under way"


# Tags ------------------------------------------------------------------------------------------------------------
def test_tags_of_every_page(sagemaker: Any) -> None:
    client, stub = sagemaker
    first = {"Tags": [{"Key": "team", "Value": "research"}], "NextToken": "more"}
    stub.add_response("list_tags", first, {"ResourceArn": ARN})
    second = {"Tags": [{"Key": "roundhouse:rehearsal", "Value": "unit"}]}
    stub.add_response("list_tags", second, {"ResourceArn": ARN, "NextToken": "more"})
    reader = HyperpodReader(client, FakeClock(NOW))
    assert reader.tags(ARN) == {"team": "research", "roundhouse:rehearsal": "unit"}


def test_tags_of_what_is_gone(sagemaker: Any) -> None:
    client, stub = sagemaker
    stub.add_client_error("list_tags", "ResourceNotFound", "there is no such cluster")
    with pytest.raises(NotFound):
        HyperpodReader(client, FakeClock(NOW)).tags(ARN)
