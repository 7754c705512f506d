"""C expressions as a small tree, and the one printer that knows C's precedences.

expr ::= Atom(text) | Prefix(op, expr) | Infix(op, expr, expr) | Conditional(expr, expr, expr)
       | Invoke(name, expr*) | Element(base, expr) | Convert(type, expr)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union


@dataclass(frozen=True, slots=True)
class Atom:
    """A name or a literal; a negative literal is parenthesised where it stands as an operand."""

    text: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """``op a``."""

    op: str
    a: CExpr


@dataclass(frozen=True, slots=True)
class Infix:
    """``a op b``."""

    op: str
    a: CExpr
    b: CExpr


@dataclass(frozen=True, slots=True)
class Conditional:
    """``condition ? then : otherwise``: only the chosen branch is evaluated."""

    condition: CExpr
    then: CExpr
    otherwise: CExpr


@dataclass(frozen=True, slots=True)
class Invoke:
    """``name(args)``."""

    name: str
    args: tuple[CExpr, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """``base[index]``."""

    base: str
    index: CExpr


@dataclass(frozen=True, slots=True)
class Convert:
    """``(type)value``."""

    type: str
    value: CExpr


CExpr: TypeAlias = Union[Atom, Prefix, Infix, Conditional, Invoke, Element, Convert]

_PRECEDENCE = {
    "*": 12, "/": 12, "%": 12, "+": 11, "-": 11, "<<": 10, ">>": 10, "<": 9, "<=": 9, ">": 9, ">=": 9,
    "==": 8, "!=": 8, "&": 7, "^": 6, "|": 5, "&&": 4, "||": 3,
}  # fmt: skip
_CONDITIONAL, _PREFIX, _POSTFIX = 2, 14, 15


def render(expr: CExpr) -> str:
    """Return ``expr`` as C text with the parentheses it needs."""
    return _render(expr)[0]


def operand(expr: CExpr) -> str:
    """Return ``expr`` as C text that may stand beside any operator but a postfix one."""
    return _within(expr, _PREFIX)


def whole(value: int) -> CExpr:
    """Return a signed integer as a literal of at most 64 bits.

    What rules have put together wraps around as it would step by step.
    """
    value = (value + (1 << 63)) % (1 << 64) - (1 << 63)
    if value == -(1 << 63):
        # The literal of the number without its sign is too large.
        return Infix("-", Atom(f"-{(1 << 63) - 1}LL"), Atom("1"))
    return Atom(str(value) if -(1 << 31) < value < 1 << 31 else f"{value}LL")


def _render(expr: CExpr) -> tuple[str, int]:
    match expr:
        case Atom(text):
            return text, _PREFIX if text.startswith("-") else _POSTFIX
        case Prefix(op, a):
            inner = _within(a, _PREFIX)
            # Two minus signs in a row would be a decrement.
            return (f"{op}({inner})" if inner.startswith(op) else f"{op}{inner}"), _PREFIX
        case Infix(op, a, b):
            level = _PRECEDENCE[op]
            # Mixed with shifts, bit operations and comparisons, parentheses help the reader (and
            # gcc's warnings).
            strict = level < _PRECEDENCE["+"]
            left = _within(a, _POSTFIX - 1 if strict and isinstance(a, Infix) else level)
            right = _within(b, _POSTFIX - 1 if strict and isinstance(b, Infix) else level + 1)
            return f"{left} {op} {right}", level
        case Conditional(condition, then, otherwise):
            test = _within(condition, _CONDITIONAL + 1)
            return f"{test} ? {_within(then, _CONDITIONAL)} : {_within(otherwise, _CONDITIONAL)}", _CONDITIONAL
        case Invoke(name, args):
            return f"{name}({', '.join(render(arg) for arg in args)})", _POSTFIX
        case Element(base, index):
            return f"{base}[{render(index)}]", _POSTFIX
        case Convert(type_, value):
            return f"({type_}){_within(value, _PREFIX)}", _PREFIX


def _within(expr: CExpr, level: int) -> str:
    text, own = _render(expr)
    return text if own >= level else f"({text})"
