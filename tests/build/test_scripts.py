"""Lifecycle scripts by their content: one digest for the same files, another for any other, and what changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.build.scripts import MOST_FILES, ScriptFile, Scripts, differences, digest, scripts_of
from roundhouse.errors import BadInput
from tests.build.samples import NO_DISCOUNT, group, spec

MAIN = Scripts("s3://sagemaker-unit/lifecycle", "on_create.sh")
FILES = (
    ScriptFile("on_create.sh", 120, "sha256:aa"),
    ScriptFile("lib/mount.sh", 80, "sha256:bb"),
    ScriptFile("lib/big.tar", 1 << 30, "etag:cc-12"),
)


def test_the_digest_is_of_the_content_and_not_of_the_order_or_the_place() -> None:
    known = digest(MAIN, FILES)
    assert len(known) == 64
    assert digest(MAIN, reversed(FILES)) == known
    assert digest(Scripts("s3://sagemaker-elsewhere/x", "on_create.sh"), FILES) == known


@pytest.mark.parametrize(
    "other",
    [
        FILES[:2],
        (*FILES, ScriptFile("new", 1, "sha256:dd")),
        (replace(FILES[0], size=121), *FILES[1:]),
        (replace(FILES[0], checksum="sha256:ab"), *FILES[1:]),
        (FILES[0], replace(FILES[1], key="lib/mounts.sh"), FILES[2]),
        (FILES[0], replace(FILES[1], checksum="sha256:cc"), replace(FILES[2], checksum="etag:bb")),
    ],
)
def test_any_other_content_has_another_digest(other: tuple[ScriptFile, ...]) -> None:
    assert digest(MAIN, other) != digest(MAIN, FILES)


def test_the_script_that_begins_is_part_of_it() -> None:
    files = (*FILES, ScriptFile("other.sh", 1, "sha256:ee"))
    assert digest(MAIN, files) != digest(replace(MAIN, script="other.sh"), files)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ((), "there is nothing under s3://sagemaker-unit/lifecycle/"),
        (FILES[1:], "there is no on_create.sh"),
        ((*FILES, FILES[0]), "on_create.sh twice"),
        (tuple(ScriptFile(f"{n}", 1, "etag:x") for n in range(MOST_FILES + 1)), f"more than {MOST_FILES}"),
    ],
)
def test_what_cannot_be_scripts_is_refused(files: tuple[ScriptFile, ...], words: str) -> None:
    with pytest.raises(BadInput, match="(?s)" + words):
        digest(MAIN, files)


def test_hundreds_of_files_are_no_trouble() -> None:
    files = (*FILES, *(ScriptFile(f"data/{n:04}", n, f"sha256:{n}") for n in range(900)))
    assert digest(MAIN, files) != digest(MAIN, files[:-1])


def test_differences_are_named_some_of_them() -> None:
    after = (replace(FILES[0], size=1), FILES[1], *(ScriptFile(f"new{n}", 1, "etag:x") for n in range(7)))
    said = differences(FILES, after)
    assert said == "changed: on_create.sh; new: new0, new1, new2, new3, new4 and 2 more; gone: lib/big.tar"
    assert differences(FILES, tuple(reversed(FILES))) == ""


KEYS = st.sampled_from(["on_create.sh", "a", "b", "c/d"])
LISTINGS = st.dictionaries(KEYS, st.tuples(st.integers(0, 2), st.sampled_from(["etag:1", "etag:2"]))).map(
    lambda found: [ScriptFile(key, *rest) for key, rest in found.items()]
)


@given(LISTINGS, LISTINGS)
def test_equal_digests_are_listings_without_differences(one: list[ScriptFile], other: list[ScriptFile]) -> None:
    here = [each for each in one if each.key != "on_create.sh"] + [FILES[0]]
    there = [each for each in other if each.key != "on_create.sh"] + [FILES[0]]
    assert (digest(MAIN, here) == digest(MAIN, there)) == (differences(here, there) == "")


def test_different_scripts_of_the_groups_are_each_named_once() -> None:
    login = replace(group("login", 1, (1.0,), NO_DISCOUNT, "Login"), lifecycle_script="login.sh")
    slashless = replace(group("more"), lifecycle_s3_uri="s3://sagemaker-unit/lifecycle")
    assert scripts_of(spec(group(), login, slashless)) == (MAIN, replace(MAIN, script="login.sh"))
