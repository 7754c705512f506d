"""PrimFuncs out of TVMScript: signature, buffers and attributes; ``script_stmt.py`` reads the body.

    func = read_prim_func(source, node)         # node: the function's syntax tree

All of ``T.Buffer(…)``, ``T.Buffer[…]``, ``T.handle`` with ``T.match_buffer``, and scalars are read.
What the script leaves out is found: ``T.reads`` and ``T.writes`` from the statements, the outputs
as the last buffers that are written.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial
from typing import Any

from relay2relax.core.script_source import Poison, ScriptProblem, ScriptSource
from relay2relax.tir.ir.expr import Buffer, IntImm, Pointer, Var
from relay2relax.tir.ir.stmt import NO_ALIAS, BlockRealize, Evaluate, PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import statements, written_buffers
from relay2relax.tir.script.buffer import pointer_type
from relay2relax.tir.script.expr import is_dtype
from relay2relax.tir.script.expr_printer import DIALECTS
from relay2relax.tir.script.stmt import StatementReader

_OPTIONS = ("private", "check_well_formed", "s_tir", "is_stir")
_ATTRIBUTES, _CLASSIC_ATTRIBUTES = (DIALECTS[name].attributes for name in ("tvm", "tvm-0.18"))


def is_prim_func(source: ScriptSource, node: ast.FunctionDef) -> bool:
    """Whether ``node`` is decorated as a PrimFunc."""
    return any(_decorator(source, one) == "T.prim_func" for one in node.decorator_list)


def _decorator(source: ScriptSource, node: ast.expr) -> str | None:
    return source.dotted(node.func if isinstance(node, ast.Call) else node)


def read_prim_func(source: ScriptSource, node: ast.FunctionDef) -> PrimFunc | None:
    """Return the PrimFunc that ``node`` defines.

    None where mistakes, put into ``source.problems``, prevent that.
    """
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
        arguments = self.source.plain_parameters(self.node, "a PrimFunc")
        for argument in arguments:
            name = self.source.dotted(argument.annotation) if argument.annotation is not None else None
            if name is not None and name.startswith("T.") and is_dtype(name[2:]):
                self.symbol_dtypes[argument.arg] = name[2:]
        for argument in arguments:
            before = len(self.source.problems)
            self.checked(partial(self.parameter, argument))
            if len(self.source.problems) > before:
                self.define(argument.arg, Poison())
        body = self.statements(self.node.body)
        if _is_nothing(body):
            body = Seq(())
        attrs = {name: value for name, value in self.attrs.items() if name != NO_ALIAS}
        if attrs.get("global_symbol") == self.node.name:
            del attrs["global_symbol"]
        func = PrimFunc(
            self.node.name, tuple(self.params), self.buffer_map, body, tuple(self.root_buffers), attrs=attrs,
            private=self.option("private"),
            checked=self.option("check_well_formed", True), result=self.result(), scheduled=self.is_scheduled(body),
            rooted=self.rooted,
            no_alias=bool(self.attrs.get(NO_ALIAS)), root_annotations=self.root_annotations,
        )  # fmt: skip
        return replace(func, num_outputs=written_outputs(func))

    def result(self) -> str:
        """Return the dtype of what the function returns."""
        node = self.node.returns
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return "void"
        name = self.source.dotted(node) or self.source.called(node) or ""
        if not name.startswith("T.") or not is_dtype(name[2:]):
            raise self.source.problem(node, "this is no type of a result", "expected a scalar type")
        return name[2:]

    def is_scheduled(self, body: Stmt) -> bool:
        """Whether the program is one of blocks; classic scripts do not say so."""
        given = [self.option(name) for name in ("s_tir", "is_stir")]
        return any(given) or self.source.classic or any(isinstance(one, BlockRealize) for one in statements(body))

    def option(self, name: str, found: bool = False) -> bool:
        """Return what the decorator says under ``name``, ``found`` where it says nothing."""
        return self.source.options(self.node, "T.prim_func", _OPTIONS).get(name, found)

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
        pointer = pointer_type(self, annotation)
        if pointer is not None:
            var = Pointer(argument.arg, "handle", *pointer)
            self.params.append(var)
            self.define(argument.arg, var)
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
        symbol = self.symbol(name, node)
        if symbol is not None:
            if not isinstance(self.lookup(name), Var):
                self.define(name, symbol)
            return True
        return False

    def function_attributes(self, node: ast.Call) -> None:
        found: dict[str, Any] = {}
        for name, value in self.noted(node, "T.func_attr").items():
            # Classic scripts call by other names what is kept under the names of today.
            own = name.replace(_CLASSIC_ATTRIBUTES, _ATTRIBUTES, 1) if name.startswith(_CLASSIC_ATTRIBUTES) else name
            found[own if self.source.classic else name] = value
        self.source.once(self.attrs, found, node)


def _is_nothing(body: Stmt) -> bool:
    """Whether ``body`` is what stands for no statement at all."""
    return isinstance(body, Evaluate) and body.value == IntImm(0, "int32")


def written_outputs(func: PrimFunc) -> int:
    """Return how many of the last parameters of ``func`` are buffers that its body writes."""
    written = written_buffers(func.body)
    count = 0
    for param in reversed(func.params):
        if func.buffer_map.get(param) not in written:
            break
        count += 1
    return count
