"""Operators as functions: ``op.add(x, y)``, ``op.nn.dense(x, w, units=10)``, ``op.nn.conv2d(x, w,
padding=1)``.

Arguments are those of TVM's functions of the same names: inputs and attributes by position or by
name, in their order and with their defaults, and normalised as they do it. The functions are made
from the operators' records when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from relay2relax.core.source import Span
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relay_names, relay_op
from relay2relax.relay_ir.build import computed_arguments, op_forms
from relay2relax.relay_ir.build.build import call_op
from relay2relax.relay_ir.ir.expr import BuildError, Op


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
def _function(record: OpDef) -> Callable[..., Any]:
    def call(*args: object, span: Span | None = None, **given: object) -> Any:
        if record.variadic:
            return call_op(record, args, given, span)
        values = _by_name(record, args, given)
        called = computed_arguments.settled(record, values)
        op_forms.normalise(values, called)
        return op_forms.result(called.name, call_op(called, *op_forms.split_inputs(values, called), span))

    call.__name__ = call.__qualname__ = record.name
    call.__doc__ = f"{record.doc}\n\nParameters: {', '.join(op_forms.parameters(record))}."
    return call


def _by_name(record: OpDef, args: Sequence[object], given: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments by name.

    Raises BuildError where there are too many, or one twice.
    """
    names = op_forms.parameters(record)
    if len(args) > len(names):
        known = f"{len(names)}: {', '.join(names)}" if len(names) > 1 else f"one: {names[0]}" if names else "none"
        raise BuildError(f"{record.name} is given {len(args)} arguments; it takes {known}")
    values: dict[str, Any] = dict(zip(names, args, strict=False))
    for given_name, value in given.items():
        name = op_forms.our_name(given_name, names)
        if name in values:
            raise BuildError(f"{record.name}: the argument {name!r} is given twice")
        values[name] = value
    return values


def _lookup(name: str) -> Any:
    record = relay_op(name)
    if record is not None:
        return _function(record)
    other = op_forms.derived(name)
    if other is not None:
        return partial(_lookup(other[0]), **other[1])
    if any(other.startswith(f"{name}.") for other in relay_names()):
        return Namespace(f"{name}.")
    raise _unknown(name)


def _unknown(name: str) -> AttributeError:
    return AttributeError(f"no operator {name!r} is known")


def _members(prefix: str) -> list[str]:
    return sorted({name[len(prefix) :].split(".")[0] for name in relay_names() if name.startswith(prefix)})


def get(name: str) -> Op:
    """Return the operator ``name`` itself, to compare the callee of a call with.

    Raises AttributeError if unknown.
    """
    if relay_op(name) is None:
        raise _unknown(name)
    return Op(name)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _lookup(name)


def __dir__() -> list[str]:
    return _members("")
