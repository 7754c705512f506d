"""Heads of Relax functions out of TVMScript: decorators, parameters and result."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass

from relay2relax.core.dtype import is_int
from relay2relax.core.errors.table import script
from relay2relax.relax_ir.ir.expr import Var
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
)
from relay2relax.relax_ir.script.context import ModuleContext
from relay2relax.relax_ir.script.types import TypeReader
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.types import declared_symbols

_OPTIONS = ("private", "pure", "check_well_formed")
# Calls whose arguments are scalars, or whose strings hold extents.
_OF_SCALARS = frozenset({"R.Tensor", "R.Shape", "R.Prim", "R.shape", "R.prim_value", "Tensor", "Shape"})
# Operators whose attributes and shapes may name dimensions, which integers given to them become.
_OF_DIMENSIONS = frozenset(
    {
        "R.arange",
        "R.broadcast_to",
        "R.eye",
        "R.eye_like",
        "R.full",
        "R.ones",
        "R.reshape",
        "R.tril",
        "R.triu",
        "R.zeros",
    }
)
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(slots=True)
class Signature:
    """What a function's head says; ``scope`` holds its parameters and dimensions."""

    params: tuple[Var, ...]
    ret: StructInfo | None
    scope: dict[str, object]
    private: bool
    pure: bool

    def info(self) -> FuncStructInfo:
        """Return the struct info that the head gives the function."""
        ret = self.ret if self.ret is not None else ObjectStructInfo()
        return FuncStructInfo(tuple(param.info for param in self.params), ret, self.pure)


class SignatureReader:
    """Reads what a function says of itself."""

    def __init__(self, module: ModuleContext, context: ReadContext, types: TypeReader) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.module = module
        self.types = types

    def head(self, node: ast.FunctionDef) -> Signature:
        """Read decorators, parameters and result of ``node`` in a scope of its own."""
        options = self.options(node)
        arguments = self.source.plain_parameters(node, "a function of Relax")
        declared = declared_symbols(self.source, node.body)
        with self.scopes.inner() as scope:
            with self.types.signature(declared):
                scalars = self.dimension_parameters(node)
                params = [self.parameter(argument, scalars) for argument in arguments]
                for name, dtype in declared.items():
                    if self.scopes.find(name) is None:
                        self.scopes.define(name, tir.Var(name, dtype))
            ret = self.types.annotation(node.returns) if node.returns is not None else None
        # A dimension named like a parameter is meant where a dimension is meant only.
        taken = {p.name for p in params}
        dimensions = {name: item for name, item in scope.items() if name not in taken}
        return Signature(tuple(params), ret, {**dimensions, **{p.name: p for p in params}}, *options)

    def parameter(self, argument: ast.arg, scalars: Mapping[str, tir.Var]) -> Var:
        """Read one parameter; ``scalars`` are those that are dimensions."""
        if argument.annotation is None:
            raise self.source.problem(argument, f"the parameter `{argument.arg}` has no struct info",
                                      "expected R.Tensor(…) or other struct info", kind=script.ARGUMENTS)  # fmt: skip
        info = self.types.info(argument.annotation)
        if argument.arg in scalars and isinstance(info, PrimStructInfo):
            info = PrimStructInfo(info.dtype, scalars[argument.arg])
        var = Var(argument.arg, info)
        self.module.places[var] = argument
        if isinstance(info, ShapeStructInfo):
            # What the function returns may have the shape that it is given.
            self.scopes.define(argument.arg, var)
        return var

    def is_scalar(self, argument: ast.arg) -> bool:
        return argument.annotation is not None and self.types.kind(argument.annotation) == "R.Prim"

    def dimension_parameters(self, node: ast.FunctionDef) -> dict[str, tir.Var]:
        """Return the scalar parameters that the function computes with, defined as dimensions."""
        scalars = [argument for argument in node.args.args if self.is_scalar(argument)]
        used = self.names_in_scalars(node, _OF_SCALARS) if scalars else set()
        named = self.names_in_scalars(node, _OF_DIMENSIONS) if scalars else set()
        found = {}
        for argument in scalars:
            if argument.arg in used | named and argument.annotation is not None:
                info = self.types.prim(argument.annotation)
                if info.value is None and (argument.arg in used or is_int(info.dtype)):
                    found[argument.arg] = tir.Var(argument.arg, info.dtype)
        self.scopes.levels[-1].update(found)
        return found

    def names_in_scalars(self, node: ast.FunctionDef, calls: Set[str]) -> set[str]:
        """Return the names that stand in ``calls`` or take part in arithmetic, anywhere in the
        function.
        """
        found: set[str] = set()
        aliases: list[tuple[str, str]] = []
        for one in ast.walk(node):
            match one:
                case ast.Assign([ast.Name(name)], ast.Name(of)) | ast.AnnAssign(ast.Name(name), _, ast.Name(of)):
                    aliases.append((name, of))
                    continue
                case ast.BinOp() | ast.Compare():
                    pass
                case ast.Call():
                    called = self.source.called(one) or ""
                    if called not in calls and not called.startswith("T."):
                        continue
                case _:
                    continue
            for inner in ast.walk(one):
                match inner:
                    case ast.Name(name):
                        found.add(name)
                    case ast.Constant(str() as text):
                        found.update(_WORD.findall(text))
        # Another name of a scalar stands for it.
        for name, of in reversed(aliases):
            if name in found:
                found.add(of)
        return found

    def options(self, node: ast.FunctionDef) -> tuple[bool, bool]:
        """Return whether the function is private, and whether it is pure."""
        said = self.source.options(node, "R.function", _OPTIONS)
        return said.get("private", False), said.get("pure", True)
