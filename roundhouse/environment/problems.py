"""From pydantic's errors to problems with path, value, reason and remedy. Imports pydantic."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from roundhouse.build.problem import Problem, shown
from roundhouse.environment.model.groups import AccountReservation, NoDiscount, TrainingPlan

DISCOUNTS: dict[str, type[BaseModel]] = {
    "none": NoDiscount,
    "training_plan": TrainingPlan,
    "account_reservation": AccountReservation,
}
REMEDIES = {
    "string_type": "Write text in quotes",
    "int_type": "Write a whole number, without quotes",
    "float_type": "Write a number, without quotes",
    "bool_type": "Write true or false, without quotes",
    "tuple_type": "Write an array: [ … ]",
    "dict_type": "Write a table",
    "model_type": "Write a table",
    "too_short": "Name at least one",
    "too_long": "Name fewer",
    "union_tag_not_found": 'Say which kind: kind = "none", "training_plan" or "account_reservation"',
}

SECRET = re.compile("token|password|signing_secret|secret_key|access_key|webhook", re.IGNORECASE)


def path_of(location: Iterable[int | str]) -> str:
    """`('groups', 1, 'discount', 'training_plan', 'az_id')` → `groups[1].discount.az_id`."""
    text, last = "", ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part == "[key]" or (last == "discount" and part in DISCOUNTS):
            continue
        else:
            text += f".{part}" if text else part
        last = str(part)
    return text or "(the file)"


def from_pydantic(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """Every error as a problem."""
    problems = []
    details = error.errors(include_url=False)
    for detail in details:
        location = detail["loc"]
        if detail["type"] == "too_short" and any(_is_below(other["loc"], location) for other in details):
            continue  # it is short only of what another problem is about
        value = "" if detail["type"] == "missing" else shown(detail["input"])
        if detail["type"] == "extra_forbidden" and SECRET.search(str(location[-1])):
            value = "(not shown)"
        reason, remedy = _words(detail, location, model)
        problems.append(Problem(path_of(location), value, reason, remedy))
    return problems


def _is_below(location: tuple[int | str, ...], above: tuple[int | str, ...]) -> bool:
    return len(location) > len(above) and location[: len(above)] == above


def _words(detail: Any, location: tuple[int | str, ...], model: type[BaseModel]) -> tuple[str, str]:
    kind, context = detail["type"], detail.get("ctx", {})
    match kind:
        case "wrong":
            return context["reason"], context["remedy"]
        case "missing":
            return "this is required and missing", "Add it"
        case "extra_forbidden":
            if SECRET.search(str(location[-1])):
                return "there is no such key", "Secrets are never in this file: see slack.secret_name"
            known = sorted(_section_at(location[:-1], model).model_fields)
            near = get_close_matches(str(location[-1]), known, n=1)
            hint = f"Perhaps {near[0]} is meant" if near else f"Known here: {', '.join(known)}"
            return "there is no such key", hint
        case "enum" | "literal_error":
            return f"only {context['expected']} is allowed", "Write one of these"
        case _:
            reason = detail["msg"].removeprefix("Input ")
            return reason, REMEDIES.get(kind, "Correct it")


def _section_at(location: tuple[int | str, ...], model: type[BaseModel]) -> type[BaseModel]:
    """The section class at a location, as far as it can be followed."""
    section = model
    for part in location:
        if isinstance(part, str) and part in DISCOUNTS:
            section = DISCOUNTS[part]
        elif isinstance(part, str) and part in section.model_fields:
            section = _inner(section.model_fields[part].annotation) or section
    return section


def _inner(annotation: Any) -> type[BaseModel] | None:
    """The first section class inside an annotation: `tuple[Group, ...]`, `dict[Cause, Rule]`, `Breaker | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_inner(argument) for argument in getattr(annotation, "__args__", ()))
    return next((section for section in found if section), None)
