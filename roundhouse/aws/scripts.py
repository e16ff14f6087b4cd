"""Lifecycle scripts as S3 has them: every object under a prefix with a checksum of its content. Touches S3, reading."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from roundhouse.aws.errors import translated
from roundhouse.build.scripts import MOST_FILES, ScriptFile
from roundhouse.errors import BadInput

READ_UP_TO = 1 << 20  # bytes; a larger object is known by its ETag, which changes at least when its content does
AT_ONCE = 8


def lifecycle_files(s3: Any, s3_uri: str) -> Sequence[ScriptFile]:
    """See `ports.Surroundings.lifecycle_files`. Of a bucket with versions, the current ones."""
    bucket, _, path = s3_uri.removeprefix("s3://").strip("/").partition("/")
    if not s3_uri.startswith("s3://") or not bucket:
        raise BadInput(f"{s3_uri!r} is not an S3 address: write s3://bucket/prefix/")
    prefix = f"{path}/" if path else ""
    found: list[Mapping[str, Any]] = []
    with translated("ListObjectsV2"):
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            found += [each for each in page.get("Contents", []) if not each["Key"].endswith("/")]
            if len(found) > MOST_FILES:
                raise BadInput(
                    f"there are more than {MOST_FILES} objects under {s3_uri}: give the lifecycle scripts a prefix of "
                    "their own"
                )

    def file(raw: Mapping[str, Any]) -> ScriptFile:
        # Content and not ETag where possible: the ETag of a multipart upload or an encrypted object changes each time.
        if raw["Size"] > READ_UP_TO:
            return ScriptFile(raw["Key"][len(prefix) :], raw["Size"], f"etag:{raw['ETag'].strip(chr(34))}")
        with translated("GetObject"):
            content = s3.get_object(Bucket=bucket, Key=raw["Key"])["Body"].read()
        return ScriptFile(raw["Key"][len(prefix) :], len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return tuple(pool.map(file, found))
