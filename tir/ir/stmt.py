"""Statements of tensor programs, and the PrimFunc that holds them.

    stmt ::= BufferStore(buffer, expr*, expr) | Seq(stmt*) | For(var, extent, kind, stmt)
           | If(expr, stmt, stmt?) | BlockRealize(expr*, predicate, Block) | Let(var, expr, stmt)
           | While(expr, stmt) | Evaluate(expr) | Allocate(buffer, stmt, of)
           | Assert(expr, kind, message)
           | Attribute(node, key, expr, stmt)
    Block ::= Block(iter_var*, reads, writes, body, init?, alloc_buffers, matches)

All are immutable; a PrimFunc's parameters are handles bound to buffers by ``buffer_map``, pointers,
or scalars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeAlias, Union

from relay2relax.core.dtype import check_dtype
from relay2relax.tir.ir.expr import Buffer, PrimExpr, Var


class LoopKind(Enum):
    """How a loop runs; the value is the name in TVMScript's ``T.`` namespace."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unroll"
    THREAD = "thread_binding"


class IterKind(Enum):
    """What an axis does: each point of a spatial axis writes its own place, a reduction axis
    accumulates.

    The points of a scan axis run in order; of an opaque axis nothing is known.
    """

    SPATIAL = "S"
    REDUCE = "R"
    SCAN = "scan"
    OPAQUE = "opaque"


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
class MatchBuffer:
    """``buffer`` is the part ``region`` of another buffer."""

    buffer: Buffer
    region: BufferRegion


@dataclass(frozen=True, slots=True)
class ThreadAxis:
    """The number of a thread of the kind ``tag``, e.g. ``threadIdx.x``."""

    var: Var
    tag: str


@dataclass(frozen=True, slots=True)
class IterVar:
    """An axis of a block: ``var`` runs over ``[begin, begin + extent)``; no ``begin`` is 0."""

    var: Var
    extent: PrimExpr
    kind: IterKind
    begin: PrimExpr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BufferStore:
    """``buffer[indices] = value``; of vectors, only the lanes that ``predicate`` sets."""

    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    value: PrimExpr
    predicate: PrimExpr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Seq:
    """Statements one after the other."""

    stmts: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """``var`` runs over ``[begin, begin + extent)`` in steps of ``step``; where they are None, from
    0 and by 1.

    ``thread`` names the kind of thread that a loop of kind THREAD stands for.
    """

    var: Var
    extent: PrimExpr
    body: Stmt
    kind: LoopKind = LoopKind.SERIAL
    annotations: Mapping[str, Any] = field(default_factory=dict)
    thread: str = ""
    begin: PrimExpr | None = None
    step: PrimExpr | None = None


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
    """``buffer`` exists in ``body``: memory of its own, as of accumulators, or that of ``of`` in
    another shape.

    ``of`` is a buffer or the address of memory. ``values`` is what a constant holds, row by row.
    ``scalar`` says that scripts of today write the name of the buffer for its one element.
    """

    buffer: Buffer
    body: Stmt
    of: Buffer | PrimExpr | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    values: tuple[int | float, ...] | None = None
    scalar: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Assert:
    """Stop with an error of ``kind`` and ``message``, in parts, unless ``condition`` holds."""

    condition: PrimExpr
    message: tuple[PrimExpr, ...]
    kind: str = "RuntimeError"


# The attribute of functions that says that no two parameters share memory.
NO_ALIAS = "tirx.noalias"
# Attributes under which their value says how many threads run a statement.
THREAD_KEYS = frozenset({"thread_extent", "virtual_thread"})


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """Say something of ``node`` for ``body``: hints for compilers.

    Under ``thread_extent``, how many threads run it.

    ``node`` is an expression, a buffer, a thread axis, or a value as those of attributes.
    """

    node: Any
    key: str
    value: Any
    body: Stmt


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A unit of computation over its own axes.

    ``init`` runs where all reduction axes are at their start.

    Where there is no reduction axis, that is at every point.
    """

    name: str
    iter_vars: tuple[IterVar, ...]
    reads: tuple[BufferRegion, ...]
    writes: tuple[BufferRegion, ...]
    body: Stmt
    init: Stmt | None = None
    alloc_buffers: tuple[Buffer, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)
    matches: tuple[MatchBuffer, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class BlockRealize:
    """A block with its axes bound to ``values``, run where ``predicate`` holds (None:
    everywhere).
    """

    values: tuple[PrimExpr, ...]
    block: Block
    predicate: PrimExpr | None = None


Stmt: TypeAlias = Union[
    BufferStore, Seq, For, If, Let, While, Evaluate, Allocate, Assert, Attribute, BlockRealize
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What machine code is made for, as an attribute of a function: a text or a table, as
    ``T.target`` takes it.
    """

    value: str | Mapping[str, Any]
    host: str | Mapping[str, Any] | None = None


class FuncOrigin:
    """Where the body of a PrimFunc came from; who makes PrimFuncs derives from it what is known."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class PrimFunc:
    """A tensor program.

    ``params`` in call order (inputs, then outputs): a ``Var`` of dtype ``handle`` stands for the
    buffer that ``buffer_map`` gives it, any other ``Var`` is a scalar. ``root_buffers`` are
    temporaries of the whole function. ``num_outputs`` counts the buffers, from the end of
    ``params``, that the function writes. ``result`` is the dtype of what it returns, "void" for
    nothing. ``scheduled`` says that it is, as apache-tvm calls it, s_tir: a program of blocks, not
    yet lowered to plain loops; ``rooted`` that even plain loops stand in a block, of which
    ``root_annotations`` are said. ``no_alias``: no two parameters share memory. ``checked`` is
    false where the script asks not to be checked. ``origin`` says what the body was made from; it
    is lost in ``with_body`` and ``with_params``.
    """

    name: str
    params: tuple[Var, ...]
    buffer_map: Mapping[Var, Buffer]
    body: Stmt
    root_buffers: tuple[Buffer, ...] = ()
    num_outputs: int = 1
    attrs: Mapping[str, Any] = field(default_factory=dict)
    private: bool = True
    origin: FuncOrigin | None = None
    result: str = "void"
    scheduled: bool = True
    no_alias: bool = True
    checked: bool = True
    rooted: bool = True
    root_annotations: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_dtype(self.result)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers of the parameters, in call order."""
        return tuple(self.buffer_map[p] for p in self.params if p in self.buffer_map)

    def with_body(self, body: Stmt, root_buffers: tuple[Buffer, ...] | None = None) -> PrimFunc:
        """Return the function with another body, and other temporaries where they are given."""
        temporaries = self.root_buffers if root_buffers is None else root_buffers
        return replace(self, body=body, root_buffers=temporaries, origin=None)

    def with_params(self, params: Sequence[Var], buffer_map: Mapping[Var, Buffer]) -> PrimFunc:
        """Return the function with other parameters, of which some may stand for other buffers."""
        return replace(self, params=tuple(params), buffer_map=buffer_map, origin=None)
