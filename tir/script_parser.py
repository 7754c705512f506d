"""PrimFuncs out of TVMScript: signature, buffers and attributes; ``script_stmt.py`` reads the body.

    func = read_prim_func(source, node)         # node: the function's syntax tree

All of ``T.Buffer(…)``, ``T.Buffer[…]``, ``T.handle`` with ``T.match_buffer``, and scalars are read. What the script
leaves out is found: ``T.reads`` and ``T.writes`` from the statements, the outputs as the last buffers that are written.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from relay2relax.core.script_source import Poison, ScriptProblem, ScriptSource
from relay2relax.tir.arith import simplify
from relay2relax.tir.expr import Buffer, IntImm, PrimExpr, Var, binary, cast
from relay2relax.tir.printer import DIALECTS
from relay2relax.tir.script_expr import is_dtype
from relay2relax.tir.script_stmt import StatementReader
from relay2relax.tir.stmt import BufferStore, PrimFunc
from relay2relax.tir.visit import statements

_NO_ALIAS = frozenset(dialect.no_alias for dialect in DIALECTS.values())
_BUFFER_ARGUMENTS = (
    "shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor", "buffer_type",
    "axis_separators",
)  # fmt: skip


def is_prim_func(source: ScriptSource, node: ast.FunctionDef) -> bool:
    """Whether ``node`` is decorated as a PrimFunc."""
    return any(_decorator(source, one) == "T.prim_func" for one in node.decorator_list)


def _decorator(source: ScriptSource, node: ast.expr) -> str | None:
    return source.dotted(node.func if isinstance(node, ast.Call) else node)


def read_prim_func(source: ScriptSource, node: ast.FunctionDef) -> PrimFunc | None:
    """Return the PrimFunc that ``node`` defines; None where mistakes, put into ``source.problems``, prevent that."""
    before = len(source.problems)
    reader = _PrimFuncReader(source, node)
    func: PrimFunc | None = None
    try:
        func = reader.read()
    except ScriptProblem as problem:
        source.put_down(problem)
    return func if len(source.problems) == before else None


class _PrimFuncReader(StatementReader):
    """One function."""

    def __init__(self, source: ScriptSource, node: ast.FunctionDef) -> None:
        super().__init__(source, node)
        self.node = node
        self.params: list[Var] = []
        self.buffer_map: dict[Var, Buffer] = {}
        self.matched: set[Var] = set()
        self.attrs: dict[str, Any] = {}

    def read(self) -> PrimFunc:
        arguments = self.node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            raise self.source.problem(self.node, "a PrimFunc has plain parameters only", "expected name: type")
        for argument in arguments.args:
            name = self.source.dotted(argument.annotation) if argument.annotation is not None else None
            if name is not None and name.startswith("T.") and is_dtype(name[2:]):
                self.symbol_dtypes[argument.arg] = name[2:]
        for argument in arguments.args:
            before = len(self.source.problems)
            self.checked(partial(self.parameter, argument))
            if len(self.source.problems) > before:
                self.define(argument.arg, Poison())
        body = self.statements(self.node.body)
        for param, argument in zip(self.params, arguments.args, strict=False):
            if param.dtype == "handle" and param not in self.buffer_map and param not in self.matched:
                problem = self.source.problem(argument, f"nothing says which buffer `{argument.arg}` is",
                                              "expected T.match_buffer of it in the body")  # fmt: skip
                self.source.put_down(problem)
        attrs = {name: value for name, value in self.attrs.items() if name not in _NO_ALIAS}
        if attrs.get("global_symbol") == self.node.name:
            del attrs["global_symbol"]
        func = PrimFunc(
            self.node.name, tuple(self.params), self.buffer_map, body, tuple(self.root_buffers), attrs=attrs,
            private=self.is_private(),
        )  # fmt: skip
        return replace(func, num_outputs=written_outputs(func))

    def is_private(self) -> bool:
        private = False
        for decorator in self.node.decorator_list:
            if isinstance(decorator, ast.Call):
                options = ("private", "check_well_formed", "s_tir", "is_stir")
                for keyword in decorator.keywords:
                    if keyword.arg not in options:
                        raise self.source.problem(keyword, f"`T.prim_func` has no option `{keyword.arg}`",
                                                  f"expected {', '.join(options)}")  # fmt: skip
                    if keyword.arg == "private":
                        private = bool(self.source.literal(keyword.value))
        return private

    def parameter(self, argument: ast.arg) -> None:
        annotation = argument.annotation and self.source.quoted(argument.annotation, "type of a parameter")
        if annotation is None:
            raise self.source.problem(argument, f"the parameter `{argument.arg}` has no type",
                                      "expected T.Buffer(…), T.handle or a scalar type")  # fmt: skip
        called = annotation.func if isinstance(annotation, ast.Call) else annotation
        if isinstance(annotation, ast.Subscript):
            called = annotation.value
        name = self.source.dotted(called) or ""
        if name in ("T.Buffer", "Buffer"):
            var = Var(f"{argument.arg}_handle", "handle")
            self.buffer_map[var] = self.buffer_of(argument.arg, annotation, signature=True)
            self.params.append(var)
            self.define(argument.arg, self.buffer_map[var])
            return
        short = name.removeprefix("T.")
        if not name.startswith("T.") or not is_dtype(short):
            raise self.source.problem(annotation, "this is no type of a parameter",
                                      "expected T.Buffer(…), T.handle or a scalar type")  # fmt: skip
        known = self.lookup(argument.arg)
        # An extent of a buffer before it may have named it.
        dtype = "bool" if short == "boolean" else short
        var = known if isinstance(known, Var) and known.dtype == dtype else Var(argument.arg, dtype)
        self.params.append(var)
        self.define(argument.arg, var)

    # Buffers.

    def buffer_of(self, name: str, node: ast.expr, signature: bool = False, skip: int = 0) -> Buffer:
        """Return the buffer that ``T.Buffer(…)``, ``T.match_buffer(…)`` or an allocation describes."""
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            given = dict(zip(_BUFFER_ARGUMENTS, parts, strict=False))
            if len(parts) == 1 or not isinstance(parts[-1], ast.Constant) or not isinstance(parts[-1].value, str):
                given = {"shape": node.slice}
        else:
            if not isinstance(node, ast.Call):
                raise self.source.problem(node, f"the buffer `{name}` has no shape", "expected T.Buffer((…), dtype)")
            plain = ast.copy_location(ast.Call(node.func, node.args[skip:], node.keywords), node)
            given = self.source.arguments(plain, _BUFFER_ARGUMENTS)
        if "shape" not in given:
            raise self.source.problem(node, f"the buffer `{name}` has no shape", "expected a shape")
        shape = given["shape"]
        parts = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]
        extents = tuple(self.extent(part, signature) for part in parts)
        for refused in ("strides", "elem_offset", "axis_separators", "data"):
            value = given.get(refused)
            if refused == "data" and self.source.called(node) == "T.decl_buffer":
                continue
            if value is None or _is_nothing(value) or self.is_free(value):
                continue
            if refused != "strides" or not self.is_dense(value, extents):
                raise self.source.problem(value, f"a buffer with `{refused}` has no form here",
                                          "buffers are dense and row-major")  # fmt: skip
        dtype = self.exprs.dtype(given["dtype"]) if "dtype" in given else "float32"
        scope = self.source.string(given["scope"], "a scope") if "scope" in given else "global"
        return Buffer(name, extents, dtype, scope or "global")

    def is_free(self, node: ast.expr) -> bool:
        """Whether ``node`` consists of names that nothing else refers to: an offset or strides left to the caller."""
        parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        parts = [part for part in parts if not self.is_nameless(part)]
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        # In a signature they are quoted.
        names += [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        used = [one.id for one in ast.walk(self.node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
        return len(names) == len(parts) and all(used.count(name) <= names.count(name) for name in names)

    def is_nameless(self, node: ast.expr) -> bool:
        """Whether ``node`` is ``T.int32()`` or its like: a scalar that nothing can refer to."""
        called = self.source.called(node) or ""
        return isinstance(node, ast.Call) and not node.args and called.startswith("T.") and is_dtype(called[2:])

    def is_dense(self, node: ast.expr, shape: Sequence[PrimExpr]) -> bool:
        """Whether ``node`` says the strides that a row-major buffer of ``shape`` has."""
        parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        step: PrimExpr = IntImm(1, "int64")
        for part, extent in zip(reversed(parts), reversed(shape), strict=False):
            if simplify(cast("int64", self.exprs.expr(part))) != step:
                return False
            step = simplify(binary("*", step, cast("int64", extent)))
        return len(parts) == len(shape)

    def extent(self, node: ast.expr, signature: bool) -> PrimExpr:
        """Return an extent of a buffer; in a signature, names not met before are dimensions."""
        if signature:
            node = self.source.quoted(node, "extent")
            for one in ast.walk(node):
                if isinstance(one, ast.Name) and self.lookup(one.id) is None and one.id not in self.source.aliases:
                    self.define(one.id, Var(one.id, self.symbol_dtypes.get(one.id, "int64")))
        return self.exprs.expr(node)

    # What only a function says.

    def declaration(self, name: str, node: ast.Call, called: str, target: ast.expr) -> bool:
        if called == "T.match_buffer":
            handle = self.lookup(node.args[0].id) if node.args and isinstance(node.args[0], ast.Name) else None
            if not isinstance(handle, Var) or handle not in self.params or handle.dtype != "handle":
                raise self.source.problem(node, "T.match_buffer is of a parameter of type T.handle",
                                          "expected the name of one first")  # fmt: skip
            if handle in self.matched:
                raise self.source.problem(node, f"`{handle.name}` has a buffer already", "matched twice")
            self.matched.add(handle)
            self.buffer_map[handle] = self.buffer_of(name, node, skip=1)
            self.define(name, self.buffer_map[handle])
            return True
        short = called.removeprefix("T.")
        if not node.args and called.startswith("T.") and is_dtype(short):
            if not isinstance(self.lookup(name), Var):
                self.define(name, Var(name, short))
            return True
        return False

    def function_attributes(self, node: ast.Call) -> None:
        if len(node.args) != 1 or not isinstance(node.args[0], ast.Dict):
            raise self.source.problem(node, "T.func_attr takes a dictionary", "expected one dictionary")
        self.attrs.update(self.attributes(node.args[0]))


def _is_nothing(node: ast.expr) -> bool:
    match node:
        case ast.Constant(None | 0) | ast.List([]) | ast.Tuple([]):
            return True
    return False


def written_outputs(func: PrimFunc) -> int:
    """Return how many of the last parameters of ``func`` are buffers that its body writes."""
    written = {stmt.buffer for stmt in statements(func.body) if isinstance(stmt, BufferStore)}
    count = 0
    for param in reversed(func.params):
        if func.buffer_map.get(param) not in written:
            break
        count += 1
    return count
