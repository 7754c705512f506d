"""Functions that tensor programs call by name: those of C's math library, and those registered
here.

``T.call_extern`` and ``T.call_pure_extern`` with a name of ``math.h`` are the intrinsic of that
name. Any other name, and every name of ``T.call_packed``, is looked up among the functions of
``register_func``, never among the symbols of the process: a program from elsewhere calls nothing
that its user has not offered. Such programs run on numpy, on target c too. A function is given
numbers and strings as they are, ``T.tvm_stack_make_array`` as an array, ``A.data`` and
``T.address_of(A[i])`` as an array of one dimension from that element on; arrays share the program's
memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from relay2relax.backends.runtime.arguments import make_plain
from relay2relax.backends.runtime.registry import find_func
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.limits import active
from relay2relax.tir.ir.expr import Buffer, Call, FunctionCall, Pointer, PrimExpr, StringImm
from relay2relax.tir.ir.stmt import Allocate, Assert, Evaluate, PrimFunc, Stmt, While
from relay2relax.tir.ir.visit import expressions, statements, sub_statements, subexpressions

_EXTERN = frozenset({"call_extern", "call_pure_extern"})
_PACKED = frozenset({"call_packed", "call_cpacked"})
# C's functions of doubles that an intrinsic computes; those of floats end in f. C's `round` is
# none: see T.round.
_MATH = {
    **{
        name: name
        for name in (
            "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "erf", "exp",
            "exp2", "expm1", "fabs", "floor", "fmod", "hypot", "log", "log10", "log1p", "log2", "nearbyint", "pow",
            "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
        )
    },
    "rint": "nearbyint",
}  # fmt: skip


def math_call(call: Call) -> Call | None:
    """Return the call of an intrinsic that stands for a call of C's math library, None for any
    other call.
    """
    match call:
        case Call(kind, (StringImm(name), *args), "float32" | "float64" as dtype) if kind in _EXTERN and args:
            plain = name if dtype == "float64" else name.removesuffix("f") if name.endswith("f") else ""
            if plain in _MATH and all(arg.dtype == dtype for arg in args):
                return Call(_MATH[plain], tuple(args), dtype)
    return None


def is_outside(expr: PrimExpr) -> bool:
    """Whether ``expr`` calls a function that is looked up by name."""
    match expr:
        case Call(kind, (StringImm(), *_)) if kind in _EXTERN | _PACKED:
            return math_call(expr) is None
    return False


@lru_cache(maxsize=256)
def outside_names(func: PrimFunc) -> frozenset[str]:
    """Return the names of the functions that ``func`` looks up."""
    return frozenset(_name(call) for stmt in statements(func.body) for call in _calls(stmt))


def is_interpreted(func: PrimFunc) -> bool:
    """Whether ``func`` is evaluated on numpy on target c too.

    It is where it calls functions by name, may stop or leave loops early, or sees memory as
    elements of another dtype. Within limits it is as well where nothing says that its loops end:
    machine code cannot be asked whether it may go on.
    """
    return _cannot_be_compiled(func) or (active() is not None and may_not_end(func))


@lru_cache(maxsize=256)
def may_not_end(func: PrimFunc) -> bool:
    """Whether ``func`` has loops that end only by what they compute, and is no operator's."""
    return func.origin is None and any(isinstance(stmt, While) for stmt in statements(func.body))


@lru_cache(maxsize=256)
def _cannot_be_compiled(func: PrimFunc) -> bool:
    if outside_names(func):
        return True
    for stmt in statements(func.body):
        match stmt:
            case Assert():
                return True
            case Allocate(buffer, _, of) if of is not None and not (
                isinstance(of, Buffer) and of.dtype == buffer.dtype
            ):
                return True
            case Evaluate(value) if any(isinstance(part, (Call, FunctionCall)) for part in subexpressions(value)):
                return True
    return any(isinstance(param, Pointer) and param not in func.buffer_map for param in func.params)


@lru_cache(maxsize=256)
def outside_statements(func: PrimFunc) -> frozenset[Stmt]:
    """Return the statements of ``func`` in which functions are looked up, at any depth."""
    found: set[Stmt] = set()
    # Inner statements come last, so that they are looked at before what they stand in.
    for stmt in reversed(list(statements(func.body))):
        if any(inner in found for inner in sub_statements(stmt)) or any(_calls(stmt)):
            found.add(stmt)
    return frozenset(found)


def call_outside(call: Call, args: Sequence[object]) -> object:
    """Call the function that ``call`` names; raises ExecutionError where nobody registered it."""
    result = find_func(_name(call))(*args)
    make_plain(args)
    if call.dtype in ("handle", "void"):
        return result
    return numpy_dtype(call.dtype).type(0 if result is None else result)


def _calls(stmt: Stmt) -> Iterator[Call]:
    for expr in expressions(stmt):
        for node in subexpressions(expr):
            if isinstance(node, Call) and is_outside(node):
                yield node


def _name(call: Call) -> str:
    first = call.args[0]
    assert isinstance(first, StringImm)
    return first.value
