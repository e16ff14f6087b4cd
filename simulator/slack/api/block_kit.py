"""Block Kit's rules for messages, as strict as Slack's. Pure: standard library and errors only.

`check_blocks` raises ApiError with Slack's error names: `invalid_blocks_format` (not a JSON array of
objects), `invalid_blocks` (a rule is broken; every finding is listed with its json-pointer), `msg_blocks_too_long`.
Limits: Slack's Block Kit reference; the total of about 13,200 characters is from reports and approximate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from simulator.slack.errors import ApiError
from simulator.slack.model import Json

MAX_BLOCKS = 50
MAX_TOTAL_CHARACTERS = 13_200

PLAIN = ("plain_text",)
ANY_TEXT = ("plain_text", "mrkdwn")


def parse_blocks(value: object) -> list[Json]:
    """The `blocks` argument, a list or its JSON text. Raises ApiError invalid_blocks_format."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ApiError("invalid_blocks_format") from error
    if not isinstance(value, list) or not all(isinstance(block, dict) for block in value):
        raise ApiError("invalid_blocks_format")
    return value


def check_blocks(blocks: list[Json]) -> None:
    """Raise ApiError when Slack would refuse these blocks in a message; see the module's docstring."""
    findings = Findings()
    if len(blocks) > MAX_BLOCKS:
        findings.add("/blocks", f"no more than {MAX_BLOCKS} items allowed")
    block_ids: set[str] = set()
    for index, block in enumerate(blocks):
        pointer = f"/blocks/{index}"
        _check_block(block, pointer, findings)
        block_id = block.get("block_id")
        if isinstance(block_id, str):
            if block_id in block_ids:
                findings.add(f"{pointer}/block_id", f'`block_id` "{block_id}" already exists for another block')
            block_ids.add(block_id)
    if findings.messages:
        raise ApiError("invalid_blocks", findings.messages)
    if sum(len(text) for text in _texts(blocks)) > MAX_TOTAL_CHARACTERS:
        raise ApiError("msg_blocks_too_long")


class Findings:
    """Collects what is wrong; remembers the action ids seen, which must be unique within a message."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.action_ids: set[str] = set()

    def add(self, pointer: str, message: str) -> None:
        self.messages.append(f"{message} [json-pointer:{pointer}]")

    def keys(self, node: Json, pointer: str, required: str, optional: str = "") -> None:
        """Every required key is there and no unknown one; keys are given as words."""
        for key in required.split():
            if node.get(key) is None:
                self.add(pointer, f"missing required field: {key}")
        for key in node:
            if key not in required.split() and key not in optional.split():
                self.add(pointer, f"invalid additional property: {key}")

    def string(self, node: Json, key: str, pointer: str, most: int, least: int = 0) -> None:
        """`node[key]`, when there, is a string of `least`..`most` characters."""
        value = node.get(key)
        if value is None:
            return
        where = f"{pointer}/{key}"
        if not isinstance(value, str):
            self.add(where, "must provide a string")
        elif len(value) > most:
            self.add(where, f"must be less than {most + 1} characters")
        elif len(value) < least:
            self.add(where, f"must be more than {least - 1} characters")

    def text(self, node: Any, pointer: str, most: int, kinds: tuple[str, ...]) -> None:
        """A text object of one of `kinds` with 1..`most` characters; None counts as not given."""
        if node is None:
            return
        if not isinstance(node, dict):
            self.add(pointer, "must provide an object")
            return
        before = len(self.messages)
        kind = node.get("type")
        if kind not in kinds:
            self.add(f"{pointer}/type", f"must be one of: {', '.join(kinds)}")
        self.keys(node, pointer, "type text", "verbatim" if kind == "mrkdwn" else "emoji")
        self.string(node, "text", pointer, most, least=1)
        if len(self.messages) > before:
            self.messages.insert(before, f"failed to match all allowed schemas [json-pointer:{pointer}]")

    def items(self, node: Json, key: str, pointer: str, most: int) -> list[Any]:
        """`node[key]` as a list of 1..`most` items; a wrong one is reported and gives []."""
        value = node.get(key)
        if value is None:
            return []
        where = f"{pointer}/{key}"
        if not isinstance(value, list):
            self.add(where, "must provide an array")
            return []
        if len(value) > most:
            self.add(where, f"no more than {most} items allowed")
        if not value:
            self.add(where, "no less than 1 items allowed")
        return value

    def choice(self, node: Json, key: str, pointer: str, allowed: tuple[str, ...]) -> None:
        value = node.get(key)
        if value is not None and value not in allowed:
            self.add(f"{pointer}/{key}", f"must be one of: {', '.join(allowed)}")

    def action_id(self, node: Json, pointer: str) -> None:
        self.string(node, "action_id", pointer, 255, least=1)
        action_id = node.get("action_id")
        if isinstance(action_id, str):
            if action_id in self.action_ids:
                self.add(f"{pointer}/action_id", f'`action_id` "{action_id}" already exists for another element')
            self.action_ids.add(action_id)


def _check_block(block: Json, pointer: str, findings: Findings) -> None:
    check = _BLOCKS.get(str(block.get("type")))
    if check is None:
        findings.add(f"{pointer}/type", f"unsupported type: {block.get('type')}")
        return
    findings.string(block, "block_id", pointer, 255, least=1)
    check(block, pointer, findings)


def _section(block: Json, pointer: str, findings: Findings) -> None:
    findings.keys(block, pointer, "type", "text fields accessory block_id expand")
    if block.get("text") is None and block.get("fields") is None:
        findings.add(pointer, "missing required field: text")
    findings.text(block.get("text"), f"{pointer}/text", 3000, ANY_TEXT)
    for index, item in enumerate(findings.items(block, "fields", pointer, 10)):
        findings.text(item if item is not None else "", f"{pointer}/fields/{index}", 2000, ANY_TEXT)
    if block.get("accessory") is not None:
        _element(block["accessory"], f"{pointer}/accessory", findings, ("button", "static_select", "image"))


def _header(block: Json, pointer: str, findings: Findings) -> None:
    findings.keys(block, pointer, "type text", "block_id")
    findings.text(block.get("text"), f"{pointer}/text", 150, PLAIN)


def _divider(block: Json, pointer: str, findings: Findings) -> None:
    findings.keys(block, pointer, "type", "block_id")


def _image_block(block: Json, pointer: str, findings: Findings) -> None:
    findings.keys(block, pointer, "type image_url alt_text", "title block_id")
    findings.string(block, "image_url", pointer, 3000, least=1)
    findings.string(block, "alt_text", pointer, 2000)
    findings.text(block.get("title"), f"{pointer}/title", 2000, PLAIN)


def _context(block: Json, pointer: str, findings: Findings) -> None:
    findings.keys(block, pointer, "type elements", "block_id")
    for index, element in enumerate(findings.items(block, "elements", pointer, 10)):
        where = f"{pointer}/elements/{index}"
        if isinstance(element, dict) and element.get("type") == "image":
            _image_element(element, where, findings)
        else:
            findings.text(element if element is not None else "", where, 3000, ANY_TEXT)


def _actions(block: Json, pointer: str, findings: Findings) -> None:
    findings.keys(block, pointer, "type elements", "block_id")
    for index, element in enumerate(findings.items(block, "elements", pointer, 25)):
        _element(element, f"{pointer}/elements/{index}", findings, ("button", "static_select"))


def _element(element: Any, pointer: str, findings: Findings, allowed: tuple[str, ...]) -> None:
    if not isinstance(element, dict):
        findings.add(pointer, "must provide an object")
        return
    kind = element.get("type")
    if kind not in allowed:
        findings.add(f"{pointer}/type", f"unsupported type: {kind}")
        return
    _ELEMENTS[str(kind)](element, pointer, findings)


def _button(element: Json, pointer: str, findings: Findings) -> None:
    findings.keys(element, pointer, "type text", "action_id url value style confirm accessibility_label")
    findings.text(element.get("text"), f"{pointer}/text", 75, PLAIN)
    findings.action_id(element, pointer)
    findings.string(element, "url", pointer, 3000)
    findings.string(element, "value", pointer, 2000)
    findings.string(element, "accessibility_label", pointer, 75)
    findings.choice(element, "style", pointer, ("primary", "danger"))
    _confirm(element.get("confirm"), f"{pointer}/confirm", findings)


def _static_select(element: Json, pointer: str, findings: Findings) -> None:
    findings.keys(element, pointer, "type options", "action_id placeholder initial_option confirm focus_on_load")
    findings.text(element.get("placeholder"), f"{pointer}/placeholder", 150, PLAIN)
    findings.action_id(element, pointer)
    options = findings.items(element, "options", pointer, 100)
    for index, option in enumerate(options):
        _option(option, f"{pointer}/options/{index}", findings)
    initial = element.get("initial_option")
    if initial is not None and initial not in options:
        findings.add(f"{pointer}/initial_option", "must match one of the options")
    _confirm(element.get("confirm"), f"{pointer}/confirm", findings)


def _option(option: Any, pointer: str, findings: Findings) -> None:
    if not isinstance(option, dict):
        findings.add(pointer, "must provide an object")
        return
    findings.keys(option, pointer, "text value", "description")
    findings.text(option.get("text"), f"{pointer}/text", 75, PLAIN)
    findings.string(option, "value", pointer, 150, least=1)
    findings.text(option.get("description"), f"{pointer}/description", 75, PLAIN)


def _image_element(element: Json, pointer: str, findings: Findings) -> None:
    findings.keys(element, pointer, "type image_url alt_text")
    findings.string(element, "image_url", pointer, 3000, least=1)
    findings.string(element, "alt_text", pointer, 2000)


def _confirm(confirm: Any, pointer: str, findings: Findings) -> None:
    if confirm is None:
        return
    if not isinstance(confirm, dict):
        findings.add(pointer, "must provide an object")
        return
    findings.keys(confirm, pointer, "title text confirm deny", "style")
    findings.text(confirm.get("title"), f"{pointer}/title", 100, PLAIN)
    findings.text(confirm.get("text"), f"{pointer}/text", 300, ANY_TEXT)
    findings.text(confirm.get("confirm"), f"{pointer}/confirm", 30, PLAIN)
    findings.text(confirm.get("deny"), f"{pointer}/deny", 30, PLAIN)
    findings.choice(confirm, "style", pointer, ("primary", "danger"))


def _texts(node: Any) -> Iterator[str]:
    """Every string that a reader would see as text, wherever it stands."""
    if isinstance(node, list):
        for item in node:
            yield from _texts(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if isinstance(value, str) and key in ("text", "alt_text"):
                yield value
            else:
                yield from _texts(value)


_Check = Callable[[Json, str, Findings], None]

_BLOCKS: dict[str, _Check] = {
    "section": _section,
    "header": _header,
    "divider": _divider,
    "image": _image_block,
    "context": _context,
    "actions": _actions,
}

_ELEMENTS: dict[str, _Check] = {
    "button": _button,
    "static_select": _static_select,
    "image": _image_element,
}
