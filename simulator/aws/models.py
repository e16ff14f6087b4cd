"""Requests and responses of the added services, checked against the product's newer botocore models.

Imports botocore (any version) for its loader and shapes. The models come from a directory, so that the emulator's
older botocore does not decide what the product may call.
"""

import base64
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape

OPEN_ENUMS = frozenset({"ReservedCapacityInstanceType"})
"""Enumerations that are not enforced: scenarios put types into training plans that the model does not list yet."""


class Models:
    """The service models under one botocore data directory."""

    def __init__(self, directory: Path) -> None:
        if not (directory / "sagemaker").is_dir():
            raise FileNotFoundError(f"{directory} holds no botocore service models (no sagemaker/ in it)")
        self._loader = Loader(extra_search_paths=[str(directory)], include_default_search_paths=False)
        self._services: dict[str, ServiceModel] = {}

    def service(self, name: str) -> ServiceModel:
        """The model of botocore service `name`; raises botocore's UnknownServiceError."""
        if name not in self._services:
            self._services[name] = ServiceModel(self._loader.load_service_model(name, "service-2"), name)
        return self._services[name]

    def operation(self, service: str, operation: str) -> OperationModel | None:
        """The operation's model, or None if the service has no such operation."""
        model = self.service(service)
        return model.operation_model(operation) if operation in model.operation_names else None


@cache
def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(rf"(?:{text})\Z")
    except re.error:  # the models use Java's syntax; the few that Python does not read are not checked
        return None


def problems(value: Any, shape: Shape | None, where: str = "") -> Iterator[str]:
    """Every way in which `value` (Python types) breaks `shape`: unknown or missing members, types, limits, enums."""
    at = where or (shape.name if shape else "body")
    if shape is None:
        if value:
            yield f"{at}: the operation has no such shape"
    elif isinstance(shape, StructureShape):
        yield from _structure_problems(value, shape, at)
    elif isinstance(shape, ListShape):
        yield from _list_problems(value, shape, at)
    elif isinstance(shape, MapShape):
        yield from _map_problems(value, shape, at)
    else:
        yield from _scalar_problems(value, shape, at)


def _structure_problems(value: Any, shape: StructureShape, at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{at}: {type(value).__name__} is not a structure"
        return
    for name in value.keys() - shape.members.keys():
        yield f"{at}.{name}: unknown member"
    for name in shape.required_members:
        if value.get(name) is None:
            yield f"{at}.{name}: missing required member"
    for name in value.keys() & shape.members.keys():
        if value[name] is None:
            yield f"{at}.{name}: null; leave the member out"
        else:
            yield from problems(value[name], shape.members[name], f"{at}.{name}")
    if shape.is_tagged_union and len(value) != 1:
        yield f"{at}: a union takes exactly one member, got {sorted(value)}"


def _list_problems(value: Any, shape: ListShape, at: str) -> Iterator[str]:
    if not isinstance(value, list | tuple):
        yield f"{at}: {type(value).__name__} is not a list"
        return
    yield from _limits(len(value), shape, at, "length")
    for index, item in enumerate(value):
        yield from problems(item, shape.member, f"{at}[{index}]")


def _map_problems(value: Any, shape: MapShape, at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{at}: {type(value).__name__} is not a map"
        return
    yield from _limits(len(value), shape, at, "length")
    for key, item in value.items():
        yield from problems(key, shape.key, f"{at} key {key!r}")
        yield from problems(item, shape.value, f"{at}[{key!r}]")


_SCALARS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "character": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "bigdecimal": (int, float),
    "timestamp": (datetime,),
    "blob": (bytes,),
}


def _scalar_problems(value: Any, shape: Shape, at: str) -> Iterator[str]:
    kinds = _SCALARS[shape.type_name]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        yield f"{at}: {type(value).__name__} is not {shape.type_name}"
        return
    if isinstance(value, datetime):
        if value.tzinfo is None:
            yield f"{at}: a time without a time zone"
        return
    if isinstance(value, str):
        yield from _limits(len(value), shape, at, "length")
        allowed = shape.metadata.get("enum")
        if allowed and value not in allowed and shape.name not in OPEN_ENUMS:
            yield f"{at}: {value!r} is none of {', '.join(allowed)}"
        pattern = _pattern(shape.metadata["pattern"]) if "pattern" in shape.metadata else None
        if pattern and not pattern.match(value):
            yield f"{at}: {value!r} does not match {shape.metadata['pattern']}"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _limits(value, shape, at, "value")


def _limits(number: float, shape: Shape, at: str, what: str) -> Iterator[str]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if low is not None and number < low:
        yield f"{at}: {what} {number} is below the minimum {low}"
    if high is not None and number > high:
        yield f"{at}: {what} {number} is above the maximum {high}"


def from_wire(value: Any, shape: Shape | None) -> Any:
    """JSON 1.1 to Python types: numbers of seconds become datetimes, base64 becomes bytes. Leaves nonsense as it is."""
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        members = shape.members
        return {name: from_wire(item, members.get(name)) for name, item in value.items() if item is not None}
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [from_wire(item, shape.member) for item in value]
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return {key: from_wire(item, shape.value) for key, item in value.items()}
    if shape is not None and shape.type_name == "timestamp" and isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    if shape is not None and shape.type_name == "blob" and isinstance(value, str):
        return base64.b64decode(value)
    return value


def to_wire(value: Any) -> Any:
    """Python types to JSON 1.1: datetimes become seconds since 1970 (a float), bytes become base64."""
    if isinstance(value, dict):
        return {key: to_wire(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_wire(item) for item in value]
    if isinstance(value, datetime):
        return round(value.timestamp(), 3)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value
