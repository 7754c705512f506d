"""What the names of a tensor program stand for, and the blocks around the place that is read."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Union

from relay2relax.core.script_source import Poison, stored_names
from relay2relax.tir.ir.expr import Buffer, BufferData, BufferLoad, IntImm, PrimExpr, Var
from relay2relax.tir.ir.stmt import BufferRegion, IterVar, MatchBuffer, Stmt, ThreadAxis
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.types import declared_symbols, is_dtype


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """A name for one element of memory."""

    buffer: Buffer


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """A name for the address of memory, in which other buffers lie."""

    buffer: Buffer


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """Something that holds for the statements after it, as a statement around them."""

    around: Callable[[Stmt], Stmt]


Item = Union[Stmt, Opened]


@dataclass(slots=True)
class BlockFrame:
    """A block that is being read."""

    axes: list[IterVar] = field(default_factory=list)
    values: list[PrimExpr] = field(default_factory=list)
    reads: tuple[BufferRegion, ...] | None = None
    writes: tuple[BufferRegion, ...] | None = None
    predicate: PrimExpr | None = None
    init: Stmt | None = None
    buffers: list[Buffer] = field(default_factory=list)
    annotations: dict[str, object] = field(default_factory=dict)
    matches: list[MatchBuffer] = field(default_factory=list)


@dataclass(slots=True)
class Frames:
    """The blocks around a place, innermost last, and what the function's own block has.

    ``rooted`` says that the function's own block is written out.
    """

    inner: list[BlockFrame] = field(default_factory=list)
    root: BlockFrame = field(default_factory=BlockFrame)
    rooted: bool = False

    @property
    def current(self) -> BlockFrame:
        """The block around this place, or the function's own."""
        return self.inner[-1] if self.inner else self.root


class ProgramNames:
    """The names of one function: its variables, and what Python's names become in expressions."""

    def __init__(self, context: ReadContext, node: ast.FunctionDef) -> None:
        source = self.source = context.source
        self.scopes = context.scopes
        # Where the variables of loops begin (None: at 0), and how far they go.
        self.ranges: dict[Var, tuple[PrimExpr | None, PrimExpr]] = {}
        # Whether the function stands in no module.
        self.alone = node in source.tree.body
        # The dtypes of variables that parameters and statements of the function declare.
        self.dtypes = {**declared_symbols(source, node.body), **_scalar_parameters(context, node)}
        within = [one for one in ast.walk(node) if isinstance(one, ast.Assign) and one not in node.body]
        self.later = declared_symbols(source, within)

    def scalar(self, name: str) -> object:
        """Return what ``name`` stands for in an expression, None where it is not defined."""
        match found := self.scopes.lookup(name):
            case Local(buffer):
                return BufferLoad(buffer, (IntImm(0, "int32"),))
            case Memory(buffer):
                return BufferData(buffer)
            case ThreadAxis(var):
                return var
            case None if name in self.later:
                # TVM may print a variable before its declaration.
                found = self.scopes.levels[0][name] = Var(name, self.later[name])
        return found

    def forget(self, node: ast.stmt) -> None:
        """Let the names that a mistaken statement assigns be known, so that one mistake is reported
        once.
        """
        for name in stored_names(node):
            if self.scopes.find(name) is None:
                self.scopes.define(name, Poison())


def _scalar_parameters(context: ReadContext, node: ast.FunctionDef) -> dict[str, str]:
    """Return the dtypes of the parameters that are scalars."""
    found: dict[str, str] = {}
    for argument in (*node.args.posonlyargs, *node.args.args):
        name = context.source.dotted(argument.annotation) if argument.annotation is not None else None
        if name is not None and name.startswith("T.") and is_dtype(name[2:]):
            found[argument.arg] = name[2:]
    return found
