"""Operators as functions: ``op.add(x, y)``, ``op.nn.dense(x, w, units=10)``.

Positional arguments are the inputs, keywords the attributes, with Relay's names and defaults. The functions
are made from the operators' records when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from relay2relax.core.source import Span
from relay2relax.ops.record import OpDef
from relay2relax.ops.table import relay_names, relay_op
from relay2relax.relay_ir.build import call_op
from relay2relax.relay_ir.expr import Call, Op


class Namespace:
    """The operators whose names begin with a prefix, e.g. ``nn.``."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        return _lookup(self._prefix + name)

    def __dir__(self) -> list[str]:
        return _members(self._prefix)

    def __repr__(self) -> str:
        return f"<operators {self._prefix}*>"


@lru_cache(maxsize=None)
def _function(record: OpDef) -> Callable[..., Call]:
    def call(*args: Any, span: Span | None = None, **attrs: Any) -> Call:
        return call_op(record, args, attrs, span)

    call.__name__ = call.__qualname__ = record.name
    call.__doc__ = f"{record.doc}\n\nInputs: {', '.join(record.inputs)}."
    return call


def _lookup(name: str) -> Any:
    record = relay_op(name)
    if record is not None:
        return _function(record)
    if any(other.startswith(f"{name}.") for other in relay_names()):
        return Namespace(f"{name}.")
    raise AttributeError(f"no operator {name!r} is known")


def _members(prefix: str) -> list[str]:
    return sorted({name[len(prefix) :].split(".")[0] for name in relay_names() if name.startswith(prefix)})


def get(name: str) -> Op:
    """Return the operator ``name`` itself, to compare the callee of a call with; raises AttributeError if unknown."""
    if relay_op(name) is None:
        raise AttributeError(f"no operator {name!r} is known")
    return Op(name)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _lookup(name)


def __dir__() -> list[str]:
    return _members("")
