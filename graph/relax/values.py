"""What a node of a graph may be while it is translated to Relax: a Relax value, or one that is
known beforehand.

Relax has neither data types nor references, and functions only by name. Where a program's own
structure tells what such a value is (a list that is put together and taken apart, a function that
is passed on), it is never needed when the program runs, and the translation computes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias, Union

from typing_extensions import TypeIs

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import translating
from relay2relax.graph.kinds import PatternKind
from relay2relax.graph.model import GraphError, MSCGraph, Pattern
from relay2relax.relax_ir import Expr as RelaxExpr
from relay2relax.relax_ir import GlobalVar, Tuple


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function: the graph of its body, and what the body's captured inputs are.

    ``name`` is what it may be called, ``itself`` the input by which it calls itself, ``recursive``
    whether a call of it may lead to another one.
    """

    graph: MSCGraph
    captured: tuple[Value, ...] = ()
    name: str = "function"
    itself: str = ""
    recursive: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Lifted:
    """A function that is a function of the Relax module.

    ``captured`` are passed behind its own arguments.
    """

    var: GlobalVar
    captured: tuple[RelaxExpr, ...]


@dataclass(frozen=True, slots=True)
class Maker:
    """A constructor of a data type, by the names of both."""

    data_type: str
    constructor: str


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """A value of a data type."""

    maker: Maker
    fields: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """A tuple that holds something which is no Relax value."""

    fields: tuple[Value, ...]


@dataclass(slots=True, eq=False)
class Cell:
    """A reference.

    ``content`` changes as the translation goes on, within the ``region`` where it was made.
    """

    content: Value
    region: object


Known: TypeAlias = Union[Closure, Lifted, Maker, Data, Fields, Cell]
Value: TypeAlias = Union[RelaxExpr, Known]


def is_known(value: Value) -> TypeIs[Known]:
    """Whether ``value`` exists only while the program is translated."""
    return isinstance(value, (Closure, Lifted, Maker, Data, Fields, Cell))


def what(value: Value) -> str:
    """Return what ``value`` is, for messages."""
    match value:
        case Closure() | Lifted():
            return "a function"
        case Maker(data_type, constructor) | Data(Maker(data_type, constructor)):
            return f"a value of the data type {data_type} (constructor {constructor})"
        case Fields(fields):
            return next(f"a tuple with {what(one)}" for one in fields if is_known(one))
        case Cell():
            return "a reference"
    return "a Relax value"


def changed(value: Value, change: Callable[[RelaxExpr], RelaxExpr]) -> Value:
    """Return ``value`` with every Relax value in it changed.

    Raises UnsupportedError where it holds a reference.
    """
    match value:
        case Closure(captured=captured):
            return replace(value, captured=tuple(changed(one, change) for one in captured))
        case Lifted(captured=parts):
            return replace(value, captured=tuple(change(one) for one in parts))
        case Data(fields=fields) | Fields(fields=fields):
            return replace(value, fields=tuple(changed(one, change) for one in fields))
        case Cell():
            raise UnsupportedError(
                "a recursive function uses a reference from around itself; Relax has no references",
                kind=translating.NO_RELAX_FORM,
            )
        case Maker():
            return value
    return change(value)


def item(value: Value, index: int) -> Value | None:
    """Return field ``index`` of a tuple that is known beforehand, None of another value.

    Raises GraphError where the tuple has no such field.
    """
    match value:
        case Tuple(fields) | Fields(fields):
            if index >= len(fields):
                raise GraphError(f"a tuple of {len(fields)} fields has no field {index}")
            return fields[index]
    return None


def bindings(pattern: Pattern, value: Value, project: Callable[[Value, int], Value]) -> list[Value] | None:
    """Return the values of the variables of ``pattern``, None where it does not match.

    ``project`` gives the fields of tuples. Raises UnsupportedError where only the running program
    could tell.
    """
    found: list[Value] = []
    stack: list[tuple[Pattern, Value]] = [(pattern, value)]
    while stack:
        one, given = stack.pop()
        match one.kind:
            case PatternKind.VARIABLE:
                found.append(given)
            case PatternKind.TUPLE:
                parts: Iterator[Value] = (project(given, i) for i in range(len(one.parts)))
                stack += reversed(list(zip(one.parts, parts, strict=True)))
            case PatternKind.CONSTRUCTOR:
                if not isinstance(given, Data):
                    name = ".".join(one.constructor)
                    raise UnsupportedError(
                        f"whether a value was made by {name} is known only when the program runs; "
                        "Relax has no data types",
                        kind=translating.NO_RELAX_FORM,
                    )
                if (given.maker.data_type, given.maker.constructor) != one.constructor:
                    return None
                if len(one.parts) != len(given.fields):
                    raise GraphError(f"a pattern has {len(one.parts)} parts for {len(given.fields)} fields")
                stack += reversed(list(zip(one.parts, given.fields, strict=True)))
    return found
