"""Filter patterns of CloudWatch Logs: terms, phrases, alternatives, exclusions, regular expressions, JSON fields.

Replaces MiniStack's matching of subscription filters. Pure but for `install`. Patterns on space-delimited fields
(`[a, b]`) are refused rather than guessed.
"""

import fnmatch
import json
import operator
import re
from collections.abc import Callable
from typing import Any

Matcher = Callable[[str], bool]

_TERM = re.compile(r'([?-]?)(?:"((?:[^"\\]|\\.)*)"|%([^%]+)%|([^\s"%]+))')
_CONDITION = re.compile(
    r"\s*\$((?:\.[A-Za-z0-9_-]+|\[\"[^\"]+\"\]|\[\d+\])+)\s*"
    r"(?:(=|!=|<=|>=|<|>)\s*(\"(?:[^\"\\]|\\.)*\"|%[^%]+%|[^\s&|)}]+)|(IS TRUE|IS FALSE|IS NULL|NOT EXISTS|EXISTS))\s*"
)
_ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_ABSENT = object()


class PatternError(ValueError):
    """The pattern is not one of the supported forms, or is broken; says where."""


def compile_pattern(pattern: str) -> Matcher:
    """A matcher of whole messages. Terms are case-sensitive, as in CloudWatch. Raises PatternError."""
    text = pattern.strip()
    if not text:
        return lambda message: True
    if text.startswith("{"):
        if not text.endswith("}"):
            raise PatternError(f"no closing brace in {pattern!r}")
        return _json_matcher(text[1:-1])
    if text.startswith("["):
        raise PatternError(f"patterns on space-delimited fields are not supported: {pattern!r}")
    return _term_matcher(text)


def _term_matcher(text: str) -> Matcher:
    needed: list[Matcher] = []
    alternatives: list[Matcher] = []
    excluded: list[Matcher] = []
    position = 0
    while position < len(text):
        match = _TERM.match(text, position)
        if match is None:
            raise PatternError(f"cannot read {text[position:]!r}")
        sign, phrase, expression, word = match.groups()
        found = _search(expression) if expression else _contains(word if word is not None else _unescape(phrase))
        {"": needed, "?": alternatives, "-": excluded}[sign].append(found)
        position = match.end()
        position += len(text[position:]) - len(text[position:].lstrip())

    def matches(message: str) -> bool:
        return (
            all(each(message) for each in needed)
            and (not alternatives or any(each(message) for each in alternatives))
            and not any(each(message) for each in excluded)
        )

    return matches


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _contains(term: str) -> Matcher:
    return lambda message: term in message


def _search(expression: str) -> Matcher:
    compiled = re.compile(expression)
    return lambda message: compiled.search(message) is not None


def _json_matcher(text: str) -> Matcher:
    test, rest = _or(text)
    if rest.strip():
        raise PatternError(f"cannot read {rest!r}")

    def matches(message: str) -> bool:
        try:
            return test(json.loads(message))
        except ValueError:
            return False

    return matches


Test = Callable[[Any], bool]


def _or(text: str) -> tuple[Test, str]:
    tests, rest = _chain(text, "||", _and)
    return (lambda value: any(test(value) for test in tests)), rest


def _and(text: str) -> tuple[Test, str]:
    tests, rest = _chain(text, "&&", _atom)
    return (lambda value: all(test(value) for test in tests)), rest


def _chain(text: str, sign: str, read: Callable[[str], tuple[Test, str]]) -> tuple[list[Test], str]:
    first, rest = read(text)
    tests = [first]
    while rest.lstrip().startswith(sign):
        following, rest = read(rest.lstrip()[len(sign) :])
        tests.append(following)
    return tests, rest


def _atom(text: str) -> tuple[Test, str]:
    if text.lstrip().startswith("("):
        inner, rest = _or(text.lstrip()[1:])
        if not rest.lstrip().startswith(")"):
            raise PatternError(f"no closing parenthesis before {rest!r}")
        return inner, rest.lstrip()[1:]
    match = _CONDITION.match(text)
    if match is None:
        raise PatternError(f"cannot read {text!r}")
    path, sign, wanted, presence = match.groups()
    steps = [a or b or int(c) for a, b, c in re.findall(r"\.([A-Za-z0-9_-]+)|\[\"([^\"]+)\"\]|\[(\d+)\]", path)]
    compare = _presence(presence) if presence else _comparison(sign, wanted)
    return (lambda value: compare(_pick(value, steps))), text[match.end() :]


def _pick(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return _ABSENT
    return value


def _presence(word: str) -> Test:
    if word in ("EXISTS", "NOT EXISTS"):
        return lambda value: (value is not _ABSENT) == (word == "EXISTS")
    wanted = {"IS TRUE": True, "IS FALSE": False, "IS NULL": None}[word]
    return lambda value: value is wanted


def _comparison(sign: str, wanted: str) -> Test:
    if sign in _ORDER:
        compare, limit = _ORDER[sign], float(wanted)
        return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and compare(value, limit)
    equal = _equality(wanted)
    return equal if sign == "=" else lambda value: value is not _ABSENT and not equal(value)


def _equality(wanted: str) -> Test:
    if wanted.startswith("%"):
        compiled = re.compile(wanted[1:-1])
        return lambda value: isinstance(value, str) and compiled.search(value) is not None
    text = _unescape(wanted[1:-1]) if wanted.startswith('"') else wanted

    def equal(value: Any) -> bool:
        if isinstance(value, bool) or value is None or value is _ABSENT:
            return False
        if isinstance(value, int | float):
            try:
                return value == float(text)
            except ValueError:
                return False
        glob = text.replace("[", "[[]").replace("?", "[?]")  # the asterisk alone is a wildcard
        return isinstance(value, str) and fnmatch.fnmatchcase(value, glob)

    return equal


def install() -> None:
    """Match subscription filters, and refuse a broken pattern when the filter is made."""
    from ministack.core.responses import error_response_json
    from ministack.services import cloudwatch_logs

    put = cloudwatch_logs._put_subscription_filter

    def matches(pattern: str | None, message: str | None) -> bool:
        return compile_pattern(pattern or "")(message or "")

    def put_subscription_filter(data: dict[str, Any]) -> Any:
        try:
            compile_pattern(data.get("filterPattern") or "")
        except PatternError as error:
            return error_response_json("InvalidParameterException", f"Invalid filter pattern: {error}", 400)
        return put(data)

    cloudwatch_logs._subscription_pattern_matches = matches
    cloudwatch_logs._put_subscription_filter = put_subscription_filter
