"""Statements of tensor programs, and the PrimFunc that holds them.

    stmt ::= BufferStore(buffer, expr*, expr) | Seq(stmt*) | For(var, extent, kind, stmt)
           | If(expr, stmt, stmt?) | BlockRealize(expr*, predicate, Block) | Let(var, expr, stmt)
           | While(expr, stmt) | Evaluate(expr) | Allocate(buffer, stmt, of)
    Block ::= Block(iter_var*, reads, writes, body, init?, alloc_buffers)

All are immutable; a PrimFunc's parameters are handles bound to buffers by ``buffer_map``, or scalars.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias, Union

from relay2relax.tir.expr import Buffer, PrimExpr, Var


class LoopKind(Enum):
    """How a loop runs; the value is the name in TVMScript's ``T.`` namespace."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unroll"


class IterKind(Enum):
    """What an axis does: each point of a spatial axis writes its own place, a reduction axis accumulates."""

    SPATIAL = "S"
    REDUCE = "R"


@dataclass(frozen=True, slots=True)
class Range:
    """``[begin, begin + extent)``."""

    begin: PrimExpr
    extent: PrimExpr


@dataclass(frozen=True, slots=True)
class BufferRegion:
    """The part of a buffer that a block reads or writes."""

    buffer: Buffer
    region: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class IterVar:
    """An axis of a block: ``var`` runs over ``[0, extent)``."""

    var: Var
    extent: PrimExpr
    kind: IterKind


@dataclass(frozen=True, slots=True, eq=False)
class BufferStore:
    """``buffer[indices] = value``."""

    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    value: PrimExpr


@dataclass(frozen=True, slots=True, eq=False)
class Seq:
    """Statements one after the other."""

    stmts: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """``var`` runs over ``[0, extent)``."""

    var: Var
    extent: PrimExpr
    body: Stmt
    kind: LoopKind = LoopKind.SERIAL
    annotations: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """Branch; ``otherwise`` may be missing."""

    condition: PrimExpr
    then: Stmt
    otherwise: Stmt | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """``var`` has the value ``value`` in ``body``."""

    var: Var
    value: PrimExpr
    body: Stmt


@dataclass(frozen=True, slots=True, eq=False)
class While:
    """Repeat ``body`` while ``condition`` holds."""

    condition: PrimExpr
    body: Stmt


@dataclass(frozen=True, slots=True, eq=False)
class Evaluate:
    """Evaluate an expression for its effect (an extern call)."""

    value: PrimExpr


@dataclass(frozen=True, slots=True, eq=False)
class Allocate:
    """``buffer`` exists in ``body``: memory of its own, as of accumulators, or that of ``of`` in another shape."""

    buffer: Buffer
    body: Stmt
    of: Buffer | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A unit of computation over its own axes; ``init`` runs where all reduction axes are at their start."""

    name: str
    iter_vars: tuple[IterVar, ...]
    reads: tuple[BufferRegion, ...]
    writes: tuple[BufferRegion, ...]
    body: Stmt
    init: Stmt | None = None
    alloc_buffers: tuple[Buffer, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class BlockRealize:
    """A block with its axes bound to ``values``, run where ``predicate`` holds (None: everywhere)."""

    values: tuple[PrimExpr, ...]
    block: Block
    predicate: PrimExpr | None = None


Stmt: TypeAlias = Union[BufferStore, Seq, For, If, Let, While, Evaluate, Allocate, BlockRealize]


@dataclass(frozen=True, slots=True, eq=False)
class PrimFunc:
    """A tensor program.

    ``params`` in call order (inputs, then outputs): a ``Var`` of dtype ``handle`` stands for the buffer that
    ``buffer_map`` gives it, any other ``Var`` is a scalar. ``root_buffers`` are temporaries of the whole
    function. ``num_outputs`` counts the buffers, from the end of ``params``, that the function writes.
    ``origin`` names the operator call that the body was made from; whoever changes the body drops it.
    """

    name: str
    params: tuple[Var, ...]
    buffer_map: Mapping[Var, Buffer]
    body: Stmt
    root_buffers: tuple[Buffer, ...] = ()
    num_outputs: int = 1
    attrs: Mapping[str, Any] = field(default_factory=dict)
    private: bool = True
    origin: Any = None

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers of the parameters, in call order."""
        return tuple(self.buffer_map[p] for p in self.params if p in self.buffer_map)
