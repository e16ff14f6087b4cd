import json

import pytest

from simulator.aws.log_patterns import PatternError, compile_pattern

RECORD = json.dumps(
    {"level": "ERROR", "code": 79, "ratio": 0.5, "on": True, "none": None, "node": {"id": "i-0abc"}, "list": [1, 2]}
)


@pytest.mark.parametrize(
    ("pattern", "message", "expected"),
    [
        ("", "anything", True),
        ("XID", "NVRM: XID 79", True),
        ("xid", "NVRM: XID 79", False),
        ("XID 79", "79 then XID", True),
        ('"XID 79"', "79 then XID", False),
        ('"a \\"b\\""', 'say a "b" now', True),
        ("?XID ?SXid", "SXid 1", True),
        ("?XID ?SXid", "neither", False),
        ("ERROR -retry", "ERROR now", True),
        ("ERROR -retry", "ERROR retry", False),
        ("%[Xx]id \\d+%", "Xid 48", True),
        ("%[Xx]id \\d+%", "Xid none", False),
        ('{ $.level = "ERROR" }', RECORD, True),
        ('{ $.level = "WARN" }', RECORD, False),
        ('{ $.level = "ERR*" }', RECORD, True),
        ('{ $.level != "WARN" }', RECORD, True),
        ("{ $.missing != 1 }", RECORD, False),
        ("{ $.code = 79 }", RECORD, True),
        ("{ $.code > 79 }", RECORD, False),
        ("{ $.ratio <= 0.5 }", RECORD, True),
        ("{ $.on IS TRUE }", RECORD, True),
        ("{ $.none IS NULL }", RECORD, True),
        ("{ $.missing NOT EXISTS }", RECORD, True),
        ("{ $.node.id = i-* }", RECORD, True),
        ("{ $.list[1] = 2 }", RECORD, True),
        ('{ $["level"] = ERROR }', RECORD, True),
        ("{ $.node.id = %^i-[0-9a-f]+$% }", RECORD, True),
        ("{ ($.code = 1 || $.code = 79) && $.level = ERROR }", RECORD, True),
        ("{ $.code = 1 || $.code = 79 && $.level = WARN }", RECORD, False),
        ("{ $.code = 79 }", "not json", False),
    ],
)
def test_matches(pattern: str, message: str, expected: bool) -> None:
    assert compile_pattern(pattern)(message) is expected


@pytest.mark.parametrize("pattern", ["{ $.a = 1", "{ a = 1 }", "{ ($.a = 1 }", "[ip, user]", '"open', "{ $.a }"])
def test_refuses(pattern: str) -> None:
    with pytest.raises(PatternError):
        compile_pattern(pattern)
