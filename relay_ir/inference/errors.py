"""What type inference says of a mistake: the wording of every one of them, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.core.errors import Diagnostic, Relay2RelaxError, mistake
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import types as kinds
from relay2relax.core.source import SourceRange
from relay2relax.core.words import Code, vouched
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relay_names
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relay_ir.ir.types import IncompleteType, Type
from relay2relax.relay_ir.text.types import TypeWriter


class TypeInferenceError(Relay2RelaxError):
    """A module is not well typed; ``diagnostics`` lists every mistake, in source order."""

    kind = kinds.MISMATCH


def in_source_order(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the mistakes in the order of the text.

    Those without a place come last, as they were found.
    """

    def place(one: Diagnostic) -> tuple[bool, int, int]:
        where = one.where
        return (True, 0, 0) if where is None else (False, where.line, where.column)

    return sorted(found, key=place)


def located(problem: Diagnostic, where: SourceRange | None, expr: Expr | None, function: str) -> Diagnostic:
    """Return ``problem`` at its place, or with a note that names the function and the span."""
    if where is not None:
        return replace(problem, where=where)
    span = None if expr is None or isinstance(expr, Op) else expr.span
    at = f"in function @{function}" + (f", at {span}" if span is not None else "")
    return replace(problem, notes=(*problem.notes, at))


def type_text(ty: Type) -> str:
    """Return ``ty`` in Relay's syntax, as messages quote it; what is unknown is ``_``."""

    def name(part: object) -> Code:
        return vouched("_" if isinstance(part, IncompleteType) else getattr(part, "name", repr(part)))

    return f"`{TypeWriter(name).write(ty)}`"


def words(expr: Expr) -> str:
    """Return what a message calls ``expr``."""
    match expr:
        case Var(name):
            return f"`%{name}`"
        case GlobalVar(name):
            return f"`@{name}`"
        case Op(name) | Constructor(name):
            return f"`{name}`"
        case Constant():
            return "the constant"
        case Call(op):
            return f"the result of {words(op)}" if isinstance(op, (Op, GlobalVar, Constructor, Var)) else "the call"
        case Function():
            return "the function"
        case TupleGetItem(Var(name), index):
            return f"`%{name}.{index}`"
        case Tuple():
            return "the tuple"
    return "the value"


def mismatch(role: str, expected: Type, found: Type, reason: str, help_text: str = "") -> Diagnostic:
    """Two types that have to be the same are not; ``role`` says what has them."""
    label = f"expected {type_text(expected)}, found {type_text(found)}"
    return replace(mistake(kinds.MISMATCH, label=label, role=role), notes=(reason,), help=help_text)


def refused(op: OpDef, problem: Relay2RelaxError, args: Sequence[Expr], types: Sequence[Type]) -> Diagnostic:
    """An operator refuses its arguments."""
    message = problem.diagnostics[0].title
    names = [op.inputs[min(i, len(op.inputs) - 1)].lstrip("*") for i in range(len(args))] if op.inputs else []
    shown = [
        f"{name}: {words(arg)} has type {type_text(ty)}" for name, arg, ty in zip(names, args, types, strict=False)
    ]
    found = mistake(kinds.ARGUMENTS, label=message, operator=op.name)
    return replace(found, help="; ".join(shown[:4]))


def wrong_count(callee: Expr, names: Sequence[str], expected: str, found: int) -> Diagnostic:
    """A call has too many or too few arguments."""
    takes = f"{words(callee)} takes {expected}" + (f": {', '.join(names)}" if names else "")
    label = f"{found} given, {expected} expected"
    return replace(mistake(kinds.COUNT, label=label, callee=words(callee)), help=takes)


def unknown_operator(name: str) -> Diagnostic:
    """No record describes the operator."""
    label = "no operator of this name is known"
    return replace(mistake(kinds.UNKNOWN_OPERATOR, label=label, name=name), help=nearest(name, relay_names()))


def wrong_attributes(op: OpDef, found: object) -> Diagnostic:
    """A call carries attributes of another operator."""
    label = f"expected {op.attrs.__name__}, found {type(found).__name__}"
    return mistake(kinds.WRONG_ATTRIBUTES, label=label, operator=op.name)


def operator_as_value(name: str) -> Diagnostic:
    """An operator is used other than by calling it."""
    found = mistake(kinds.OPERATOR_AS_VALUE, label="an operator can only be called", name=name)
    return replace(found, help=f"wrap it in a function: fn (%x) {{ {name}(%x) }}")


def not_a_function(callee: Expr, found: Type) -> Diagnostic:
    """The callee of a call is not a function."""
    label = f"this is no function: it has type {type_text(found)}"
    return mistake(kinds.NOT_A_FUNCTION, label=label, callee=words(callee))


def too_many_type_arguments(callee: Expr, expected: int, found: int) -> Diagnostic:
    """A call gives more type arguments than the function has type parameters."""
    label = f"{found} given, at most {expected} expected"
    return mistake(kinds.TYPE_ARGUMENTS, label=label, callee=words(callee))


def unbound(var: Var, closed: bool) -> Diagnostic:
    """A variable is used where it is not bound."""
    label = "it is bound elsewhere, out of reach from here" if closed else "no parameter, `let` or pattern binds it"
    return mistake(kinds.UNBOUND, label=label, name=var.name)


def rebound(var: Var) -> Diagnostic:
    """One variable has two binders."""
    return mistake(kinds.REBOUND, label="every binder needs a variable of its own", name=var.name)


def unknown_global(name: str, known: Sequence[str]) -> Diagnostic:
    """A global is called that the module does not define."""
    has = ", ".join(f"@{one}" for one in sorted(known)[:8]) or "none"
    found = mistake(kinds.UNKNOWN_FUNCTION, label="the module does not define it", name=name)
    return replace(found, help=f"it defines: {has}")


def untyped_function(name: str, key: str) -> Diagnostic:
    """A function that is not Relay is used, and nothing says what Relay sees of it."""
    title = f"@{name} is a {key}, and its type is not recorded with it"
    return Diagnostic(title, label="what this is, is not known", kind=kinds.NOT_RELAY)


def lowered_function(callee: Expr, key: str) -> Diagnostic:
    """A function that is not Relay is called as if it were."""
    return mistake(kinds.NOT_RELAY, callee=words(callee), key=key)


def unknown_type(name: str) -> Diagnostic:
    """A type name or type variable has no meaning here."""
    label = "no type definition or type parameter of this name is in reach"
    return mistake(kinds.UNKNOWN_TYPE, label=label, name=name)


def wrong_type_arguments(name: str, expected: int, found: int) -> Diagnostic:
    """A data type is applied to the wrong number of types."""
    return mistake(kinds.DATA_TYPE_ARGUMENTS, label=f"{found} given", name=name, expected=expected)


def not_a_tuple(value: Expr, index: int, found: Type) -> Diagnostic:
    """A field is taken of something that is not a tuple, or has fewer fields."""
    label = f"it has type {type_text(found)}"
    return mistake(kinds.FIELD, label=label, value=words(value), index=index)


def unresolved(expr: Expr) -> Diagnostic:
    """Nothing determines the type of an expression."""
    what = words(expr)
    hint = ""
    if isinstance(expr, Var):
        hint = f"annotate it, as in %{expr.name}: Tensor[(2, 3), float32]"
    elif isinstance(expr, Call) and isinstance(expr.op, GlobalVar):
        hint = f"declare what @{expr.op.name} returns, as in -> Tensor[(2, 3), float32]"
    return replace(mistake(kinds.UNDETERMINED, label="nothing here determines its type", what=what), help=hint)


def wrong_pattern(constructor: Constructor, found: int) -> Diagnostic:
    """A pattern names a constructor with the wrong number of fields."""
    count = len(constructor.inputs)
    return mistake(kinds.PATTERN_FIELDS, label=f"{found} given", constructor=constructor.name, count=count)


def unmatched(cases: Sequence[str]) -> Diagnostic:
    """A match does not cover every value."""
    shown = ", ".join(f"`{case}`" for case in cases[:5])
    return mistake(kinds.NOT_COVERED, label=f"missing: {shown}")
