"""Branches of Relax functions out of TVMScript: ``if`` and ``else``, which bind one name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Protocol

from relay2relax.core.script_source import FollowsError, ScriptSource
from relay2relax.relax_ir.ir.expr import Expr, If, SeqExpr, Tuple
from relay2relax.relax_ir.ir.struct_info import PrimStructInfo, StructInfo
from relay2relax.relax_ir.ir.visit import LEAVES
from relay2relax.relax_ir.script.calls.arguments import Arguments
from relay2relax.relax_ir.script.context import Values
from relay2relax.relax_ir.script.types import TypeReader
from relay2relax.tir.script.context import ReadContext


def is_dataflow(source: ScriptSource, item: ast.withitem) -> bool:
    """Whether ``with`` opens a dataflow block."""
    return source.called(item.context_expr) == "R.dataflow"


def assigned_names(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds for those after it."""
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
                yield from assigned_names(one)


class Statements(Protocol):
    """The reader of statements, as branches see it."""

    def statement(self, node: ast.stmt) -> None:
        """Read one statement; a mistake is put down."""
        ...

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        """Read statements one after the other."""
        ...

    def assign(self, name: str, info: StructInfo | None, value: ast.expr, node: ast.stmt) -> None:
        """Read ``name: info = value``."""
        ...

    def as_value(self, found: object, info: StructInfo | None, node: ast.expr) -> Expr:
        """Return what a name is bound to."""
        ...


class BranchReader:
    """Reads branches; what stands in them is read by ``statements``."""

    def __init__(
        self, context: ReadContext, types: TypeReader, arguments: Arguments, values: Values, statements: Statements
    ) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.types = types
        self.arguments = arguments
        self.bindings = arguments.bindings
        self.values = values
        self.statements = statements

    def branch(self, node: ast.If) -> str:
        """Read a branch; return the name that both of its arms bind."""
        if self.bindings.sequence.dataflow:
            raise self.source.problem(node.test, "a branch stands inside of a dataflow block", "not possible there")
        if not node.orelse:
            raise self.source.problem(node.test, "a branch has no `else`", "expected both branches")
        condition = self.values.argument(node.test)
        then, name, info = self.arm(node.body)
        otherwise, other_name, other_info = self.arm(node.orelse)
        if name != other_name:
            raise self.source.problem(node.orelse[-1], "the branches end with different variables",
                                      f"expected `{name}`, as the other branch has")  # fmt: skip
        value = If(condition, then, otherwise)
        self.bindings.bind(name, value, node.test, info if info is not None and info == other_info else None)
        return name

    def arm(self, nodes: Sequence[ast.stmt]) -> tuple[SeqExpr, str, StructInfo | None]:
        """Read one branch: its bindings, the name that it ends with, and what that is said to
        be.
        """
        before = len(self.source.problems)
        last = nodes[-1]
        match last:
            case ast.With([item], [*_, ast.Expr(ast.Call(_, [ast.Name(name)]) as output)]) if is_dataflow(
                self.source, item
            ):
                # What a dataflow block at the end outputs is what the branch binds.
                nodes = [*nodes, last]
                last = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], output.args[0]), output)
        with self.bindings.inner() as sequence, self.scopes.inner():
            self.statements.statements(nodes[:-1])
            info: StructInfo | None = None
            result: Expr
            match last:
                case ast.If():
                    # ``elif``, or a branch at the end of another.
                    name = self.branch(last)
                    result = self.bindings.innermost(name)
                case ast.Assign([ast.Name(name)], value):
                    result = self.last(name, None, value, last, before)
                case ast.AnnAssign(ast.Name(name), annotation, value) if value is not None:
                    info = self.types.annotation(annotation)
                    result = self.last(name, info, value, last, before)
                case ast.Expr(ast.Call()) if self.source.called(last.value) != "R.output":
                    # Branches that only have effects.
                    self.statements.statement(last)
                    name, result = "_", Tuple(())
                case _:
                    raise self.source.problem(last, "a branch ends with a binding", "expected name = value")
            sequence.close_block(False)
            return SeqExpr(tuple(sequence.blocks), result), name, info

    def last(self, name: str, info: StructInfo | None, value: ast.expr, node: ast.stmt, before: int) -> Expr:
        """Return the value that a branch ends with, bound to ``name`` outside of it.

        Raises FollowsError where the branch has mistakes: more than the ``before`` of the text so
        far.
        """
        found = None if self.source.called(value) == "R.match_cast" else self.values.value(value)
        result: Expr
        if isinstance(found, (bool, int, float)) and isinstance(info, PrimStructInfo):
            result = self.statements.as_value(found, info, value)
        elif isinstance(found, (*LEAVES, Tuple, tuple, list)):
            result = self.arguments.leaf(found, value)
        else:
            inner = self.bindings.supply.fresh(f"{name}_branch", "_")
            self.assign(inner, info, found, value, node)
            result = self.bindings.innermost(inner)
        if len(self.source.problems) > before:
            raise FollowsError(self.source.problems[-1])
        return result

    def assign(self, name: str, info: StructInfo | None, found: object, value: ast.expr, node: ast.stmt) -> None:
        if found is None:
            self.statements.assign(name, info, value, node)
        else:
            self.bindings.bind(name, self.statements.as_value(found, info, value), value, info)
