"""What partial evaluation knows of values, cells, and how far functions may still be unfolded."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias, Union

from relay2relax.core.dtype import Array
from relay2relax.relay_ir.ir.expr import Call, Constant, Constructor, Expr, Let, Tuple, Var

_NUMBERS = count()


class Cell:
    """A cell that the program makes; known by itself only."""


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """A tuple, or what ``constructor`` made, of which the fields are known as far as they are."""

    fields: tuple[Partial, ...]
    constructor: Constructor | None = None


# A step of evaluation: a generator that yields steps whose results it is sent, and returns its own.
Step: TypeAlias = "Generator[Any, Any, Partial]"
# What a function gives for a call of it with these arguments, behind these lets.
Unfold: TypeAlias = "Callable[[Partial, Call, Sequence[Partial], Lets], Step]"


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function whose calls may be unfolded."""

    unfold: Unfold


Static: TypeAlias = Union[Array, Fields, Cell, Closure]


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """A value: the variable (or name) that has it in the new program, and what is known of it."""

    dynamic: Expr
    static: Static | None = None
    created: int = field(default_factory=lambda: next(_NUMBERS))


class Lets:
    """A sequence of lets under construction."""

    def __init__(self) -> None:
        self.bound: list[tuple[Var, Expr]] = []

    def push(self, value: Expr, var: Var | None = None) -> Var:
        """Bind ``value`` to ``var``, or to a new variable."""
        var = Var("x") if var is None else var
        self.bound.append((var, value))
        return var

    def around(self, body: Expr) -> Expr:
        """Return ``body`` behind the lets."""
        for var, value in reversed(self.bound):
            body = Let(var, value, body)
        return body


class Store:
    """What cells hold, as far as it is known.

    A frame lasts for one arm of a branch or the body of a function. What a frame does not know
    holds from outside, unless something unknown has happened since.
    """

    def __init__(self) -> None:
        self._frames: list[tuple[dict[Cell, Partial], bool]] = [({}, True)]

    def enter(self) -> int:
        """Begin a frame; return what ends it."""
        self._frames.append(({}, True))
        return len(self._frames) - 1

    def leave(self, frame: int) -> None:
        """Forget what happened since ``frame`` began."""
        del self._frames[frame:]

    def write(self, cell: Cell, value: Partial) -> None:
        """Note what a cell holds."""
        self._frames[-1][0][cell] = value

    def read(self, cell: Cell) -> Partial | None:
        """Return what a cell holds, None where that is not known."""
        for held, continues in reversed(self._frames):
            if cell in held:
                return held[cell]
            if not continues:
                return None
        return None

    def forget(self) -> None:
        """Note that something unknown may have written to any cell."""
        self._frames.append(({}, False))


# What bounds the unfolding of a function, for each argument: when it was made, and its number.
# Both only fall, so there is an end to it.
Fuel: TypeAlias = tuple[tuple[int, int], ...]


def fuel_of(args: Sequence[Partial]) -> Fuel:
    """Return the fuel that arguments are worth: recursion over numbers that fall goes on."""
    return tuple((arg.created, _number(arg.static)) for arg in args)


def _number(static: Static | None) -> int:
    if static is None or isinstance(static, (Fields, Cell, Closure)):
        return 0
    whole = static.ndim == 0 and static.dtype.name in ("int32", "int64")
    return max(0, int(static.item())) if whole else 0


def burnt(before: Fuel | None, now: Fuel) -> Fuel | None:
    """Return what is left of ``before`` for arguments worth ``now``, None where it is not less."""
    if before is None:
        return now
    left = tuple((min(a, c), min(b, d)) for (a, b), (c, d) in zip(before, now, strict=True))
    return None if left == before else left


def reflected(value: Partial) -> object | None:
    """Return the array, or tuple of arrays, that a value is known to be, None otherwise."""
    match value.static:
        case None | Cell() | Closure():
            return None
        case Fields(fields, None):
            found = tuple(map(reflected, fields))
            return None if any(one is None for one in found) else found
        case Fields():
            return None
        case array:
            return array


def reified(value: object, lets: Lets) -> Partial:
    """Return a known value, an array or a tuple of them, bound by a let."""
    if isinstance(value, tuple):
        fields = tuple(reified(one, lets) for one in value)
        return Partial(lets.push(Tuple(tuple(one.dynamic for one in fields))), Fields(fields))
    constant = Constant(value)  # type: ignore[arg-type]
    return Partial(lets.push(constant), constant.data)
