"""Calls in Relax out of TVMScript: the ``R.`` namespace, and functions of the module."""

from __future__ import annotations

import ast
import builtins

from relay2relax.core.errors.table import script
from relay2relax.relax_ir.ir.expr import (
    Call,
    DataTypeImm,
    ExternFunc,
    GlobalVar,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.script.calls.arguments import Arguments
from relay2relax.relax_ir.script.calls.constants import ConstantReader
from relay2relax.relax_ir.script.calls.operators import OperatorReader
from relay2relax.relax_ir.script.calls.packed import PackedReader
from relay2relax.relax_ir.script.calls.placement import PlacementReader
from relay2relax.relax_ir.script.context import ModuleContext, Values
from relay2relax.relax_ir.script.devices import DeviceReader
from relay2relax.relax_ir.script.types import TypeReader
from relay2relax.tir.script.context import ReadContext

PYTHON = frozenset(dir(builtins))


class CallReader:
    """Reads calls; what stands in them is read by ``values``."""

    def __init__(
        self,
        module: ModuleContext,
        context: ReadContext,
        types: TypeReader,
        devices: DeviceReader,
        arguments: Arguments,
        operators: OperatorReader,
        constants: ConstantReader,
        values: Values,
    ) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.module = module
        self.types = types
        self.arguments = arguments
        self.bindings = arguments.bindings
        self.operators = operators
        self.constants = constants
        self.values = values
        self.placement = PlacementReader(context, types, devices, operators, values)
        self.packed = PackedReader(module, arguments, values)

    def is_defined(self, name: str) -> bool:
        """Whether ``name`` stands for something here."""
        return self.scopes.find(name) is not None or name in self.module.globals or name in self.module.constants

    def call(self, node: ast.Call) -> object:
        name = self.source.dotted(node.func)
        if self.types.kind(node) is not None:
            return self.types.info(node)
        if name is not None and name.startswith("R.") and self.scopes.find("R") is None:
            return self.of_namespace(name[2:].removeprefix("op."), node)
        if name is not None and name.startswith("T."):
            return self.types.exprs.value(node)
        if name == "float":
            return self.source.literal(node)
        if name in PYTHON and not self.is_defined(name):
            raise self.source.problem(node.func, f"Python's `{name}` cannot be called in a script",
                                      "expected an operator of R or a function of the module")  # fmt: skip
        match node.func:
            case ast.Attribute(owner, "astype") if self.values.is_value(owner):
                args = [self.values.argument(owner), self.types.dtype(self.one(node))]
                return self.operators.operator_call("astype", args, {}, node)
        callee = self.values.value(node.func)
        if isinstance(callee, Var) and callee in self.bindings.externs:
            callee = self.bindings.externs[callee]
        if not isinstance(callee, (GlobalVar, Var, ExternFunc)):
            raise self.source.problem(node.func, "this cannot be called", "expected a function")
        if node.keywords:
            raise self.source.problem(
                node.keywords[0], "functions take their arguments in order", "no keywords here", kind=script.ARGUMENTS
            )
        if isinstance(callee, GlobalVar):
            self.arguments.require(callee, node.func)
        return Call(callee, tuple(self.values.argument(arg) for arg in node.args))

    def of_namespace(self, name: str, node: ast.Call) -> object:
        match name:
            case "const":
                return self.constants.constant(node)
            case "shape":
                return ShapeExpr(
                    self.types.row(self.source.needed(node, self.source.arguments(node, ("value",)), "value"))
                )
            case "prim_value":
                return PrimValue(self.types.exprs.expr(self.one(node)))
            case "str":
                return StringImm(self.source.string(self.one(node), "the value"))
            case "dtype":
                # TVM's word for none.
                return DataTypeImm(self.types.dtype(self.one(node)) or "void")
            case "tuple":
                return Tuple(tuple(self.values.argument(arg) for arg in node.args))
            case "ShapeExpr":
                return self.of_namespace("shape", node)
            case "TupleGetItem":
                given = self.source.arguments(node, ("tuple_value", "index"))
                place = self.source.integer(self.source.needed(node, given, "index"), "the number of a field")
                return TupleGetItem(self.values.argument(self.source.needed(node, given, "tuple_value")), place)
            case "ExternFunc":
                return ExternFunc(self.source.string(node.args[0], "a function's name"))
            case "to_vdevice":
                return self.placement.to_vdevice(node)
            case "hint_on_device":
                return self.placement.hint_on_device(node)
            case "layout_transform":
                return self.placement.layout_transform(node)
            case "emit":
                return self.values.value(self.one(node))
            case "emit_with_sinfo" | "emit_with_ty" | "emit_with_type":
                return self.with_info(node)
            case "linear" | "nn.relu6":
                return self.composed(name, node)
            case "stop_lift_params":
                return self.of_namespace("builtin.stop_lift_params", node)
            case "call_tir" | "dist.call_tir":
                return self.packed.call_tir(node)
            case "dist.const":
                return self.constants.spread_constant(node)
            case "dist.annotate_sharding" | "dist.redistribute":
                return self.placement.redistribute(name, node)
            case "call_dps_packed":
                return self.packed.call_dps_packed(node)
            case "call_packed":
                callee, packed = self.packed.packed(node)
                return Call(callee, packed)
        args = [self.values.value(arg) for arg in node.args]
        keywords = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.source.problem(
                    keyword, "arguments are written out", "expected name=value", kind=script.ARGUMENTS
                )
            keywords[keyword.arg] = self.values.value(keyword.value)
        return self.operators.operator_call(name, args, keywords, node)

    def with_info(self, node: ast.Call) -> Call:
        """Return ``R.emit_with_sinfo("relax.<name>", args, infos)``: a call of an operator by its
        name.
        """
        given = self.source.arguments(node, ("op", "args", "ty_args", "sinfo_args", "type_args"))
        name = self.source.string(self.source.needed(node, given, "op"), "an operator's name").removeprefix("relax.")
        args = self.values.value(self.source.needed(node, given, "args"))
        parts: object = args.fields if isinstance(args, Tuple) else args
        return self.operators.operator_call(name, parts if isinstance(parts, (tuple, list)) else (parts,), {}, node)

    def composed(self, name: str, node: ast.Call) -> Call:
        """Return what TVM puts together of several operators: ``R.linear`` and ``R.nn.relu6``."""
        if name == "nn.relu6":
            return self.operators.operator_call("clip", [self.values.value(self.one(node)), 0, 6], {}, node)
        given = self.source.arguments(node, ("data", "weight", "bias", "out_dtype"))
        data, weight = (self.values.value(self.source.needed(node, given, one)) for one in ("data", "weight"))
        turned = self.bindings.bound(self.operators.operator_call("permute_dims", [weight], {}, node), node)
        dtype = {"out_dtype": self.values.value(given["out_dtype"])} if "out_dtype" in given else {}
        product = self.operators.operator_call("matmul", [data, turned], dtype, node)
        bias = self.values.value(given["bias"]) if "bias" in given else None
        return (
            product
            if bias is None
            else self.operators.operator_call("add", [self.bindings.bound(product, node), bias], {}, node)
        )

    def one(self, node: ast.Call) -> ast.expr:
        given = self.source.arguments(node, ("value", "data", "expr", "dtype"))
        if len(given) == 1:
            given["value"] = next(iter(given.values()))
        if "value" not in given:
            raise self.source.problem(node, "a value is missing", "expected one value", kind=script.ARGUMENTS)
        return given["value"]
