"""Pages of a list and the NextToken between them. Pure; standard library only."""

import base64
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from simulator.hyperpod.core import bad_request

T = TypeVar("T")


def page(items: Sequence[T], params: dict[str, Any], default: int = 10) -> tuple[list[T], dict[str, str]]:
    """The page that `params` ask for, and {'NextToken': …} if there is more."""
    start = 0
    if "NextToken" in params:
        try:
            start = int(base64.b64decode(params["NextToken"], validate=True).decode())
        except ValueError:
            raise bad_request("The NextToken is not valid.") from None
    size = params.get("MaxResults", default)
    more = start + size < len(items)
    token = base64.b64encode(str(start + size).encode()).decode()
    return list(items[start : start + size]), {"NextToken": token} if more else {}


def ordered(items: list[T], key: Callable[[T], Any], params: dict[str, Any], default: str = "Descending") -> list[T]:
    """Sorted as SortOrder says."""
    return sorted(items, key=key, reverse=params.get("SortOrder", default) == "Descending")
