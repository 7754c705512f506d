"""Buffers out of TVMScript: what ``T.Buffer``, ``T.match_buffer``, ``T.allocate`` and their like
say of memory.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from relay2relax.core import dtype as dt
from relay2relax.core.errors.table import script
from relay2relax.core.words import check_scope
from relay2relax.tir.ir.expr import Buffer, IntImm, Pointer, PrimExpr, SizeVar, Var
from relay2relax.tir.ir.stmt import Allocate, BufferStore, Stmt
from relay2relax.tir.script.attributes import AttributeReader
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.expr import ExpressionReader
from relay2relax.tir.script.scope import Frames, Item, Local, Memory, Opened, ProgramNames
from relay2relax.tir.script.types import declared_dtype, pointer_type, read_dtype

_ARGUMENTS = (
    "shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor", "buffer_type",
    "axis_separators", "layout",
)  # fmt: skip
# What they say by default, which is not kept.
_DEFAULTS: dict[str, tuple[object, ...]] = {
    "align": (64, -1, 0), "offset_factor": (0,), "buffer_type": ("", "default"), "axis_separators": ([],), "layout": (),
}  # fmt: skip
# The scope of what they allocate, where the name alone says it.
_ALLOCATIONS = {
    "T.alloc_buffer": "", "T.decl_buffer": "", "T.alloc_local": "local", "T.alloc_shared": "shared", "T.Buffer": "",
    "T.buffer_decl": "",
}  # fmt: skip
# One element, whose name stands for its value.
_SCALARS = {
    "T.alloc_scalar": "", "T.local_scalar": "local", "T.shared_scalar": "shared", "T.decl_scalar": "",
}  # fmt: skip
_ALLOCATES = frozenset({"T.allocate", "T.allocate_const"})
BLOCK_BUFFERS = frozenset({"T.sblock_alloc_buffer"})


def is_memory(called: str) -> bool:
    """Whether ``called`` makes a buffer, or the memory of one."""
    return called in _ALLOCATIONS or called in _SCALARS or called in _ALLOCATES


class BufferReader:
    """Reads buffers and the statements that make them."""

    def __init__(
        self,
        context: ReadContext,
        names: ProgramNames,
        exprs: ExpressionReader,
        attributes: AttributeReader,
        frames: Frames,
    ) -> None:
        self.source = context.source
        self.dialect = context.dialect
        self.scopes = context.scopes
        self.names = names
        self.exprs = exprs
        self.attributes = attributes
        self.frames = frames

    def buffer_of(self, name: str, node: ast.expr, signature: bool = False, skip: int = 0) -> Buffer:
        """Return the buffer that ``T.Buffer(…)``, ``T.match_buffer(…)`` or an allocation describes.

        In a ``signature``, names not met before are dimensions; ``skip`` arguments come before the
        shape.
        """
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            given = dict(zip(_ARGUMENTS, parts, strict=False))
            if len(parts) == 1 or not isinstance(parts[-1], ast.Constant) or not isinstance(parts[-1].value, str):
                given = {"shape": node.slice}
        else:
            if not isinstance(node, ast.Call):
                raise self.source.problem(
                    node, f"`{name}` is not annotated as a buffer", "expected T.Buffer((…), dtype)"
                )
            plain = ast.copy_location(ast.Call(node.func, node.args[skip:], _without(node, "annotations")), node)
            given = self.source.arguments(plain, _ARGUMENTS)
        if "shape" not in given:
            raise self.source.problem(node, f"the buffer `{name}` has no shape", "expected a shape")
        extents = tuple(self.extent(part, signature) for part in _parts(given["shape"]))
        if any(isinstance(extent, IntImm) and extent.value < 0 for extent in extents):
            raise self.source.problem(
                given["shape"], f"the buffer `{name}` has a negative extent", "expected 0 or more"
            )
        dtype = read_dtype(self.source, given["dtype"]) if "dtype" in given else "float32"
        scope = self.source.word(given["scope"], "a scope", check_scope) if "scope" in given else "global"
        strides = _parts(given["strides"]) if "strides" in given else []
        notes = self.notes(given)
        offset: PrimExpr | None = None
        if "elem_offset" in given and not _is_none(given["elem_offset"]):
            offset = self.place(given["elem_offset"])
        elif "offset_factor" in notes:
            offset = Var(f"{name}_elem_offset", "int32")
        steps = tuple(map(self.place, strides))
        return Buffer(name, extents, dtype, scope or "global", steps, offset, notes)

    def notes(self, given: dict[str, ast.expr]) -> dict[str, object]:
        """Return the arguments that say nothing of elements, but for those that stand for the
        default.
        """
        found: dict[str, object] = {}
        for name, defaults in _DEFAULTS.items():
            if name not in given or (_is_none(given[name]) and name != "layout"):
                continue
            value = self.source.literal(given[name]) if not _is_none(given[name]) else None
            if name == "layout" and value is not None:
                raise self.source.problem(given[name], "a buffer with a layout has no form here", "expected None")
            if value not in defaults:
                found[name] = value
        return found

    def place(self, node: ast.expr) -> PrimExpr:
        """Return a stride or an offset.

        A name in quotes, or met for the first time, is a variable of the buffer.
        """
        node = self.source.quoted(node, "stride")
        if isinstance(node, ast.Name) and self.scopes.find(node.id) is None:
            self.scopes.define(node.id, Var(node.id, self.names.dtypes.get(node.id, "int32")))
        dtype = declared_dtype(self.source, node)
        if dtype is not None:
            return Var("stride", dtype)
        return self.exprs.expr(node)

    def extent(self, node: ast.expr, signature: bool) -> PrimExpr:
        """Return an extent of a buffer; in a signature, names not met before are dimensions."""
        if signature:
            node = self.source.quoted(node, "extent")
            for one in ast.walk(node):
                if (
                    isinstance(one, ast.Name)
                    and self.scopes.lookup(one.id) is None
                    and one.id not in self.source.aliases
                ):
                    self.scopes.define(one.id, Var(one.id, self.names.dtypes.get(one.id, "int64")))
        return self.exprs.expr(node)

    def symbol(self, name: str, node: ast.Call) -> Var | None:
        """Return the variable that ``T.int32()``, ``T.handle("float32")`` … declares.

        None where it declares none.
        """
        found = pointer_type(self.source, node)
        if found is not None:
            return Pointer(name, "handle", *found)
        sized = [keyword for keyword in node.keywords if keyword.arg == "is_size_var"]
        dtype = declared_dtype(self.source, node)
        if dtype is None or len(sized) < len(node.keywords):
            return None
        kind = SizeVar if any(self.source.literal(keyword.value) for keyword in sized) else Var
        return kind(name, dtype)

    # Statements that make buffers.

    def memory(self, name: str, called: str, value: ast.Call) -> list[Item]:
        """Read an assignment that makes a buffer, or memory for buffers, which exists from here
        on.
        """
        if called in _ALLOCATES:
            buffer, around = self.allocation(name, called, value)
            self.scopes.define(name, Memory(buffer))
            return [Opened(around)]
        if called in _SCALARS:
            return [self.scalar_memory(name, called, value)]
        buffer = self.buffer_of(name, value)
        buffer = replace(buffer, scope=_ALLOCATIONS.get(called) or buffer.scope)
        self.scopes.define(name, buffer)
        if called in BLOCK_BUFFERS or (called == self.dialect.block_buffer):
            self.frames.current.buffers.append(buffer)
            return []
        return [Opened(self.allocate(buffer, called, value))]

    def allocate(self, buffer: Buffer, called: str, value: ast.Call) -> Callable[[Stmt], Stmt]:
        of = self.memory_of(value) if called != "T.alloc_buffer" else None
        return partial(_allocated, buffer, of, self.annotations(value))

    def annotations(self, value: ast.Call) -> dict[str, object]:
        for keyword in value.keywords:
            if keyword.arg == "annotations":
                if not isinstance(keyword.value, ast.Dict):
                    raise self.source.problem(
                        keyword, "annotations are a dictionary", "expected {…}", kind=script.STRUCT_INFO
                    )
                return self.attributes.attributes(keyword.value)
        return {}

    def allocation(self, name: str, called: str, value: ast.Call) -> tuple[Buffer, Callable[[Stmt], Stmt]]:
        """Return the memory of ``T.allocate`` or ``T.allocate_const`` as a buffer, and its
        statement.
        """
        constant = called == "T.allocate_const"
        names = ("data", "dtype", "extents") if constant else ("extents", "dtype", "scope", "condition")
        plain = ast.copy_location(ast.Call(value.func, value.args, _without(value, "annotations")), value)
        given = self.source.arguments(plain, names)
        self.source.require(value, given, "extents", "dtype")
        condition = given.get("condition")
        if condition is not None and self.exprs.value(condition) not in (True, 1, IntImm(1, "bool")):
            raise self.source.problem(condition, "memory on a condition has no form here", "expected True")
        shape = tuple(self.exprs.expr(part) for part in _parts(given["extents"]))
        scope = self.source.word(given["scope"], "a scope", check_scope) if "scope" in given else "global"
        buffer = Buffer(name, shape, read_dtype(self.source, given["dtype"]), scope or "global")
        values = None
        if constant:
            self.source.require(value, given, "data")
            values = self.source.literal(given["data"])
            count = 1
            for extent in shape:
                count *= extent.value if isinstance(extent, IntImm) else 0
            if not isinstance(values, list) or len(values) != count:
                raise self.source.problem(given["data"], f"this is not what {count} elements hold",
                                          f"expected a list of {count} numbers")  # fmt: skip
            values = tuple(values)
        return buffer, partial(_allocated, buffer, None, self.annotations(value), values=values)

    def scalar_memory(self, name: str, called: str, value: ast.Call) -> Item:
        given = self.source.arguments(value, ("dtype", "data", "scope", "elem_offset"))
        self.source.require(value, given, "dtype")
        said = self.source.word(given["scope"], "a scope", check_scope) if "scope" in given else "global"
        scope = _SCALARS[called] or said
        offset = self.exprs.expr(given["elem_offset"]) if "elem_offset" in given else None
        offset = None if isinstance(offset, IntImm) and offset.value == 0 else offset
        buffer = Buffer(name, (IntImm(1, "int32"),), read_dtype(self.source, given["dtype"]), scope, (), offset)
        self.scopes.define(name, Local(buffer))
        return Opened(partial(_allocated, buffer, self.memory_of(value), {}, scalar=True))

    def element(self, name: str, dtype: str, value: PrimExpr | None = None) -> list[Item]:
        """Define ``name`` as one element of memory, which holds ``value`` at first."""
        buffer = Buffer(name, (IntImm(1, "int32"),), dtype, "local")
        self.scopes.define(name, Local(buffer))
        made: list[Item] = [Opened(partial(_allocated, buffer, None, {}, scalar=True))]
        return made if value is None else [*made, BufferStore(buffer, (IntImm(0, "int32"),), value)]

    def view(self, name: str, of: Buffer, call: ast.Call) -> list[Item]:
        """``of.view(4, 4)``, ``of.view("int8")``: the same memory in another shape, or as elements
        of another dtype.
        """
        for keyword in call.keywords:
            if keyword.arg != "dtype" or read_dtype(self.source, keyword.value) != of.dtype:
                raise self.source.problem(keyword, "a view has another shape only", f"expected dtype {of.dtype}")
        shape, dtype = tuple(call.args), of.dtype
        if len(shape) == 1 and isinstance(shape[0], ast.Constant) and isinstance(shape[0].value, str):
            dtype = read_dtype(self.source, shape[0])
            last = of.shape[-1]
            if not isinstance(last, IntImm):
                raise self.source.problem(
                    call, "this memory cannot be seen as another dtype", "expected a fixed extent"
                )
            count = last.value * dt.bits(of.dtype) // dt.bits(dtype)
            extents: tuple[PrimExpr, ...] = (*of.shape[:-1], IntImm(count, last.dtype))
        else:
            extents = tuple(self.exprs.expr(one) for one in shape)
        buffer = Buffer(name, extents, dtype, of.scope, of.strides, of.offset, of.notes)
        self.scopes.define(name, buffer)
        return [Opened(partial(_allocated, buffer, of, {}))]

    def memory_of(self, value: ast.Call) -> Buffer | PrimExpr | None:
        """Return what ``data=`` says: the buffer ``X`` of ``X.data``, or an address.

        None for new memory.
        """
        data = next((one.value for one in value.keywords if one.arg == "data"), None)
        if data is None or _is_none(data):
            return None
        match data:
            case ast.Attribute(ast.Name(name), "data"):
                of = self.scopes.lookup(name)
                of = of.buffer if isinstance(of, Local) else of
            case ast.Name(name):
                of = self.scopes.lookup(name)
                of = of.buffer if isinstance(of, Memory) else of
                if isinstance(of, Buffer) and of is self.scopes.lookup(name):
                    of = None
            case ast.Call():
                of = self.exprs.expr(data)
            case _:
                of = None
        if not isinstance(of, Buffer) and not (isinstance(of, PrimExpr) and of.dtype == "handle"):
            raise self.source.problem(data, "this is no buffer's memory", "expected X.data of a buffer X")
        return of


def _allocated(
    buffer: Buffer,
    of: Buffer | PrimExpr | None,
    annotations: dict[str, object],
    body: Stmt,
    values: tuple[int | float, ...] | None = None,
    scalar: bool = False,
) -> Stmt:
    return Allocate(buffer, body, of, annotations, values, scalar)


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _without(call: ast.Call, name: str) -> list[ast.keyword]:
    return [keyword for keyword in call.keywords if keyword.arg != name]
