"""Calls of packed functions out of TVMScript, and calls that are given the memory of their results:
``R.call_packed``, ``R.call_tir``, ``R.call_dps_packed``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, cast

from relay2relax.core.errors.table import script
from relay2relax.relax_ir.ir.expr import (
    CallDPSPacked,
    CallTIR,
    Expr,
    ExternFunc,
    GlobalVar,
    PrimValue,
    ShapeExpr,
    Tuple,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.script.calls.arguments import Arguments
from relay2relax.relax_ir.script.calls.foreign import RESULT
from relay2relax.relax_ir.script.context import ModuleContext, Values
from relay2relax.tir.ir.expr import PrimExpr


class PackedReader:
    """Reads calls of functions by their names, and calls with memory for results."""

    def __init__(self, module: ModuleContext, arguments: Arguments, values: Values) -> None:
        self.source = module.text.source
        self.module = module
        self.arguments = arguments
        self.bindings = arguments.bindings
        self.values = values

    def packed(self, node: ast.Call) -> tuple[ExternFunc, tuple[Expr, ...]]:
        """Return callee and arguments of ``R.call_packed``; result types are left to the
        binding.
        """
        if not node.args:
            raise self.source.problem(node, "R.call_packed calls a function by its name", "expected the name first")
        callee = self.extern(node.args[0])
        return callee, tuple(self.values.argument(arg) for arg in node.args[1:])

    def extern(self, node: ast.expr) -> ExternFunc:
        """Return the function that ``node`` names: a string, ``R.ExternFunc``, or a variable bound
        to that.
        """
        found = self.values.value(node)
        if isinstance(found, Var):
            found = self.bindings.externs.get(found)
        if isinstance(found, str):
            return ExternFunc(found)
        if not isinstance(found, ExternFunc):
            raise self.source.problem(node, "a packed function has a name", "expected a string")
        return found

    def packed_result(self, node: ast.AST) -> StructInfo | None:
        """Return what ``sinfo_args=`` or ``ty_args=`` says of a call of a packed function."""
        if isinstance(node, ast.Call) and self.source.called(node) == "R.call_packed":
            for keyword in node.keywords:
                if keyword.arg in ("sinfo_args", "ty_args"):
                    infos = self.infos(self.values.value(keyword.value), keyword.value)
                    return infos[0] if len(infos) == 1 else None
        return None

    # Calls that are given the memory of their results.

    def call_tir(self, node: ast.Call) -> CallTIR | CallDPSPacked:
        given = self.source.arguments(node, ("func", "args", "out", "dtype", "tir_vars", *RESULT))
        callee = self.values.value(self.source.needed(node, given, "func"))
        args = self.tuple_of(self.source.needed(node, given, "args"))
        out = self.results(node, given)
        if isinstance(callee, str):
            callee = ExternFunc(callee)
        if isinstance(callee, ExternFunc):
            return CallDPSPacked(callee.name, tuple(args), out)
        if not isinstance(callee, GlobalVar):
            raise self.source.problem(given["func"], "call_tir calls a PrimFunc", "expected a function of the module")
        scalars: list[PrimExpr] = []
        while args and isinstance(args[-1], PrimValue):
            last = args.pop()
            assert isinstance(last, PrimValue)
            scalars.insert(0, last.value)
        if "tir_vars" in given:
            scalars += self.arguments.scalars(self.values.value(given["tir_vars"]), given["tir_vars"])
            self.module.scalars_last.add(callee)
        return CallTIR(callee, tuple(args), out, tuple(scalars))

    def call_dps_packed(self, node: ast.Call) -> CallDPSPacked:
        given = self.source.arguments(node, ("func", "args", "out", "dtype", *RESULT))
        name = self.extern(self.source.needed(node, given, "func")).name
        return CallDPSPacked(
            name, tuple(self.tuple_of(self.source.needed(node, given, "args"))), self.results(node, given)
        )

    def tuple_of(self, node: ast.expr) -> list[Expr]:
        found = self.values.value(node)
        if isinstance(found, Var) and isinstance(found.info, TupleStructInfo):
            found = self.arguments.fields_of(found, node)
        parts: object = found.fields if isinstance(found, Tuple) else found
        return [self.arguments.leaf(one, node) for one in (parts if isinstance(parts, (tuple, list)) else (parts,))]

    def results(self, node: ast.Call, given: Mapping[str, ast.expr]) -> tuple[TensorStructInfo, ...]:
        """Return the results of a call: struct info, a list of it, or shapes with ``dtype=``."""
        place = next((given[name] for name in ("out", *RESULT) if name in given), None)
        if place is None:
            raise self.source.problem(
                node,
                "the call does not say what it returns",
                "expected struct info of the result",
                kind=script.STRUCT_INFO,
            )
        found = self.values.value(place)
        if isinstance(found, ShapeExpr):
            found = found.values
        if "dtype" in given:
            dtypes: Any = self.values.value(given["dtype"])
            shapes: Any = found
            if isinstance(dtypes, str):
                shapes, dtypes = [found], [dtypes]
            try:
                return tuple(
                    TensorStructInfo(tuple(self.arguments.extent_of(one, place) for one in shape), dtype)
                    for shape, dtype in zip(shapes, dtypes, strict=True)
                )
            except (TypeError, ValueError):
                raise self.source.problem(place, "these are no shapes", "expected a shape per dtype") from None
        return cast("tuple[TensorStructInfo, ...]", self.infos(found, place))

    def infos(self, found: object, node: ast.AST) -> tuple[StructInfo, ...]:
        """Return struct info, or a list of it, as a row."""
        infos = tuple(found) if isinstance(found, (list, tuple)) else (found,)
        if not all(isinstance(info, StructInfo) for info in infos):
            title, label = (
                script.MALFORMED.message(what="struct info"),
                "expected R.Tensor(…), or a list of struct info",
            )
            help = "a shape needs `dtype=` beside it"
            raise self.source.problem(node, title, label, help=help, kind=script.ARGUMENTS)
        return infos
