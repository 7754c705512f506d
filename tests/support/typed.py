"""What a test knows of a value, asserted, so that the checker of types knows it too."""

from __future__ import annotations

from typing import Any, TypeVar

from relay2relax.ops import OpDef, relax_op, relay_op

T = TypeVar("T")


def present(value: T | None) -> T:
    """Return ``value``, which is not None."""
    assert value is not None
    return value


def of_type(value: object, kind: type[T]) -> T:
    """Return ``value``, which is an instance of ``kind``."""
    assert isinstance(value, kind), f"expected {kind.__name__}, found {type(value).__name__}"
    return value


def relay_record(name: str) -> OpDef[Any]:
    """Return the record of a Relay operator, which there is."""
    return present(relay_op(name))


def relax_record(name: str) -> OpDef[Any]:
    """Return the record of ``R.<name>``, which there is."""
    return present(relax_op(name))
