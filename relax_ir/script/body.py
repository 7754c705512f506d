"""Relax functions out of TVMScript: the readers of their parts, and their bodies as a whole."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from relay2relax.core.script_source import FollowsError, ScriptProblem
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import Binding, Expr, Function, SeqExpr, Var
from relay2relax.relax_ir.ir.struct_info import FuncStructInfo, StructInfo
from relay2relax.relax_ir.ir.text import print_struct_info
from relay2relax.relax_ir.script.attributes import AttributeReader
from relay2relax.relax_ir.script.bindings import Bindings, with_values
from relay2relax.relax_ir.script.branches import assigned_names, is_dataflow
from relay2relax.relax_ir.script.calls.arguments import Arguments
from relay2relax.relax_ir.script.context import ModuleContext, Require
from relay2relax.relax_ir.script.devices import DeviceReader
from relay2relax.relax_ir.script.expr import ValueReader
from relay2relax.relax_ir.script.signature import Signature, SignatureReader
from relay2relax.relax_ir.script.statements import StatementReader
from relay2relax.relax_ir.script.types import TypeReader
from relay2relax.tir.ir import expr as tir


class FunctionReader:
    """Reads one function of the module, and those inside it."""

    def __init__(self, module: ModuleContext, require: Require) -> None:
        context = module.function_context()
        self.source = context.source
        self.scopes = context.scopes
        self.module = module
        self.devices = DeviceReader(module)
        self.types = TypeReader(context, self.devices)
        self.attributes = AttributeReader(self.source, self.types.exprs)
        self.signature = SignatureReader(module, context, self.types)
        self.bindings = Bindings(module, context, self.packed_result)
        self.arguments = Arguments(self.bindings, require)
        self.values = ValueReader(module, context, self.types, self.devices, self.arguments)
        self.statements = StatementReader(module, context, self.types, self.arguments, self.values, self.local_function)

    def packed_result(self, node: ast.AST) -> StructInfo | None:
        """Return what the script says of the result of a packed function's call."""
        return self.values.calls.packed.packed_result(node)

    def head(self, node: ast.FunctionDef) -> Signature:
        """Read what ``node`` says of itself."""
        return self.signature.head(node)

    def body(self, node: ast.FunctionDef, signature: Signature) -> Function | None:
        """Read the body of ``node``; None where mistakes prevent that."""
        before = len(self.source.problems)
        attrs: dict[str, object] = {}
        with self.scopes.inner(signature.scope), self.bindings.inner() as sequence:
            result = self.contents(node, attrs)
            sequence.close_block(False)
        if len(self.source.problems) > before or result is None:
            return None
        ret = self.result(node, signature, result)
        if ret is None:
            return None
        if attrs.get("global_symbol") == node.name:
            del attrs["global_symbol"]
        body = SeqExpr(tuple(sequence.blocks), result)
        return Function(signature.params, body, ret, attrs, signature.pure, signature.private)

    def contents(self, node: ast.FunctionDef, attrs: dict[str, object]) -> Expr | None:
        """Read the statements of ``node``, and return what it returns; add to its ``attrs``."""
        statements = self.return_outside(node.body)
        for index, statement in enumerate(statements):
            if isinstance(statement, ast.Return):
                if index + 1 < len(statements):
                    problem = self.source.problem(statements[index + 1], "nothing is done after return", "not reached")
                    self.source.put_down(problem)
                return self.returned(statement)
            said = getattr(statement, "value", None)
            if isinstance(said, ast.Call) and self.source.called(said) == "R.func_attr":
                read = partial(self.attributes.function_attributes, said, attrs)
                self.statements.checked(statement, read)
                continue
            self.statements.statement(statement)
        problem = self.source.problem(node, f"the function `{node.name}` returns nothing", "expected return at its end")
        self.source.put_down(problem, self.source.head(node))
        return None

    def result(self, node: ast.FunctionDef, signature: Signature, result: Expr) -> StructInfo | None:
        """Return the struct info of what ``node`` returns; None where it is not what it says."""
        actual = self.module.inference.of(result)
        known = symbols.defined(param.info for param in signature.params) | self.outer_dimensions()
        if signature.ret is None:
            return symbols.erase(actual, known)
        if self.module.checks and (reason := symbols.mismatch(signature.ret, actual)):
            place = node.returns or node
            problem = self.source.problem(
                place,
                f"`{node.name}` does not return what it says: {reason}",
                f"returned is {print_struct_info(actual)}",
            )
            self.source.put_down(problem)
            return None
        return with_values(signature.ret, symbols.erase(actual, known))

    def return_outside(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return ``nodes`` with a ``return`` that ends a dataflow block behind the block, which
        outputs its names.
        """
        match nodes[-1]:
            case ast.With([item], [*inner, ast.Return(value) as returned]) as block if (
                is_dataflow(self.source, item) and inner
            ):
                bound = {name for one in inner for name in assigned_names(one)}
                names = [one for one in ast.walk(value or returned) if isinstance(one, ast.Name) and one.id in bound]
                output = ast.Expr(ast.Call(ast.parse("R.output", mode="eval").body, list(names), []))
                outside = ast.With([item], [*inner, ast.fix_missing_locations(ast.copy_location(output, returned))])
                return [*nodes[:-1], ast.copy_location(outside, block), returned]
        return list(nodes)

    def outer_dimensions(self) -> set[tir.Var]:
        return {item for level in self.scopes.levels for item in level.values() if isinstance(item, tir.Var)}

    def returned(self, node: ast.Return) -> Expr | None:
        if node.value is None:
            self.source.put_down(
                self.source.problem(
                    node, "nothing is returned", "expected a value", help="an empty tuple is `R.tuple()`"
                )
            )
            return None
        return self.statements.checked(node, partial(self.values.argument, node.value))

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
            var = Var(node.name, info, self.bindings.is_inner(node.name))
        else:
            var = Var(node.name, signature.info(), self.bindings.is_inner(node.name))
            # It may call itself.
            self.scopes.define(node.name, var)
            func = self.body(node, signature)
            if func is None:
                raise FollowsError(self.source.problems[-1])
        self.module.places[var] = node
        self.bindings.sequence.pending.append(Binding(var, func))
        self.scopes.define(node.name, var)
