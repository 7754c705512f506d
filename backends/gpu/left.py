"""Which tensor programs apache-tvm's default pipeline for GPUs does not build, and why.

Its rules (``s_tir/dlight/gpu`` of apache-tvm 0.27) bind the loops around blocks of one store to
threads. Whatever else there is stays with the host, which cannot write a GPU's memory. Some sums
end in errors of the rules themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax.backends.c.stages import Axis, Opaque, Reduction, Stage, stages_of
from relay2relax.backends.runtime.extern_calls import is_interpreted
from relay2relax.tir.ir.expr import Binary, BufferLoad, IntImm, Var
from relay2relax.tir.ir.stmt import (
    THREAD_KEYS,
    Attribute,
    BlockRealize,
    For,
    LoopKind,
    PrimFunc,
    Seq,
    Stmt,
    While,
)
from relay2relax.tir.ir.visit import loads, statements, subexpressions, variables

# The attribute of functions that says that apache-tvm has no loops to bind in them.
SCHEDULED = "tirx.is_scheduled"

_STATEMENTS = "it is written as statements, whose loops no rule of apache-tvm binds to threads"
_SEVERAL = "it computes several tensors in one step, and apache-tvm's rules know steps of one"
_ONE_TERM = "apache-tvm lets threads wait inside of a condition where a sum has one term, at a quotient"
_DIVIDED = "apache-tvm puts a loop inside of a sum where what is summed up lies at a quotient"
_ROWS = "apache-tvm takes sums of rows with a number of each row for products, and stops"


def left_of(func: PrimFunc) -> str:
    """Return why apache-tvm makes no kernels of ``func``, "" where it does, or finds them made."""
    if func.attrs.get(SCHEDULED) or is_interpreted(func) or any(map(_has_threads, statements(func.body))):
        return ""
    stmts = func.body.stmts if isinstance(func.body, Seq) else (func.body,)
    stages = stages_of(func)
    for stmt, stage in zip(stmts, stages, strict=True):
        if isinstance(stage, Opaque):
            return _SEVERAL if _is_nest(stmt) else _STATEMENTS
    sums = [(stage, one) for stage in stages if isinstance(stage, Stage) and (one := stage.reduction) is not None]
    # The rules that take sums apart are for functions with one of them.
    return _sum_left(*sums[0]) if len(sums) == 1 else ""


def _has_threads(stmt: Stmt) -> bool:
    match stmt:
        case For(kind=LoopKind.THREAD):
            return True
        case Attribute(key=key):
            return key in THREAD_KEYS
    return False


def _is_nest(stmt: Stmt) -> bool:
    """Whether a statement is one block without loops of its own, in loops around it."""
    while isinstance(stmt, For):
        stmt = stmt.body
    inner = stmt.block.body if isinstance(stmt, BlockRealize) and stmt.block.iter_vars else None
    return inner is not None and not any(isinstance(one, (For, While, BlockRealize)) for one in statements(inner))


def _sum_left(stage: Stage, reduction: Reduction) -> str:
    if reduction.op != "+":
        return ""
    found = list(loads(reduction.source))
    if any(_is_divided(load, set(_long(stage.axes))) for load in found):
        return _DIVIDED if any(_long(reduction.axes)) else _ONE_TERM
    return _ROWS if _is_of_rows(stage, found, [*_long(stage.axes), *_long(reduction.axes)]) else ""


def _long(axes: tuple[Axis, ...]) -> Iterator[Var]:
    return (axis.var for axis in axes if axis.extent != IntImm(1))


def _is_divided(load: BufferLoad, axes: set[Var]) -> bool:
    """Whether a place that is read follows from the quotient of one of ``axes``."""
    parts = (part for index in load.indices for part in subexpressions(index))
    return any(isinstance(part, Binary) and part.op == "//" and part.a in axes for part in parts)


def _is_of_rows(stage: Stage, found: list[BufferLoad], axes: list[Var]) -> bool:
    """Whether apache-tvm takes a sum for a product of a matrix and a vector, and finds no rows of
    the matrix: of what is read some has all ``axes``, some fewer, and none an axis of the result
    that others lack.
    """
    used: dict[object, set[Var]] = {}
    for load in found:
        own = {var for index in load.indices for var in variables(index)}
        used.setdefault(load.buffer, set()).update(own.intersection(axes))
    fewer = [own for own in used.values() if 0 < len(own) < len(axes)]
    if not 0 < len(fewer) < len(used):
        return False
    most = max(used.values(), key=len)
    own = {axis.var for axis in stage.axes}
    return all(var in other for var in most & own for other in used.values())
