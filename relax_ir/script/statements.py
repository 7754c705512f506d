"""Statements of Relax functions out of TVMScript: bindings, calls, dataflow blocks.

A mistaken statement is put down with its place and its names are known as mistaken, so that reading
goes on and one mistake is reported once.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence, Set
from typing import TypeVar, cast

from relay2relax.core.errors.table import script
from relay2relax.core.script_source import Poison, ScriptProblem, statement_word, stored_names
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import Call, Expr, GlobalVar, PrimValue, Tuple, TupleGetItem, Var
from relay2relax.relax_ir.ir.struct_info import PrimStructInfo, StructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.text import print_struct_info
from relay2relax.relax_ir.script.branches import BranchReader, assigned_names, is_dataflow
from relay2relax.relax_ir.script.calls.arguments import Arguments
from relay2relax.relax_ir.script.calls.reader import PYTHON
from relay2relax.relax_ir.script.context import ModuleContext, ModuleName, Values
from relay2relax.relax_ir.script.types import TypeReader
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.expr import PrimExpr
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.types import declared_dtype

_Result = TypeVar("_Result")
# What may stand in a script besides namespaces and defined names.
_WORDS = frozenset(
    {"tvm", "metadata", "meta", "float", "range", "Tensor", "Shape", "Object", "Tuple", "Callable", "Prim"}
)


class StatementReader:
    """Reads statements; ``local_function`` reads functions among them."""

    def __init__(
        self,
        module: ModuleContext,
        context: ReadContext,
        types: TypeReader,
        arguments: Arguments,
        values: Values,
        local_function: Callable[[ast.FunctionDef], None],
    ) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.module = module
        self.types = types
        self.arguments = arguments
        self.bindings = arguments.bindings
        self.values = values
        self.local_function = local_function
        self.branches = BranchReader(context, types, arguments, values, self)
        # Names of empty tuples that are declared and not bound yet.
        self.voids: list[str] = []

    def checked(self, node: ast.stmt, read: Callable[[], _Result]) -> _Result | None:
        """Return what ``read`` returns.

        A mistake is put down, and the names that ``node`` assigns are known as mistaken.
        """
        try:
            return self.source.within_limits(node, read)
        except ScriptProblem as problem:
            self.source.put_down(problem)
            self.other_names(node)
            for name in stored_names(node):
                self.scopes.define(name, Poison())
            return None

    def other_names(self, node: ast.stmt) -> None:
        """Put down the names of a mistaken statement that nothing defines, lest one mistake hide
        another.
        """
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)):
            return
        own = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)} | set(stored_names(node))
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and not self.is_known(one.id, own):
                self.source.put_down(self.bindings.undefined(one, one.id))

    def is_known(self, name: str, own: Set[str]) -> bool:
        """Whether ``name`` is defined, or is Python's, or one of the statement's ``own``."""
        known = (self.module.globals, self.module.constants, self.source.aliases, _WORDS, PYTHON, own)
        return self.scopes.find(name) is not None or any(name in names for names in known)

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        self.checked(node, lambda: self.read(node))

    def read(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign([ast.Name(name)], value):
                self.assign(name, None, value, node)
            case ast.Assign([ast.Tuple(targets)], value):
                self.several(targets, value, node)
            case ast.AnnAssign(ast.Name(name), annotation, value) if value is not None:
                self.assign(name, self.types.annotation(annotation), value, node)
            case ast.Expr(ast.Constant(str())) | ast.Pass():
                pass
            case ast.AnnAssign(ast.Name(name), annotation, None) if self.is_void(annotation):
                self.voids.append(name)
            case ast.Expr(value):
                self.effect(value, node)
            case ast.With([ast.withitem(ast.Call() as call, name)], _) if self.source.called(call) == "R.dataflow" and (
                name is not None or call.args or call.keywords
            ):
                raise self.source.problem(name or call, "R.dataflow takes nothing and gives nothing",
                                          "expected with R.dataflow():", kind=script.ARGUMENTS)  # fmt: skip
            case ast.With([item], body) if is_dataflow(self.source, item):
                self.dataflow(item.context_expr, body)
            case ast.If():
                self.branches.branch(node)
            case ast.FunctionDef():
                self.local_function(node)
            case ast.AugAssign(target):
                raise self.source.problem(node, "a value cannot be changed in place", "expected name = value",
                                          help=f"bind a name anew: `{ast.unparse(target)} = …`")  # fmt: skip
            case ast.Assign([ast.Subscript() as target]):
                raise self.source.problem(target, "elements of a tensor cannot be assigned", "expected a name",
                                          help="call R.index_put or R.slice_scatter")  # fmt: skip
            case ast.Assign(targets) if len(targets) > 1:
                raise self.source.problem(node, f"{len(targets)} names for one value", "expected one name")
            case _:
                word = statement_word(node)
                raise self.source.problem(node, f"a function of Relax has no `{word}` statement of this form",
                                          "expected a binding, R.dataflow(), if or a local function")  # fmt: skip

    def is_void(self, annotation: ast.expr) -> bool:
        """Whether a name is declared to be the empty tuple.

        TVM prints ``R.tuple()`` without the name that it is bound to, and declares the name before,
        where it is used.
        """
        return self.types.kind(annotation) == "R.Tuple" and self.types.annotation(annotation) == TupleStructInfo(())

    def assign(self, name: str, info: StructInfo | None, value: ast.expr, node: ast.stmt) -> None:
        called = self.source.called(value)
        if isinstance(value, ast.Call) and called in ("I.meta_var", "T.meta_var") and len(value.args) == 1:
            self.scopes.define(name, self.types.exprs.value(value.args[0]))
            return
        if isinstance(value, ast.Call) and called is not None:
            dtype = declared_dtype(self.source, value)
            if dtype is not None:
                if not isinstance(self.scopes.find(name), tir.Var):
                    self.scopes.define(name, tir.Var(name, dtype))
                return
            if called == "R.match_cast":
                self.match_cast(name, value, info)
                return
        found = self.values.value(value)
        if isinstance(found, ModuleName):
            self.scopes.define(name, found)
            return
        if isinstance(found, tir.Var) and info is None and isinstance(value, ast.Name):
            self.scopes.define(name, found)
            return
        self.bindings.bind(name, self.as_value(found, info, value), value, info)

    def as_value(self, found: object, info: StructInfo | None, node: ast.expr) -> Expr:
        """Return what a name is bound to.

        A bare number is a tensor unless it is said to be a scalar.
        """
        if isinstance(found, (bool, int, float)):
            if isinstance(info, PrimStructInfo):
                return PrimValue(tir.const(found, info.dtype))
            dtype = {bool: "bool", int: "int32", float: "float32"}[type(found)]
            return self.arguments.numbers(found, dtype, node)
        if isinstance(found, PrimExpr):
            return PrimValue(found)
        if isinstance(found, (tuple, list, str)):
            return self.arguments.leaf(found, node)
        if isinstance(found, (StructInfo, ModuleName)) or found is None:
            raise self.source.problem(node, "this is no value", "expected an expression")
        if isinstance(found, GlobalVar):
            self.arguments.require(found, node)
        # What else there is, a dictionary, inference refuses.
        return cast("Expr", found)

    def several(self, targets: Sequence[ast.expr], value: ast.expr, node: ast.stmt) -> None:
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if len(names) != len(targets):
            raise self.source.problem(node, "several values are given to what has no names", "expected names")
        if isinstance(value, ast.Tuple) and len(value.elts) == len(names):
            for name, one in zip(names, value.elts, strict=True):
                self.assign(name, None, one, node)
            return
        source = self.values.argument(value)
        info = self.module.inference.of(source)
        if not isinstance(info, TupleStructInfo) or len(info.fields) != len(names):
            raise self.source.problem(value, f"this does not give {len(names)} values",
                                      f"this is {print_struct_info(info)}")  # fmt: skip
        for index, name in enumerate(names):
            self.bindings.bind(name, TupleGetItem(source, index), value)

    def match_cast(self, name: str, node: ast.Call, annotated: StructInfo | None) -> None:
        given = self.source.arguments(node, ("value", "struct_info", "ty"))
        claimed = given.get("struct_info", given.get("ty"))
        if "value" not in given or claimed is None:
            raise self.source.problem(
                node, "R.match_cast takes a value and struct info", "expected 2 arguments", kind=script.ARGUMENTS
            )
        value, info = self.values.argument(given["value"]), self.types.info(claimed)
        actual = self.module.inference.of(value)
        if self.module.checks and (reason := symbols.mismatch(info, actual)):
            raise self.source.problem(
                node, f"the cast cannot succeed: {reason}", f"cast is {print_struct_info(actual)}"
            )
        if self.module.checks and annotated is not None and (reason := symbols.mismatch(annotated, info)):
            raise self.source.problem(node, script.STRUCT_INFO.message(name=name, reason=reason),
                                      f"this is {print_struct_info(info)}", kind=script.STRUCT_INFO)  # fmt: skip
        self.scopes.define(name, self.bindings.cast(name, value, info, node))

    def effect(self, value: ast.expr, node: ast.stmt) -> None:
        called = self.source.called(value)
        if called is None:
            raise self.source.problem(value, "an expression alone does nothing", "expected a binding or a call")
        if called == "R.output":
            raise self.source.problem(
                value, "R.output is the last statement of a dataflow block", "not at the end of one"
            )
        found = self.values.value(value)
        # A tuple of nothing is bound to nothing as well.
        if not isinstance(found, Call) and not (called == "R.tuple" and isinstance(found, Tuple) and not found.fields):
            raise self.source.problem(value, "this has no effect", "expected a binding: name = …")
        if isinstance(found, Tuple) and self.voids:
            self.bindings.bind(self.voids.pop(0), found, value)
            return
        self.bindings.bind("_", found, value, seen=False)

    def dataflow(self, call: ast.expr, body: Sequence[ast.stmt]) -> None:
        if self.bindings.sequence.dataflow:
            raise self.source.problem(call, "this dataflow block begins inside of another one", "blocks do not nest")
        outputs: dict[str, ast.expr] = {}
        statements = list(body)
        last = statements[-1]
        if isinstance(last, ast.Expr) and self.source.called(last.value) == "R.output":
            assert isinstance(last.value, ast.Call)
            statements.pop()
            for arg in last.value.args:
                if not isinstance(arg, ast.Name):
                    raise self.source.problem(
                        arg, "R.output takes variables of the block", "expected a name", kind=script.ARGUMENTS
                    )
                outputs[arg.id] = arg
        counts = Counter(name for one in statements for name in assigned_names(one))
        self.bindings.sequence.close_block(True)
        counts.update(name for name in self.voids if name in outputs)
        self.bindings.sequence.outputs = Counter({name: counts[name] for name in outputs if counts[name]})
        try:
            with self.scopes.inner() as inner:
                self.statements(statements)
        finally:
            self.bindings.sequence.close_block(False)
        self.bindings.hidden.update(name for name, item in inner.items() if isinstance(item, Var))
        for name, arg in outputs.items():
            if name not in inner:
                problem = self.source.undefined(arg, name, inner, "variable")
                if self.scopes.find(name) is not None:
                    problem = self.source.problem(arg, f"`{name}` is no variable of the block", "bound outside of it")
                self.source.put_down(problem)
                inner[name] = Poison()
            self.scopes.define(name, inner[name])
        # Dimensions of a match_cast go on to be known.
        for name, item in inner.items():
            if isinstance(item, (tir.Var, ModuleName)):
                self.scopes.define(name, item)
