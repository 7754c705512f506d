"""Stages and scheduled loops as text, for people: what each is over, what it reads and stores.

    out: float32[4, 8] over i < 4, j < 8
      result = + over k < 16 of x[i, k] * w[j, k]
      out[i, j] = max(result + bias[j], 0.0)

Names are those of the program, numbered where several things have one. A literal is an int64 or a
float32 unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from relay2relax.backends.c.stages import Axis, Blocks, Opaque, Part, Program, Rows, Stage
from relay2relax.core.dtype import is_float
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    FloatImm,
    FunctionCall,
    IntImm,
    Not,
    PrimExpr,
    Select,
    StringImm,
    Var,
)
from relay2relax.tir.ir.stmt import Allocate, BufferStore, Evaluate, For, If, Let, LoopKind, Seq, Stmt, While

_LEVELS: Mapping[str, int] = {
    "or": 1, "and": 2, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4, "|": 5, "^": 6, "&": 7, "<<": 8,
    ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10,
}  # fmt: skip
_NOT, _ATOM = 3, 20
_STEP = "  "


class StagePrinter:
    """Writes programs, stages and statements; a buffer has one name in all that one printer
    writes.
    """

    def __init__(self) -> None:
        self._buffers: dict[Buffer, str] = {}
        self._variables: dict[Var, str] = {}
        self._taken: set[str] = set()
        self._local: set[str] = set()
        self._known: frozenset[Buffer] = frozenset()

    # Programs

    def program(self, program: Program) -> list[str]:
        """Return the lines of a program: its views, then its stages in order."""
        self._known = program.known
        lines = [f"{self.declared(view)} is a view of {self.buffer(buffer)}" for view, buffer in program.views.items()]
        for part in program.stages:
            lines += self.part(part)
        return lines

    def part(self, part: Part) -> list[str]:
        """Return the lines of a part of a program."""
        self._variables, self._local = {}, set()
        match part:
            case Opaque(stmt, anew):
                when = ", on every call" if anew else ", ahead" if part.writes() & self._known else ""
                return [f"statement{when}", *_deeper(self.statement(stmt))]
            case Rows(axes, stages):
                lines = [line for stage in stages for line in self.stage(stage)]
                return [f"rows over {self.axes(axes)}", *_deeper(lines)]
            case Blocks(axes, members):
                lines = []
                for member in members:
                    if isinstance(member, Rows):
                        inner = [line for stage in member.stages for line in self.stage(stage)]
                        lines += [f"rows over {self.axes(member.axes)}", *_deeper(inner)]
                    else:
                        lines += self.stage(member)
                return [f"blocks over {self.axes(axes)}", *_deeper(lines)]
            case Stage():
                return self.stage(part)

    def stage(self, stage: Stage) -> list[str]:
        """Return the lines of one stage."""
        head = self.declared(stage.target) + (", ahead" if stage.target in self._known else "")
        lines = [f"{head} over {self.axes(stage.axes)}" if stage.axes else head]
        reduction = stage.reduction
        if reduction is not None:
            over, source = self.axes(reduction.axes), self.expr(reduction.source)
            begin = self.expr(reduction.identity)
            lines.append(
                f"{_STEP}{self.variable(reduction.result)} = {reduction.op} from {begin} over {over} of {source}"
            )
        return [*lines, f"{_STEP}{self.element(stage.target, stage.indices)} = {self.expr(stage.value)}"]

    def axes(self, axes: Sequence[Axis]) -> str:
        """Return axes with their extents."""
        return ", ".join(f"{self.variable(axis.var)} < {self.expr(axis.extent, 5)}" for axis in axes)

    # Statements

    def statement(self, stmt: Stmt) -> list[str]:
        """Return the lines of a statement.

        Raises TypeError for blocks, which are lowered before anything is scheduled.
        """
        match stmt:
            case Seq(stmts):
                return [line for one in stmts for line in self.statement(one)]
            case For(var, extent, body, kind):
                word = "" if kind is LoopKind.SERIAL else f"{kind.value} "
                worth = f" if {self.expr(stmt.annotations['worth'])}" if "worth" in stmt.annotations else ""
                head = f"{word}for {self.variable(var)} < {self.expr(extent, 5)}{worth}:"
                return [head, *_deeper(self.statement(body))]
            case BufferStore(buffer, indices, value):
                return [f"{self.element(buffer, indices)} = {self.expr(value)}"]
            case Let(var, value, body):
                return [f"let {self.variable(var)} = {self.expr(value)}", *self.statement(body)]
            case If(condition, then, otherwise):
                lines = [f"if {self.expr(condition)}:", *_deeper(self.statement(then))]
                return lines if otherwise is None else [*lines, "else:", *_deeper(self.statement(otherwise))]
            case While(condition, body):
                return [f"while {self.expr(condition)}:", *_deeper(self.statement(body))]
            case Allocate(buffer, body):
                return [f"{buffer.scope} {self.declared(buffer)}", *self.statement(body)]
            case Evaluate(value):
                return [self.expr(value)]
        raise TypeError(f"{type(stmt).__name__} is lowered before loops are scheduled")

    # Names

    def buffer(self, buffer: Buffer) -> str:
        """Return the name of a buffer."""
        if buffer not in self._buffers:
            self._buffers[buffer] = _fresh(buffer.name, self._taken)
        return self._buffers[buffer]

    def declared(self, buffer: Buffer) -> str:
        """Return the name of a buffer, and what it is."""
        return f"{self.buffer(buffer)}: {buffer.dtype}[{', '.join(map(self.expr, buffer.shape))}]"

    def variable(self, var: Var) -> str:
        """Return the name of a variable, which is its own within a stage."""
        if var not in self._variables:
            self._variables[var] = _fresh(var.name, self._local)
        return self._variables[var]

    # Expressions

    def element(self, buffer: Buffer, indices: Sequence[PrimExpr]) -> str:
        """Return the text of an access."""
        return f"{self.buffer(buffer)}[{', '.join(map(self.expr, indices))}]"

    def expr(self, expr: PrimExpr, level: int = 0) -> str:
        """Return the text of ``expr``, in parentheses where it binds weaker than ``level``."""
        text, binds = self._bare(expr)
        return f"({text})" if binds < level else text

    def _bare(self, expr: PrimExpr) -> tuple[str, int]:
        match expr:
            case IntImm(value, dtype) | FloatImm(value, dtype):
                return _literal(value, dtype), _ATOM
            case Var():
                return self.variable(expr), _ATOM
            case Binary(op, a, b) if op in _LEVELS:
                level = _LEVELS[op]
                return f"{self.expr(a, level)} {op} {self.expr(b, level + 1)}", level
            case Binary(op, a, b):
                return self._call(op, (a, b)), _ATOM
            case Not(a):
                return f"not {self.expr(a, _NOT)}", _NOT
            case Cast(dtype, value):
                return self._call(dtype, (value,)), _ATOM
            case Select(condition, then, otherwise):
                return self._call("select", (condition, then, otherwise)), _ATOM
            case BufferLoad(buffer, indices):
                return self.element(buffer, indices), _ATOM
            case StringImm(value):
                return repr(value), _ATOM
            case Call(name, args):
                return self._call(name, args), _ATOM
            case FunctionCall(name, args):
                return self._call(f"Module.{name}", args), _ATOM
        return str(expr), _ATOM

    def _call(self, name: str, args: Sequence[PrimExpr]) -> str:
        return f"{name}({', '.join(map(self.expr, args))})"


def program_text(program: Program) -> str:
    """Return a program as text."""
    return "".join(f"{line}\n" for line in StagePrinter().program(program))


def _deeper(lines: Sequence[str]) -> Iterator[str]:
    return (_STEP + line for line in lines)


def _fresh(name: str, taken: set[str]) -> str:
    found, number = name or "_", 0
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found


def _literal(value: float, dtype: str) -> str:
    if dtype == "bool":
        return "true" if value else "false"
    text = repr(float(value)) if is_float(dtype) else str(value)
    return text if dtype in ("int64", "float32") else f"{dtype}({text})"
