"""Lifecycle scripts as what is in them: the files under a prefix, their digest, and what differs. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from roundhouse.build.spec import ClusterSpec
from roundhouse.errors import BadInput

MOST_FILES = 1000  # under one prefix: every new node downloads all of it, and a record holds the list
NAMED = 5  # files named one by one in a message
_VERSION = 1


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """One object under a lifecycle prefix. `key` is relative to the prefix, `size` in bytes.

    `checksum` is `sha256:…` of the content, or `etag:…` of an object too large to be read.
    """

    key: str
    size: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Scripts:
    """What a group runs on each new node: everything under `s3_uri` (no slash at its end) is there, `script` begins."""

    s3_uri: str
    script: str

    def __str__(self) -> str:
        return f"{self.s3_uri}/{self.script}"


def scripts_of(spec: ClusterSpec) -> tuple[Scripts, ...]:
    """The different lifecycle scripts of the cluster's groups, in the order of the groups."""
    found = (Scripts(group.lifecycle_s3_uri.rstrip("/"), group.lifecycle_script) for group in spec.groups)
    return tuple(dict.fromkeys(found))


def digest(scripts: Scripts, files: Iterable[ScriptFile]) -> str:
    """What identifies the content, whatever the order of the files: 64 hexadecimal characters.

    Where the files lie is not in it. Raises BadInput when there is none, too many, one twice, or the script is not
    among them.
    """
    listed = sorted(files, key=lambda each: each.key)
    if not listed:
        raise BadInput(f"there is nothing under {scripts.s3_uri}/: upload the lifecycle scripts")
    if len(listed) > MOST_FILES:
        raise BadInput(
            f"there are more than {MOST_FILES} objects under {scripts.s3_uri}/, and every node downloads them all: "
            "give the lifecycle scripts a prefix of their own"
        )
    twice = [key for key, count in Counter(each.key for each in listed).items() if count > 1]
    if twice:
        raise BadInput(f"{scripts.s3_uri}/ was listed with {', '.join(twice[:NAMED])} twice: list it again")
    if scripts.script not in {each.key for each in listed}:
        raise BadInput(f"there is no {scripts.script} under {scripts.s3_uri}/: upload it, or correct on_create")
    content = [_VERSION, scripts.script, [[each.key, each.size, each.checksum] for each in listed]]
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def differences(before: Sequence[ScriptFile], after: Sequence[ScriptFile]) -> str:
    """What changed between two listings, in words; "" when nothing did.

    >>> differences([ScriptFile("a", 1, "etag:x")], [ScriptFile("a", 2, "etag:y"), ScriptFile("b", 1, "etag:z")])
    'changed: a; new: b'
    """
    old, new = ({each.key: each for each in listing} for listing in (before, after))
    kinds = {
        "changed": sorted(key for key in old.keys() & new.keys() if old[key] != new[key]),
        "new": sorted(new.keys() - old.keys()),
        "gone": sorted(old.keys() - new.keys()),
    }
    return "; ".join(f"{kind}: {_named(keys)}" for kind, keys in kinds.items() if keys)


def _named(keys: list[str]) -> str:
    more = len(keys) - NAMED
    return ", ".join(keys[:NAMED]) + (f" and {more} more" if more > 0 else "")
