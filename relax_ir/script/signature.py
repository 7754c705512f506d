"""Heads of Relax functions out of TVMScript: decorators, parameters, result, and attributes."""

from __future__ import annotations

import ast
import re
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from relay2relax.core.dtype import is_int
from relay2relax.relax_ir.ir.expr import Var
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
)
from relay2relax.relax_ir.script.calls import CallReader
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.script.assignments import declared_symbols

_OPTIONS = ("private", "pure", "check_well_formed")
# Calls whose arguments are scalars, or whose strings hold extents.
_OF_SCALARS = frozenset({"R.Tensor", "R.Shape", "R.Prim", "R.shape", "R.prim_value", "Tensor", "Shape"})
# How to part a module from objects that its attributes hold.
_TAKE_OUT = {
    "ffi.Tensor": "take weights out first: `mod, params = tvm.relax.frontend.detach_params(mod)`",
    "ffi.Module": 'take compiled code out first: `mod = mod.without_attr("external_mods")`',
}
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
    scope: dict[str, Any]
    private: bool
    pure: bool

    def info(self) -> FuncStructInfo:
        """Return the struct info that the head gives the function."""
        ret = self.ret if self.ret is not None else ObjectStructInfo()
        return FuncStructInfo(tuple(param.info for param in self.params), ret, self.pure)


class SignatureReader(CallReader):
    """Reads what a function says of itself."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.places: dict[Var, ast.AST] = {}

    def head(self, node: ast.FunctionDef) -> Signature:
        """Read decorators, parameters and result of ``node`` in a scope of its own."""
        options = self.options(node)
        arguments = self.source.plain_parameters(node, "a function of Relax")
        self.scopes.append({})
        self.declared = declared_symbols(self.source, node.body)
        self.in_signature = True
        try:
            scalars = self.dimension_parameters(node)
            params = []
            for argument in arguments:
                if argument.annotation is None:
                    raise self.source.problem(argument, f"the parameter `{argument.arg}` has no struct info",
                                              "expected R.Tensor(…) or other struct info")  # fmt: skip
                info = self.info(argument.annotation)
                if argument.arg in scalars and isinstance(info, PrimStructInfo):
                    info = PrimStructInfo(info.dtype, scalars[argument.arg])
                var = Var(argument.arg, info)
                self.places[var] = argument
                params.append(var)
                if isinstance(info, ShapeStructInfo):
                    # What the function returns may have the shape that it is given.
                    self.define(argument.arg, var)
            for name, dtype in self.declared.items():
                if self.find(name) is None:
                    self.define(name, tir.Var(name, dtype))
            self.in_signature = False
            ret = self.annotation(node.returns) if node.returns is not None else None
        finally:
            self.in_signature = False
            scope = self.scopes.pop()
        # A dimension named like a parameter is meant where a dimension is meant only.
        dimensions = {name: item for name, item in scope.items() if name not in {p.name for p in params}}
        return Signature(tuple(params), ret, {**dimensions, **{p.name: p for p in params}}, *options)

    def dimension_parameters(self, node: ast.FunctionDef) -> dict[str, tir.Var]:
        """Return the scalar parameters that the function computes with, defined as dimensions."""
        scalars = [argument for argument in node.args.args if _is_scalar(self, argument)]
        used = self.names_in_scalars(node, _OF_SCALARS) if scalars else set()
        named = self.names_in_scalars(node, _OF_DIMENSIONS) if scalars else set()
        found = {}
        for argument in scalars:
            if argument.arg in used | named and argument.annotation is not None:
                info = self.prim(argument.annotation)
                if info.value is None and (argument.arg in used or is_int(info.dtype)):
                    found[argument.arg] = tir.Var(argument.arg, info.dtype)
        self.scopes[-1].update(found)
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

    def function_attributes(self, call: ast.expr, known: dict[str, Any]) -> None:
        """Read ``R.func_attr`` and add what it says to what is ``known``."""
        assert isinstance(call, ast.Call)
        if len(call.args) != 1 or not isinstance(call.args[0], ast.Dict):
            raise self.source.problem(call, "R.func_attr takes a dictionary", "expected one dictionary")
        found = self.attribute(call.args[0])
        assert isinstance(found, dict)
        self.source.once(known, found, call)

    def attribute(self, node: ast.expr) -> Any:
        """Return the value of an attribute: literals, and expressions over dimensions."""
        match node:
            case ast.Dict(keys, values):
                return {
                    self.source.string(key or node, "a key"): self.attribute(value)
                    for key, value in zip(keys, values, strict=True)
                }
            case ast.List(items) | ast.Tuple(items):
                return [self.attribute(item) for item in items]
            case ast.Name() | ast.BinOp():
                return self.exprs.value(node)
            case ast.Subscript(ast.Subscript(ast.Name("metadata" | "meta"), ast.Constant(str() as kind)), _):
                raise self.source.problem(node, f"an attribute holds an object of apache-tvm, {kind}",
                                          "no script can hold it", help=_TAKE_OUT.get(kind, ""))  # fmt: skip
        return self.source.literal(node)


def _is_scalar(reader: SignatureReader, argument: ast.arg) -> bool:
    return argument.annotation is not None and reader.kind(argument.annotation) == "R.Prim"
