"""PrimFuncs as TVMScript.

Dialect ``tvm`` is the text that TVM 0.25, 0.26 and 0.27 all read; ``tvm-0.18`` is the classic one. They
differ in spelling only, and the spellings are a table. A literal always says its dtype, so that no reader has
to guess.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay2relax.core.errors import UnsupportedError
from relay2relax.tir.errors import TIRError
from relay2relax.tir.expr import (
    COMPARISONS,
    Binary,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    FloatImm,
    IntImm,
    Not,
    PrimExpr,
    Select,
    StringImm,
    Var,
)
from relay2relax.tir.names import Scope, identifier
from relay2relax.tir.regions import whole
from relay2relax.tir.stmt import (
    Allocate,
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    Evaluate,
    For,
    If,
    IterKind,
    Let,
    LoopKind,
    PrimFunc,
    Seq,
    Stmt,
    While,
)
from relay2relax.tir.visit import shape_variables, statements, variables


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one family of TVM releases spells what the others spell differently."""

    decorator: str
    block: str
    block_attributes: str
    block_buffer: str
    memory: str
    let: str
    no_alias: str
    true: str = "True"
    false: str = "False"
    intrinsics: Mapping[str, str] = field(default_factory=lambda: {"fmod": "truncmod"})
    missing: frozenset[str] = frozenset()


DIALECTS = {
    "tvm": Dialect(
        decorator="s_tir=True",
        block="T.sblock",
        block_attributes="T.sblock_attr",
        block_buffer="T.sblock_alloc_buffer",
        memory="T.alloc_buffer",
        let="{name}: T.let[T.{dtype}] = {value}",
        no_alias="tirx.noalias",
    ),
    "tvm-0.18": Dialect(
        decorator="",
        block="T.block",
        block_attributes="T.block_attr",
        block_buffer="T.alloc_buffer",
        # Without `data=` it is memory of its own, in whatever follows; T.alloc_buffer belongs to the block around it.
        memory="T.decl_buffer",
        let="{name}: T.{dtype} = {value}",
        no_alias="tir.noalias",
        true="T.bool(True)",
        false="T.bool(False)",
        # Until 0.23 T.round took ties away from zero; nearbyint is what T.round means since.
        intrinsics={"fmod": "truncmod", "round": "nearbyint"},
        missing=frozenset({"fma"}),
    ),
}

_OPERATORS = {
    "or": 1, "and": 2, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4, "|": 5, "^": 6, "&": 7, "<<": 8,
    ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10,
}  # fmt: skip
_RELATIONS = COMPARISONS - {"and", "or"}
_NOT = 3
_ATOM = 20
# Functions of the T namespace that take their arguments as they stand. On floats T.truncmod is C's fmod.
INTRINSICS = frozenset(
    """
    exp exp2 exp10 log log2 log10 log1p sqrt rsqrt tanh sigmoid erf sin cos tan asin acos atan sinh cosh asinh
    acosh atanh atan2 floor ceil trunc round nearbyint fabs abs pow fmod copysign hypot isnan isinf isfinite
    likely if_then_else popcount clz fma
    """.split()  # noqa: SIM905
)
# These say their dtype first.
_TYPED_CALLS = frozenset({"call_extern", "call_pure_extern", "reinterpret"})
# What is asked of TVM's runtime.
_RUNTIME_CALLS = frozenset(
    {"address_of", "call_packed", "call_cpacked", "tvm_stack_make_array", "tvm_stack_make_shape"}
)
_STEP = "    "
_INT64_MAX = 2**63 - 1
_FLOAT32_MAX = (2 - 2**-23) * 2.0**127


def float_literal(value: float) -> str:
    """Return ``value`` as ``T.float32`` and its like take it: all digits, infinities and NaN as strings."""
    if math.isnan(value):
        return '"nan"'
    if math.isinf(value):
        return '"inf"' if value > 0 else '"-inf"'
    return repr(float(value))


def string_literal(value: str) -> str:
    """Return ``value`` as a Python string literal in double quotes."""
    return json.dumps(value, ensure_ascii=False)


class _Printer:
    """The text of one PrimFunc; ``lines`` grows as statements are written."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.scope = Scope()
        self.lines: list[str] = []
        self.depth = 0
        self.loops: dict[Var, PrimExpr] = {}

    def line(self, text: str) -> None:
        self.lines.append(_STEP * self.depth + text)

    def body(self, stmt: Stmt) -> None:
        """Write ``stmt`` one step deeper, in a scope of its own."""
        self.depth += 1
        self.scope.enter()
        before = len(self.lines)
        self.stmt(stmt)
        if len(self.lines) == before:
            self.line("pass")
        self.scope.leave()
        self.depth -= 1

    # Expressions.

    def expr(self, expr: PrimExpr, level: int = 0) -> str:
        """Return the text of ``expr``, in parentheses where it binds weaker than ``level``."""
        text, binds = self.bare(expr)
        return f"({text})" if binds < level else text

    def bare(self, expr: PrimExpr) -> tuple[str, int]:
        match expr:
            case IntImm(value, "bool"):
                return f"T.bool({bool(value)})", _ATOM
            case IntImm(value, dtype) if value > _INT64_MAX:
                # Readers take no integer of 64 bits without a sign.
                return f'T.reinterpret("{dtype}", T.int64({value - 2**64}))', _ATOM
            case IntImm(value, dtype):
                return f"T.{dtype}({value})", _ATOM
            case FloatImm(value, "float64") if _FLOAT32_MAX < abs(value) < math.inf:
                # Readers take a literal for a float32 before they look at the dtype that is asked for.
                (pattern,) = struct.unpack("<q", struct.pack("<d", value))
                return f'T.reinterpret("float64", T.int64({pattern}))', _ATOM
            case FloatImm(value, dtype):
                return f"T.{dtype}({float_literal(value)})", _ATOM
            case StringImm(value):
                return string_literal(value), _ATOM
            case Var(name):
                found = self.scope.name(expr)
                if found is None:
                    raise TIRError(f"the variable {name} is used where it is not defined")
                return found, _ATOM
            case Binary(op, a, b) if op in _RELATIONS and a.dtype == "bool":
                # TVM's LLVM backend compares bools as if they were floats, and fails.
                return self.bare(Binary(op, Cast("uint8", a), Cast("uint8", b)))
            case Binary(op, a, b) if op in _OPERATORS:
                level = _OPERATORS[op]
                left = level + 1 if op in _RELATIONS else level
                # A number on the left of a relation would change sides.
                first = self.expr(a, left) if op in _RELATIONS else self.operand(a, b, left)
                return f"{first} {op} {self.operand(b, a, level + 1)}", level
            case Binary(op, a, b):
                return f"T.{op}({self.operand(a, b)}, {self.operand(b, a)})", _ATOM
            case Not(a):
                return f"not {self.expr(a, _NOT)}", _NOT
            case Cast(dtype, value):
                return f'T.Cast("{dtype}", {self.expr(value)})', _ATOM
            case Select(condition, then, otherwise):
                return f"T.Select({self.expr(condition)}, {self.expr(then)}, {self.expr(otherwise)})", _ATOM
            case BufferLoad(buffer, indices):
                return f"{self.buffer(buffer)}[{self.indices(indices)}]", _ATOM
            case Call(name, args, dtype):
                return self.call(name, args, dtype), _ATOM
        raise UnsupportedError(f"TVMScript cannot say {expr!r} in a tensor program")

    def operand(self, expr: PrimExpr, other: PrimExpr, level: int = 0) -> str:
        """Return the text of an operand, beside which a number has the dtype of ``other``."""
        return self.expr(expr, level) if isinstance(other, IntImm) else self.count(expr, level)

    def count(self, expr: PrimExpr, level: int = 0) -> str:
        """Return the text of ``expr`` where readers take a number as it stands for an int32."""
        if isinstance(expr, IntImm) and expr.dtype == "int32" and expr.value >= 0:
            return str(expr.value)
        return self.expr(expr, level)

    def call(self, name: str, args: Sequence[PrimExpr], dtype: str) -> str:
        texts = [self.expr(arg) for arg in args]
        if name in _TYPED_CALLS:
            return f"T.{name}({', '.join([string_literal(dtype), *texts])})"
        match name, args:
            case "address_of", (BufferLoad(buffer, indices),) if all(i == IntImm(0, "int64") for i in indices):
                return f"{self.buffer(buffer)}.data"
        if name in _RUNTIME_CALLS:
            return f"T.{name}({', '.join(texts)})"
        if name in self.dialect.missing or name not in INTRINSICS:
            raise UnsupportedError(f"TVMScript has no intrinsic {name!r}")
        spelled = self.dialect.intrinsics.get(name, name)
        return f"T.{spelled}({', '.join(texts)})"

    def indices(self, indices: Sequence[PrimExpr]) -> str:
        return ", ".join(map(self.count, indices)) if indices else "()"

    def buffer(self, buffer: Buffer) -> str:
        found = self.scope.name(buffer)
        if found is None:
            raise TIRError(f"the buffer {buffer.name} is used where it is not declared")
        return found

    def region(self, region: BufferRegion) -> str:
        parts = []
        for one in region.region:
            begin = self.expr(one.begin)
            if one.extent == IntImm(1):
                parts.append(begin)
            else:
                parts.append(f"{begin}:{self.expr(one.begin + one.extent)}")
        return f"{self.buffer(region.buffer)}[{', '.join(parts) if parts else '()'}]"

    def shape(self, shape: Sequence[PrimExpr]) -> str:
        texts = [self.count(extent) for extent in shape]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"

    def typed(self, buffer: Buffer) -> str:
        scope = "" if buffer.scope == "global" else f", scope={string_literal(buffer.scope)}"
        return f"{self.shape(buffer.shape)}, {string_literal(buffer.dtype)}{scope}"

    def attribute(self, value: Any) -> str:
        match value:
            case bool():
                return self.dialect.true if value else self.dialect.false
            case int():
                return str(value)
            case float():
                return f"T.float64({float_literal(value)})"
            case str():
                return string_literal(value)
            case PrimExpr():
                return self.expr(value)
            case Mapping():
                return f"{{{', '.join(f'{string_literal(k)}: {self.attribute(v)}' for k, v in value.items())}}}"
            case list() | tuple():
                return f"[{', '.join(self.attribute(v) for v in value)}]"
        raise UnsupportedError(f"TVMScript cannot say the attribute value {value!r}")

    # Statements.

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case BufferStore(buffer, indices, value):
                self.line(f"{self.buffer(buffer)}[{self.indices(indices)}] = {self.expr(value)}")
            case Seq(stmts):
                for one in stmts:
                    self.stmt(one)
            case For():
                self.loop(stmt)
            case If(condition, then, otherwise):
                self.line(f"if {self.expr(condition)}:")
                self.body(then)
                if otherwise is not None:
                    self.line("else:")
                    self.body(otherwise)
            case Let(var, value, body):
                text = self.expr(value)
                name = self.scope.define(var, var.name)
                self.line(self.dialect.let.format(name=name, dtype=var.dtype, value=text))
                self.stmt(body)
            case While(condition, body):
                self.line(f"while {self.expr(condition)}:")
                self.body(body)
            case Evaluate(value):
                self.line(f"T.evaluate({self.expr(value)})")
            case Allocate(buffer, body, of):
                text = self.typed(buffer)
                made = f"{self.dialect.memory}({text})"
                if of is not None:
                    made = f"T.decl_buffer({text}, data={self.buffer(of)}.data)"
                self.line(f"{self.scope.define(buffer, buffer.name)} = {made}")
                self.stmt(body)
            case BlockRealize():
                self.block(stmt)

    def loop(self, loop: For) -> None:
        """Write ``loop``; plain serial loops that are nested without anything between them share one line."""
        nest = [loop]
        inner = loop.body
        while _plain(loop) and isinstance(inner, For) and _plain(inner):
            if any(var in {outer.var for outer in nest} for var in variables(inner.extent)):
                break
            nest.append(inner)
            inner = inner.body
        extents = [self.count(one.extent) for one in nest]
        self.scope.enter()
        names = [self.scope.define(one.var, one.var.name) for one in nest]
        self.loops.update((one.var, one.extent) for one in nest)
        if len(nest) > 1 or (_plain(loop) and not isinstance(loop.extent, (IntImm, Var))):
            # TVM's reader simplifies the extent of `range`, and takes those of T.grid as they are.
            kind = f"T.grid({', '.join(extents)})"
        elif _plain(loop):
            kind = f"range({extents[0]})"
        else:
            notes = f", annotations={self.attribute(loop.annotations)}" if loop.annotations else ""
            kind = f"T.{loop.kind.value}({extents[0]}{notes})"
        self.line(f"for {', '.join(names)} in {kind}:")
        self.body(inner)
        self.scope.leave()

    def block(self, realize: BlockRealize) -> None:
        block = realize.block
        self.line(f"with {self.dialect.block}({string_literal(block.name)}):")
        self.depth += 1
        self.scope.enter()
        self.axes(realize)
        if realize.predicate is not None:
            self.line(f"T.where({self.expr(realize.predicate)})")
        self.line(f"T.reads({', '.join(self.region(r) for r in block.reads)})")
        self.line(f"T.writes({', '.join(self.region(r) for r in block.writes)})")
        if block.annotations:
            self.line(f"{self.dialect.block_attributes}({self.attribute(block.annotations)})")
        self.owned(block.alloc_buffers)
        if block.init is not None:
            self.line("with T.init():")
            self.body(block.init)
        self.stmt(block.body)
        self.scope.leave()
        self.depth -= 1

    def axes(self, realize: BlockRealize) -> None:
        axes = realize.block.iter_vars
        values = realize.values
        direct = all(
            isinstance(value, Var) and self.loops.get(value) == axis.extent
            for value, axis in zip(values, axes, strict=True)
        )
        texts = [self.expr(value) for value in values]
        extents = [self.expr(axis.extent) for axis in axes]
        names = [self.scope.define(axis.var, axis.var.name) for axis in axes]
        if axes and direct:
            kinds = "".join(axis.kind.value for axis in axes)
            self.line(f'{", ".join(names)} = T.axis.remap("{kinds}", [{", ".join(texts)}])')
            return
        for axis, name, extent, text in zip(axes, names, extents, texts, strict=True):
            kind = "spatial" if axis.kind is IterKind.SPATIAL else "reduce"
            self.line(f"{name} = T.axis.{kind}({extent}, {text})")

    def owned(self, buffers: Sequence[Buffer]) -> None:
        for buffer in buffers:
            text = self.typed(buffer)
            self.line(f"{self.scope.define(buffer, buffer.name)} = {self.dialect.block_buffer}({text})")

    def func(self, func: PrimFunc, name: str) -> None:
        options = ["private=True"] if func.private else []
        options += [self.dialect.decorator] if self.dialect.decorator else []
        self.line(f"@T.prim_func({', '.join(options)})" if options else "@T.prim_func")
        self.scope.enter()
        params: list[str] = []
        bound: list[tuple[str, Buffer]] = []
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is None:
                params.append(f"{self.scope.define(param, param.name)}: T.{param.dtype}")
            elif not shape_variables([buffer]) and buffer.scope == "global":
                params.append(f"{self.scope.define(buffer, buffer.name)}: T.Buffer({self.typed(buffer)})")
            else:
                handle = self.scope.define(param, param.name)
                params.append(f"{handle}: T.handle")
                bound.append((handle, buffer))
        self.line(f"def {name}({', '.join(params)}):")
        self.depth += 1
        self.line(f"T.func_attr({self.attribute({self.dialect.no_alias: True, **func.attrs})})")
        for var in shape_variables(func.buffers):
            if self.scope.name(var) is None:
                self.line(f"{self.scope.define(var, var.name)} = T.{var.dtype}()")
        # The names first: an extent may be written with a variable, never with a buffer.
        for handle, buffer in bound:
            text = self.typed(buffer)
            self.line(f"{self.scope.define(buffer, buffer.name)} = T.match_buffer({handle}, {text})")
        self.owned(func.root_buffers)
        before = len(self.lines)
        self.stmt(_in_block(func))
        if len(self.lines) == before:
            self.line("T.evaluate(0)")
        self.depth -= 1
        self.scope.leave()


def _in_block(func: PrimFunc) -> Stmt:
    """Return the body of ``func``; statements without any block get one around them, without which TVM cannot go on."""
    plain = any(isinstance(node, (For, BufferStore)) for node in statements(func.body))
    if not plain or func.root_buffers or any(isinstance(node, BlockRealize) for node in statements(func.body)):
        return func.body
    first = len(func.buffers) - func.num_outputs
    reads, writes = (tuple(map(whole, part)) for part in (func.buffers[:first], func.buffers[first:]))
    return BlockRealize((), Block("root", (), reads, writes, func.body))


def _plain(loop: For) -> bool:
    return loop.kind is LoopKind.SERIAL and not loop.annotations


def print_prim_func(func: PrimFunc, name: str | None = None, dialect: str = "tvm", indent: int = 0) -> list[str]:
    """Return the lines of one ``@T.prim_func``, ``indent`` steps deep.

    Names become Python identifiers, unique where they are seen. Raises UnsupportedError for what the dialect
    has no words for, and TIRError for a variable or buffer that nothing defines.
    """
    if dialect not in DIALECTS:
        raise UnsupportedError(f"unknown TVMScript dialect {dialect!r}; there are {', '.join(DIALECTS)}")
    printer = _Printer(DIALECTS[dialect])
    printer.depth = indent
    printer.func(func, identifier(name or func.name))
    return printer.lines
