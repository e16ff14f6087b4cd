"""Sections: strict, frozen, no unknown keys; and a tolerant reading that goes on past what is wrong. Imports pydantic.

A file with a bad value must still have its other problems found. Read with `TOLERANT` as context, a field that does not
validate becomes INVALID instead of an error, and whatever looks at INVALID raises Unreadable: a rule that depends on a
broken value is skipped, all others are checked.
"""

from __future__ import annotations

from typing import Any, NoReturn

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

TOLERANT = {"tolerant": True}


class Unreadable(Exception):
    """A rule looked at a value that did not validate. Raised and caught within this package alone."""


def _refuse(*_: object) -> NoReturn:
    raise Unreadable


class Invalid:
    """Stands where a value did not validate. Every use of it raises Unreadable."""

    __slots__ = ()
    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __iter__ = __len__ = __contains__ = _refuse
    __getitem__ = __str__ = __repr__ = __format__ = __float__ = __int__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        raise Unreadable(name)


INVALID = Invalid()


class Section(BaseModel):
    """Base of every section of an environment file."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        arbitrary_types_allowed=True,
        hide_input_in_errors=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, data: Any, info: ValidationInfo) -> Any:
        """Tolerant reading: unknown keys are left out, required ones that are missing are INVALID."""
        if info.context is not TOLERANT or not isinstance(data, dict):
            return data
        known = {key: value for key, value in data.items() if key in cls.model_fields}
        missing = {
            name: INVALID for name, field in cls.model_fields.items() if field.is_required() and name not in known
        }
        return known | missing

    @field_validator("*", mode="wrap")
    @classmethod
    def _go_on(cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        """Tolerant reading: a field that does not validate is INVALID."""
        if info.context is not TOLERANT:
            return handler(value)
        try:
            return INVALID if value is INVALID else handler(value)
        except ValidationError:
            return INVALID
