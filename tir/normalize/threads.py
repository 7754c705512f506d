"""Whether threads may run one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.ir.expr import Buffer, PrimExpr, Var
from relay2relax.tir.ir.stmt import (
    Attribute,
    BlockRealize,
    BufferStore,
    For,
    Let,
    PrimFunc,
    Stmt,
    ThreadAxis,
)
from relay2relax.tir.ir.visit import expressions, loads, sub_statements, variables

_TOGETHER = ("threadIdx", "vthread", "cthread")


@dataclass(slots=True)
class _Access:
    """Where memory that threads share is accessed: under which threads, and by which of them it is
    told apart.
    """

    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    threads: frozenset[Var]
    apart: frozenset[Var]


@dataclass(slots=True)
class _Walk:
    stores: list[_Access] = field(default_factory=list)
    loads: list[_Access] = field(default_factory=list)
    # By which threads the value of a variable is told apart.
    origins: dict[Var, frozenset[Var]] = field(default_factory=dict)

    def apart(self, exprs: Iterable[PrimExpr]) -> frozenset[Var]:
        names = (var for expr in exprs for var in variables(expr))
        return frozenset(thread for var in names for thread in self.origins.get(var, ()))

    def stmt(self, stmt: Stmt, threads: frozenset[Var]) -> None:
        match stmt:
            case For(var, thread=tag) | Attribute(ThreadAxis(var, tag)) if _share(stmt, tag):
                self.origins[var] = frozenset((var,))
                threads |= {var}
            case Let(var, value):
                self.origins[var] = self.apart([value])
            case BlockRealize(values, block):
                for axis, value in zip(block.iter_vars, values, strict=True):
                    self.origins[axis.var] = self.apart([value])
            case BufferStore(buffer, indices) if _is_shared(buffer):
                self.stores.append(_Access(buffer, indices, threads, self.apart(indices)))
        for expr in expressions(stmt):
            for load in loads(expr):
                if _is_shared(load.buffer):
                    self.loads.append(_Access(load.buffer, load.indices, threads, self.apart(load.indices)))
        for part in sub_statements(stmt):
            self.stmt(part, threads)


def _share(stmt: Stmt, tag: str) -> bool:
    """Whether the threads of ``stmt`` may share memory of their own.

    A launch may leave out their kind.
    """
    return tag.startswith(_TOGETHER) or (not tag and isinstance(stmt, Attribute))


def _is_shared(buffer: Buffer) -> bool:
    return buffer.scope.startswith(("shared", "warp"))


def check_threads(func: PrimFunc) -> None:
    """Raise UnsupportedError where a thread of ``func`` reads what another one has stored.

    In a program of blocks, a loop over threads around a store alone runs all of them before what
    comes behind. Where one loop is around both the store and the load, each thread would read what
    only the others have stored.
    """
    walk = _Walk()
    walk.stmt(func.body, frozenset())
    for store in walk.stores:
        for load in walk.loads:
            together = store.threads & load.threads & store.apart
            if load.buffer is store.buffer and together and load.indices != store.indices:
                raise UnsupportedError(
                    mistake(
                        tensor_programs.NOT_EXPRESSED,
                        what=f"{func.name}, whose threads store and read {store.buffer.name} together,",
                    )
                )
