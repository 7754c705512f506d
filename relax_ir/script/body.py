"""Relax functions out of TVMScript: signature, bindings, dataflow blocks, branches, local
functions.

A mistaken statement is put down with its place and its names are known as mistaken, so that reading
goes on and one mistake is reported once.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.script_source import FollowsError, Poison, ScriptProblem, statement_word, stored_names
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    StructInfo,
    TupleStructInfo,
)
from relay2relax.relax_ir.ir.text import print_struct_info
from relay2relax.relax_ir.ir.visit import LEAVES, operands
from relay2relax.relax_ir.script.calls import PYTHON, ModuleName
from relay2relax.relax_ir.script.signature import Signature, SignatureReader
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.expr import PrimExpr
from relay2relax.tir.script.assignments import declared_dtype

# What may stand in a script besides namespaces and defined names.
_WORDS = frozenset(
    {"tvm", "metadata", "meta", "float", "range", "Tensor", "Shape", "Object", "Tuple", "Callable", "Prim"}
)


@dataclass(slots=True)
class _Sequence:
    """A sequence under construction.

    ``outputs`` says for the dataflow block which assignment is seen after it.
    """

    blocks: list[BindingBlock] = field(default_factory=list)
    pending: list[Binding | MatchCast] = field(default_factory=list)
    dataflow: bool = False
    outputs: Counter[str] = field(default_factory=Counter)

    def close_block(self, dataflow: bool) -> None:
        if self.pending or self.dataflow:
            self.blocks.append(BindingBlock(tuple(self.pending), self.dataflow))
            self.pending = []
        self.dataflow = dataflow


class FunctionReader(SignatureReader):
    """Reads one function of the module, and those inside it."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sequence: _Sequence = _Sequence()
        self.supply = NameSupply()
        # Names of dataflow blocks that are over.
        self.hidden: set[str] = set()
        # Whether what the text says of values is compared with what they are, as far as that is
        # known.
        self.checks = True
        # Names of empty tuples that are declared and not bound yet.
        self.voids: list[str] = []

    def undefined(self, node: ast.AST, name: str) -> ScriptProblem:
        if name in self.hidden:
            title = f"the variable `{name}` is seen in its dataflow block only"
            return self.source.problem(
                node, title, "not seen here", help=f"let the block output it: `R.output({name})`"
            )
        return self.source.undefined(node, name, [*self.names(), *self.globals], "variable")

    def body(self, node: ast.FunctionDef, signature: Signature) -> Function | None:
        """Read the body of ``node``; None where mistakes prevent that."""
        before = len(self.source.problems)
        self.scopes.append(signature.scope)
        outer, self.sequence = self.sequence, _Sequence()
        attrs: dict[str, Any] = {}
        result: Expr | None = None
        try:
            statements = self.return_outside(node.body)
            for index, statement in enumerate(statements):
                if isinstance(statement, ast.Return):
                    if index + 1 < len(statements):
                        problem = self.source.problem(
                            statements[index + 1], "nothing is done after return", "not reached"
                        )
                        self.source.put_down(problem)
                    result = self.returned(statement)
                    break
                if self.source.called(getattr(statement, "value", statement)) == "R.func_attr":
                    self.checked(statement, lambda s=statement: self.function_attributes(s.value, attrs))
                    continue
                self.statement(statement)
            else:
                problem = self.source.problem(
                    node, f"the function `{node.name}` returns nothing", "expected return at its end"
                )
                self.source.put_down(problem, self.source.head(node))
            self.sequence.close_block(False)
            blocks = tuple(self.sequence.blocks)
        finally:
            self.sequence = outer
            self.scopes.pop()
        if len(self.source.problems) > before or result is None:
            return None
        ret = signature.ret
        actual = self.inference.of(result)
        known = symbols.defined(param.info for param in signature.params) | self.outer_dimensions()
        if ret is None:
            ret = symbols.erase(actual, known)
        elif self.checks and (reason := symbols.mismatch(ret, actual)):
            place = node.returns or node
            problem = self.source.problem(
                place,
                f"`{node.name}` does not return what it says: {reason}",
                f"returned is {print_struct_info(actual)}",
            )
            self.source.put_down(problem)
            return None
        else:
            ret = _with_values(ret, symbols.erase(actual, known))
        if attrs.get("global_symbol") == node.name:
            del attrs["global_symbol"]
        return Function(signature.params, SeqExpr(blocks, result), ret, attrs, signature.pure, signature.private)

    def return_outside(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return ``nodes`` with a ``return`` that ends a dataflow block behind the block, which
        outputs its names.
        """
        match nodes[-1]:
            case ast.With([item], [*inner, ast.Return(value) as returned]) as block if self.is_dataflow(item) and inner:
                bound = {name for one in inner for name in _assigned_names(one)}
                names = [one for one in ast.walk(value or returned) if isinstance(one, ast.Name) and one.id in bound]
                output = ast.Expr(ast.Call(ast.parse("R.output", mode="eval").body, list(names), []))
                outside = ast.With([item], [*inner, ast.fix_missing_locations(ast.copy_location(output, returned))])
                return [*nodes[:-1], ast.copy_location(outside, block), returned]
        return list(nodes)

    def is_dataflow(self, item: ast.withitem) -> bool:
        return self.source.called(item.context_expr) == "R.dataflow"

    def outer_dimensions(self) -> set[tir.Var]:
        return {item for scope in self.scopes for item in scope.values() if isinstance(item, tir.Var)}

    def returned(self, node: ast.Return) -> Expr | None:
        if node.value is None:
            self.source.put_down(self.source.problem(node, "nothing is returned", "expected a value",
                                                     help="an empty tuple is `R.tuple()`"))  # fmt: skip
            return None
        found: list[Expr] = []
        value = node.value
        self.checked(node, lambda: found.append(self.argument(value)))
        return found[0] if found else None

    # Statements.

    def checked(self, node: ast.stmt, read: Any) -> None:
        """Call ``read``; put a mistake down, and let the names that ``node`` assigns be
        mistaken.
        """
        try:
            read()
        except ScriptProblem as problem:
            self.source.put_down(problem)
            self.other_names(node)
            for name in stored_names(node):
                self.define(name, Poison())

    def other_names(self, node: ast.stmt) -> None:
        """Put down the names of a mistaken statement that nothing defines, lest one mistake hide
        another.
        """
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)):
            return
        own = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)} | set(stored_names(node))
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and not self.is_known(one.id, own):
                self.source.put_down(self.undefined(one, one.id))

    def is_known(self, name: str, own: Set[str]) -> bool:
        """Whether ``name`` is defined, or is Python's, or one of the statement's ``own``."""
        known = (self.globals, self.constants, self.source.aliases, _WORDS, PYTHON, own)
        return self.find(name) is not None or any(name in names for names in known)

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
                self.assign(name, self.annotation(annotation), value, node)
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
                                          "expected with R.dataflow():")  # fmt: skip
            case ast.With([item], body) if self.is_dataflow(item):
                self.dataflow(item.context_expr, body)
            case ast.If():
                self.branch(node)
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
        return self.kind(annotation) == "R.Tuple" and self.annotation(annotation) == TupleStructInfo(())

    def assign(self, name: str, info: StructInfo | None, value: ast.expr, node: ast.stmt) -> None:
        called = self.source.called(value)
        if isinstance(value, ast.Call) and called in ("I.meta_var", "T.meta_var") and len(value.args) == 1:
            self.define(name, self.exprs.value(value.args[0]))
            return
        if isinstance(value, ast.Call) and called is not None:
            dtype = declared_dtype(self.source, value)
            if dtype is not None:
                if not isinstance(self.find(name), tir.Var):
                    self.define(name, tir.Var(name, dtype))
                return
            if called == "R.match_cast":
                self.match_cast(name, value, info)
                return
        found = self.value(value)
        if isinstance(found, ModuleName):
            self.define(name, found)
            return
        if isinstance(found, tir.Var) and info is None and isinstance(value, ast.Name):
            self.define(name, found)
            return
        self.bind(name, self.as_value(found, info, value), value, info)

    def as_value(self, found: Any, info: StructInfo | None, node: ast.expr) -> Expr:
        """Return what a name is bound to.

        A bare number is a tensor unless it is said to be a scalar.
        """
        if isinstance(found, (bool, int, float)):
            if isinstance(info, PrimStructInfo):
                return PrimValue(tir.const(found, info.dtype))
            dtype = {bool: "bool", int: "int32", float: "float32"}[type(found)]
            return self.numbers(found, dtype, node)
        if isinstance(found, PrimExpr):
            return PrimValue(found)
        if isinstance(found, (Call, TupleGetItem)) or not isinstance(found, (tuple, list, str)):
            if isinstance(found, (StructInfo, ModuleName)) or found is None:
                raise self.source.problem(node, "this is no value", "expected an expression")
            if isinstance(found, GlobalVar):
                self.require_function(found, node)
            assert not isinstance(found, (tuple, list))
            value: Expr = found
            return value
        return self.leaf(found, node)

    def bind(
        self, name: str, value: Expr, node: ast.AST, info: StructInfo | None = None, scope: dict[str, Any] | None = None
    ) -> Var:
        """Bind ``value`` to a new variable ``name``; raises ScriptProblem where it does not fit
        ``info``.
        """
        try:
            actual = self.inference.of(value)
        except Relay2RelaxError as error:
            first = error.diagnostics[0]
            given = first.label or self.given(value)
            raise self.source.problem(node, first.title, given, first.help, first.notes) from error
        if isinstance(actual, ObjectStructInfo) and isinstance(value, Call) and isinstance(value.op, ExternFunc):
            actual = self.packed_result(node) or actual
        if info is not None and self.checks and (reason := symbols.mismatch(info, actual)):
            raise self.source.problem(node, f"`{name}` is not what it is said to be: {reason}",
                                      f"this is {print_struct_info(actual)}")  # fmt: skip
        if info is not None and self.checks and symbols.needs_cast(info, actual):
            # TVM believes such an annotation; here the machine looks whether it is so.
            var = self.cast(name, self.bound(value, node), info, node)
            (scope if scope is not None else self.scopes[-1])[name] = var
            return var
        var = Var(name, actual if info is None else _with_values(info, actual), self.is_inner(name))
        self.places[var] = node
        self.sequence.pending.append(Binding(var, value))
        if isinstance(value, ExternFunc):
            self.externs[var] = value
        (scope if scope is not None else self.scopes[-1])[name] = var
        return var

    def given(self, value: Expr) -> str:
        """Say what the arguments of ``value`` are, for the mistake that they do not fit."""
        return "given " + ", ".join(print_struct_info(self.inference.of(one)) for one in operands(value))

    def is_inner(self, name: str) -> bool:
        """Whether a variable bound now is seen in its dataflow block only."""
        if not self.sequence.dataflow:
            return False
        if name not in self.sequence.outputs:
            return True
        self.sequence.outputs[name] -= 1
        return self.sequence.outputs[name] > 0

    def bound(self, value: Expr, node: ast.AST) -> Expr:
        name = self.supply.fresh("lv" if self.sequence.dataflow else "gv")
        return self.bind(name, value, node, scope={})

    def several(self, targets: Sequence[ast.expr], value: ast.expr, node: ast.stmt) -> None:
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if len(names) != len(targets):
            raise self.source.problem(node, "this cannot be assigned to", "expected names")
        if isinstance(value, ast.Tuple) and len(value.elts) == len(names):
            for name, one in zip(names, value.elts, strict=True):
                self.assign(name, None, one, node)
            return
        source = self.argument(value)
        info = self.inference.of(source)
        if not isinstance(info, TupleStructInfo) or len(info.fields) != len(names):
            raise self.source.problem(value, f"this does not give {len(names)} values",
                                      f"this is {print_struct_info(info)}")  # fmt: skip
        for index, name in enumerate(names):
            self.bind(name, TupleGetItem(source, index), value)

    def match_cast(self, name: str, node: ast.Call, annotated: StructInfo | None) -> None:
        given = self.source.arguments(node, ("value", "struct_info", "ty"))
        claimed = given.get("struct_info", given.get("ty"))
        if "value" not in given or claimed is None:
            raise self.source.problem(node, "R.match_cast takes a value and struct info", "expected 2 arguments")
        value, info = self.argument(given["value"]), self.info(claimed)
        actual = self.inference.of(value)
        if self.checks and (reason := symbols.mismatch(info, actual)):
            raise self.source.problem(
                node, f"the cast cannot succeed: {reason}", f"cast is {print_struct_info(actual)}"
            )
        if self.checks and annotated is not None and (reason := symbols.mismatch(annotated, info)):
            raise self.source.problem(node, f"`{name}` is not what it is said to be: {reason}",
                                      f"this is {print_struct_info(info)}")  # fmt: skip
        self.define(name, self.cast(name, value, info, node))

    def cast(self, name: str, value: Expr, info: StructInfo, node: ast.AST) -> Var:
        """Bind ``R.match_cast(value, info)`` to a new variable ``name``."""
        var = Var(name, info, self.is_inner(name))
        self.places[var] = node
        self.sequence.pending.append(MatchCast(var, value, info))
        return var

    def effect(self, value: ast.expr, node: ast.stmt) -> None:
        called = self.source.called(value)
        if called is None:
            raise self.source.problem(value, "an expression alone does nothing", "expected a binding or a call")
        if called == "R.output":
            raise self.source.problem(
                value, "R.output is the last statement of a dataflow block", "not at the end of one"
            )
        found = self.value(value)
        # A tuple of nothing is bound to nothing as well.
        if not isinstance(found, Call) and not (called == "R.tuple" and isinstance(found, Tuple) and not found.fields):
            raise self.source.problem(value, "this has no effect", "expected a binding: name = …")
        if isinstance(found, Tuple) and self.voids:
            self.bind(self.voids.pop(0), found, value)
            return
        self.bind("_", found, value, scope={})

    # Blocks and branches.

    def dataflow(self, call: ast.expr, body: Sequence[ast.stmt]) -> None:
        if self.sequence.dataflow:
            raise self.source.problem(call, "dataflow blocks do not nest", "inside of another one")
        outputs: dict[str, ast.expr] = {}
        statements = list(body)
        last = statements[-1]
        if isinstance(last, ast.Expr) and self.source.called(last.value) == "R.output":
            assert isinstance(last.value, ast.Call)
            statements.pop()
            for arg in last.value.args:
                if not isinstance(arg, ast.Name):
                    raise self.source.problem(arg, "R.output takes variables of the block", "expected a name")
                outputs[arg.id] = arg
        counts = Counter(name for one in statements for name in _assigned_names(one))
        self.sequence.close_block(True)
        counts.update(name for name in self.voids if name in outputs)
        self.sequence.outputs = Counter({name: counts[name] for name in outputs if counts[name]})
        self.scopes.append({})
        try:
            self.statements(statements)
        finally:
            inner = self.scopes.pop()
            self.sequence.close_block(False)
        self.hidden.update(name for name, item in inner.items() if isinstance(item, Var))
        for name, arg in outputs.items():
            if name not in inner:
                problem = self.source.undefined(arg, name, inner, "variable")
                if self.find(name) is not None:
                    problem = self.source.problem(arg, f"`{name}` is no variable of the block", "bound outside of it")
                self.source.put_down(problem)
                inner[name] = Poison()
            self.define(name, inner[name])
        # Dimensions of a match_cast go on to be known.
        for name, item in inner.items():
            if isinstance(item, (tir.Var, ModuleName)):
                self.define(name, item)

    def branch(self, node: ast.If) -> str:
        """Read a branch; return the name that both of its arms bind."""
        if self.sequence.dataflow:
            raise self.source.problem(node.test, "a dataflow block has no branches", "inside of a dataflow block")
        if not node.orelse:
            raise self.source.problem(node.test, "a branch has no `else`", "expected both branches")
        condition = self.argument(node.test)
        then, name, info = self.arm(node.body)
        otherwise, other_name, other_info = self.arm(node.orelse)
        if name != other_name:
            raise self.source.problem(node.orelse[-1], "the branches end with different variables",
                                      f"expected `{name}`, as the other branch has")  # fmt: skip
        value = If(condition, then, otherwise)
        self.bind(name, value, node.test, info if info is not None and info == other_info else None)
        return name

    def arm(self, nodes: Sequence[ast.stmt]) -> tuple[SeqExpr, str, StructInfo | None]:
        """Read one branch: its bindings, the name that it ends with, and what that is said to
        be.
        """
        outer, self.sequence = self.sequence, _Sequence()
        self.scopes.append({})
        before = len(self.source.problems)
        try:
            last = nodes[-1]
            match last:
                case ast.With([item], [*_, ast.Expr(ast.Call(_, [ast.Name(name)]) as output)]) if self.is_dataflow(
                    item
                ):
                    # What a dataflow block at the end outputs is what the branch binds.
                    nodes = [*nodes, last]
                    last = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], output.args[0]), output)
            self.statements(nodes[:-1])
            info: StructInfo | None = None
            if isinstance(last, ast.If):
                # ``elif``, or a branch at the end of another.
                name = self.branch(last)
                result = self.scopes[-1][name]
                self.sequence.close_block(False)
                return SeqExpr(tuple(self.sequence.blocks), result), name, None
            match last:
                case ast.Assign([ast.Name(name)], value):
                    pass
                case ast.AnnAssign(ast.Name(name), annotation, value) if value is not None:
                    info = self.annotation(annotation)
                case ast.Expr(ast.Call()) if self.source.called(last.value) != "R.output":
                    # Branches that only have effects.
                    self.statement(last)
                    self.sequence.close_block(False)
                    return SeqExpr(tuple(self.sequence.blocks), Tuple(())), "_", None
                case _:
                    raise self.source.problem(last, "a branch ends with a binding", "expected name = value")
            called = self.source.called(value)
            found = None if called == "R.match_cast" else self.value(value)
            if isinstance(found, (bool, int, float)) and isinstance(info, PrimStructInfo):
                result = self.as_value(found, info, value)
            elif isinstance(found, (*LEAVES, Tuple, tuple, list)):
                result = self.leaf(found, value)
            else:
                inner = self.supply.fresh(f"{name}_branch", "_")
                self.checked_assign(inner, info, found, value, last)
                result = self.scopes[-1][inner]
            if len(self.source.problems) > before:
                raise FollowsError(self.source.problems[-1])
            self.sequence.close_block(False)
            return SeqExpr(tuple(self.sequence.blocks), result), name, info
        finally:
            self.sequence = outer
            self.scopes.pop()

    def checked_assign(self, name: str, info: StructInfo | None, found: Any, value: ast.expr, node: ast.stmt) -> None:
        if found is None:
            self.assign(name, info, value, node)
        else:
            self.bind(name, self.as_value(found, info, value), value, info)

    def local_function(self, node: ast.FunctionDef) -> None:
        kinds = [self.source.dotted(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list]
        if kinds != ["R.function"]:
            at = node.decorator_list[0] if node.decorator_list else node
            problem = self.source.problem(at, f"the function `{node.name}` is of no kind that can stand here",
                                          "expected `@R.function` before it")  # fmt: skip
            if at is node:
                problem = ScriptProblem(replace(problem.diagnostic, where=self.source.head(node)))
            raise problem
        signature = self.head(node)
        if signature.ret is None:
            func = self.body(node, signature)
            if func is None:
                raise FollowsError(self.source.problems[-1])
            info = FuncStructInfo(signature.info().params, func.ret, signature.pure)
            var = Var(node.name, info, self.is_inner(node.name))
        else:
            var = Var(node.name, signature.info(), self.is_inner(node.name))
            # It may call itself.
            self.define(node.name, var)
            func = self.body(node, signature)
            if func is None:
                raise FollowsError(self.source.problems[-1])
        self.places[var] = node
        self.sequence.pending.append(Binding(var, func))
        self.define(node.name, var)


def _with_values(info: StructInfo, actual: StructInfo) -> StructInfo:
    """Return ``info`` with the values of scalars that only inference knows: R.Prim does not say
    them.
    """
    match info, actual:
        case PrimStructInfo(dtype, None), PrimStructInfo(other, value) if dtype == other and value is not None:
            return actual
        case TupleStructInfo(first), TupleStructInfo(second):
            return TupleStructInfo(tuple(map(_with_values, first, second)))
    return info


def _assigned_names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Assign(targets):
            for target in targets:
                yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))
        case ast.AnnAssign(ast.Name(name)):
            yield name
        case ast.FunctionDef(name):
            yield name
        case ast.If(body=body, orelse=orelse):
            for one in [*body[-1:], *orelse[-1:]]:
                yield from _assigned_names(one)
