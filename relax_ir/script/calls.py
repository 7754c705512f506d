"""Relax expressions out of TVMScript: values, constants, and every kind of call.

A call that stands in another one is bound to a variable of its own by :meth:`CallReader.argument`.
"""

from __future__ import annotations

import ast
import builtins
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.script_source import ScriptProblem, ScriptSource
from relay2relax.relax_ir.inference.infer import Inference
from relay2relax.relax_ir.ir.expr import (
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    DataTypeImm,
    Expr,
    ExternFunc,
    GlobalVar,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.visit import LEAVES
from relay2relax.relax_ir.script.operators import EXPRESSIONS, RESULT
from relay2relax.relax_ir.script.placement import PlacementReader
from relay2relax.relax_ir.script.types import as_dimension
from relay2relax.tir.extent import as_prim
from relay2relax.tir.ir.expr import FloatImm, IntImm, PrimExpr

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide",
    ast.Mod: "mod", ast.Pow: "power", ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater",
    ast.GtE: "greater_equal",
}  # fmt: skip
_DEFAULT_DTYPES = {bool: "bool", int: "int32", float: "float32"}


# What to write instead of an attribute of a value, and of Python's shorter forms.
_INSTEAD = {
    "shape": "call R.shape_of",
    "dtype": "what a tensor holds stands in its struct info",
    "astype": "call R.astype",
    "reshape": "call R.reshape",
    "T": "call R.permute_dims",
}
_WRITTEN_OUT: dict[type[ast.AST], str] = {
    ast.IfExp: "write `if` and `else` as statements that bind one name",
    ast.Lambda: "define a local function with @R.function",
    ast.ListComp: "write the elements out",
    ast.GeneratorExp: "write the elements out",
    ast.Starred: "write the arguments out",
    ast.JoinedStr: "write the text out",
    ast.NamedExpr: "bind the name in a statement of its own",
}
PYTHON = frozenset(dir(builtins))
# What is known of a value, as an attribute of it, by age.
_INFO = frozenset({"struct_info", "struct_info_", "ty"})


class ModuleName:
    """What ``Module`` and ``cls`` stand for."""


class CallReader(PlacementReader):
    """Reads expressions of one function; ``globals`` are the functions of the module."""

    def __init__(
        self,
        source: ScriptSource,
        globals_: Mapping[str, GlobalVar],
        inference: Inference,
        constants: Mapping[str, Any],
    ) -> None:
        super().__init__(source)
        self.globals = globals_
        self.inference = inference
        self.constants = constants
        # Functions that are looked up by name, by the variables and names that stand for them.
        self.externs: dict[Var, ExternFunc] = {}
        self.module_externs: Mapping[str, ExternFunc] = {}
        # Callees that were called with ``tir_vars``, whose scalars come after the results.
        self.scalars_last: set[GlobalVar] = set()

    @abstractmethod
    def undefined(self, node: ast.AST, name: str) -> ScriptProblem:
        """Return the mistake of a name that nothing defines here."""

    @abstractmethod
    def require_function(self, var: GlobalVar, node: ast.AST) -> None:
        """See to it that the signature of ``var`` is known."""

    def is_defined(self, name: str) -> bool:
        """Whether ``name`` stands for something here."""
        return self.find(name) is not None or name in self.globals or name in self.constants

    # Values.

    def value(self, node: ast.AST) -> Any:
        """Return what ``node`` is: an expression, a scalar or Python number, a tuple or list of
        those, struct info.
        """
        match node:
            case ast.Constant(value):
                return self.source.literal(node) if value is not None else None
            case ast.Name(name):
                return self.named(node, name)
            case ast.Attribute(owner, attribute):
                return self.attribute_of(node, owner, attribute)
            case ast.Tuple(items):
                return tuple(self.value(item) for item in items)
            case ast.List(items):
                return [self.value(item) for item in items]
            case ast.Dict():
                return self.source.literal(node)
            case ast.BinOp(left, op, right):
                return self.arithmetic(op, left, right, node)
            case ast.Compare(left, [op], [right]):
                return self.arithmetic(op, left, right, node)
            case ast.UnaryOp(ast.USub(), operand):
                value = self.value(operand)
                if isinstance(value, EXPRESSIONS):
                    return self.operator_call("negative", [value], {}, node)
                return self.exprs.unary(ast.USub(), value, node)
            case ast.BoolOp(op, operands):
                self.no_tensors(operands, f"R.logical_{'and' if isinstance(op, ast.And) else 'or'}")
                return self.exprs.value(node)
            case ast.UnaryOp(op, operand):
                self.no_tensors([operand], "R.logical_not" if isinstance(op, ast.Not) else "R.bitwise_not")
                return self.exprs.value(node)
            case ast.Compare():
                return self.exprs.value(node)
            case ast.Subscript(owner, index):
                return self.subscript(node, owner, index)
            case ast.Call():
                return self.call(node)
        raise self.source.problem(node, "this is no expression of Relax", "expected a variable, a call or a tuple",
                                  help=_WRITTEN_OUT.get(type(node), ""))  # fmt: skip

    def no_tensors(self, operands: Sequence[ast.expr], instead: str) -> None:
        """Raise ScriptProblem where a name among ``operands`` is a tensor: scalars alone have these
        operators.
        """
        for one in operands:
            found = self.find(one.id) if isinstance(one, ast.Name) else None
            if isinstance(found, (Var, Constant)):
                raise self.source.problem(one, "tensors have no such operator", f"call {instead}")

    def named(self, node: ast.AST, name: str) -> Any:
        found = self.lookup(name)
        if found is None:
            found = self.globals.get(name)
        if found is None and name in self.constants and not isinstance(self.constants[name], Mapping):
            found = Constant(np.asarray(self.constants[name]))
        if found is None:
            raise self.undefined(node, name)
        return found

    def attribute_of(self, node: ast.Attribute, owner: ast.expr, attribute: str) -> Any:
        if isinstance(owner, ast.Name) and isinstance(self.lookup(owner.id), ModuleName):
            if attribute in self.module_externs:
                return self.module_externs[attribute]
            if attribute not in self.globals:
                raise self.source.undefined(node, attribute, self.globals, "function")
            return self.globals[attribute]
        if self.kind(node) is not None:
            return self.info(node)
        if attribute in _INFO and self.is_value(owner):
            return self.inference.of(self.argument(owner))
        inspected = self.inspected(node)
        if inspected is not None:
            return inspected
        name = self.source.dotted(node)
        if name is not None and not name.startswith(("R.", "T.", "I.")):
            first: ast.expr = owner
            while isinstance(first, ast.Attribute):
                first = first.value
            head = name.partition(".")[0]
            if self.find(head) is None:
                raise self.undefined(first, head)
            raise self.source.problem(node, f"`{head}` has no attribute `{attribute}`", "values have no attributes",
                                      help=_INSTEAD.get(attribute, ""))  # fmt: skip
        raise self.source.problem(node, f"`{name}` is no value", "expected a call or a variable")

    def inspected(self, node: ast.Attribute | ast.Subscript) -> Any:
        """Return the number that an attribute of a tensor is, ``x.dtype.bits`` say, None for what
        is none.

        TVM asks the tensor when the program runs.
        """
        match node:
            case ast.Attribute(ast.Attribute(owner, "dtype"), ("bits" | "lanes" | "type_code") as field):
                name = f"tensor_dtype_{field.removeprefix('type_')}"
            case ast.Attribute(owner, ("ndim" | "byte_offset" | "elem_offset") as field):
                name = f"tensor_{field}"
            case ast.Subscript(ast.Attribute(owner, ("shape" | "strides") as field), _):
                name = f"tensor_{field.removesuffix('s')}_i"
            case _:
                return None
        if not self.is_value(owner):
            return None
        args = [self.argument(owner)]
        if isinstance(node, ast.Subscript):
            args.append(self.argument(node.slice))
        return self.operator_call(f"inspect.{name}", args, {}, node)

    def is_value(self, node: ast.expr) -> bool:
        """Whether ``node`` is a variable, or a field of one."""
        while isinstance(node, ast.Subscript):
            node = node.value
        return isinstance(node, ast.Name) and isinstance(self.find(node.id), (Var, Constant))

    def arithmetic(self, op: ast.AST, left: ast.AST, right: ast.AST, node: ast.AST) -> Any:
        a, b = as_dimension(self.value(left)), as_dimension(self.value(right))
        if not isinstance(a, EXPRESSIONS) and not isinstance(b, EXPRESSIONS):
            if isinstance(node, ast.Compare):
                return self.exprs.comparison(left, node.ops, node.comparators, node)
            return self.exprs.value(node)
        name = _OPERATORS.get(type(op))
        if name is None:
            raise self.source.problem(node, "tensors have no such operator", "call an operator of R, such as R.equal")
        return self.operator_call(name, [a, b], {}, node)

    def subscript(self, node: ast.AST, owner: ast.expr, index: ast.expr) -> Any:
        if (
            isinstance(owner, ast.Subscript)
            and isinstance(owner.value, ast.Name)
            and owner.value.id in ("metadata", "meta")
        ):
            return self.metadata(node, owner, index)
        if isinstance(node, ast.Subscript) and (found := self.inspected(node)) is not None:
            return found
        value = self.argument(owner)
        if isinstance(index, (ast.Slice, ast.Tuple)):
            raise self.source.problem(index, "elements of a tensor are no values", "expected the number of a field",
                                      help="call R.strided_slice, R.take or R.index_tensor")  # fmt: skip
        place = self.source.literal(index)
        if isinstance(place, bool) or not isinstance(place, int):
            raise self.source.problem(index, "a field of a tuple has a number", "expected an integer")
        return TupleGetItem(value, place)

    def metadata(self, node: ast.AST, owner: ast.Subscript, index: ast.expr) -> Constant:
        table = self.constants.get("metadata")
        key = owner.slice.value if isinstance(owner.slice, ast.Constant) else self.source.dotted(owner.slice)
        place = self.source.literal(index)
        if not isinstance(table, Mapping) or key not in table:
            raise self.source.problem(
                node, "this constant is not in the text", "not printed with the script",
                help='print with show_meta=True, or pass the arrays: constants={"metadata": {…: [array, …]}}',
            )  # fmt: skip
        values = table[key]
        if not isinstance(place, int) or not 0 <= place < len(values):
            raise self.source.problem(index, f"there are {len(values)} constants", "no such constant")
        if values[place] is None or isinstance(values[place], str):
            raise self.source.problem(node, "this entry of the table is no tensor", "expected a constant")
        return Constant(np.asarray(values[place]))

    # Arguments.

    def argument(self, node: ast.AST) -> Expr:
        """Return ``node`` as an argument in A-normal form."""
        return self.leaf(self.value(node), node)

    def leaf(self, value: Any, node: ast.AST) -> Expr:
        """Return ``value`` as a leaf, or a tuple of leaves."""
        match value:
            case Tuple(fields):
                return Tuple(tuple(self.leaf(field, node) for field in fields))
            case tuple() | list():
                return Tuple(tuple(self.leaf(one, node) for one in value))
            case PrimExpr():
                return PrimValue(value)
            case bool():
                return PrimValue(IntImm(int(value), "bool"))
            case int():
                return PrimValue(IntImm(value, "int64"))
            case float():
                return PrimValue(FloatImm(value, "float32"))
            case str():
                return StringImm(value)
            case GlobalVar():
                self.require_function(value, node)
                return value
        if isinstance(value, LEAVES):
            return value
        if isinstance(value, EXPRESSIONS):
            return self.bound(value, node)
        what = "struct info" if isinstance(value, StructInfo) else "None" if value is None else "this"
        raise self.source.problem(node, f"{what} is no argument", "expected a value")

    # Calls.

    def call(self, node: ast.Call) -> Any:
        name = self.source.dotted(node.func)
        if self.kind(node) is not None:
            return self.info(node)
        if name is not None and name.startswith("R.") and self.find("R") is None:
            return self.of_namespace(name[2:].removeprefix("op."), node)
        if name is not None and name.startswith("T."):
            return self.exprs.value(node)
        if name == "float":
            return self.source.literal(node)
        if name in PYTHON and not self.is_defined(name):
            raise self.source.problem(node.func, f"Python's `{name}` cannot be called in a script",
                                      "expected an operator of R or a function of the module")  # fmt: skip
        match node.func:
            case ast.Attribute(owner, "astype") if self.is_value(owner):
                args = [self.argument(owner), self.dtype(self.one(node))]
                return self.operator_call("astype", args, {}, node)
        callee = self.value(node.func)
        if isinstance(callee, Var) and callee in self.externs:
            callee = self.externs[callee]
        if not isinstance(callee, (GlobalVar, Var, ExternFunc)):
            raise self.source.problem(node.func, "this cannot be called", "expected a function")
        if node.keywords:
            raise self.source.problem(node.keywords[0], "functions take their arguments in order", "no keywords here")
        if isinstance(callee, GlobalVar):
            self.require_function(callee, node.func)
        return Call(callee, tuple(self.argument(arg) for arg in node.args))

    def of_namespace(self, name: str, node: ast.Call) -> Any:
        match name:
            case "const":
                return self.constant(node)
            case "shape":
                return ShapeExpr(self.row(self.needed(node, self.source.arguments(node, ("value",)), "value")))
            case "prim_value":
                return PrimValue(self.exprs.expr(self.one(node)))
            case "str":
                return StringImm(self.source.string(self.one(node), "the value"))
            case "dtype":
                # TVM's word for none.
                return DataTypeImm(self.dtype(self.one(node)) or "void")
            case "tuple":
                return Tuple(tuple(self.argument(arg) for arg in node.args))
            case "ShapeExpr":
                return self.of_namespace("shape", node)
            case "TupleGetItem":
                given = self.source.arguments(node, ("tuple_value", "index"))
                place = self.integer(self.needed(node, given, "index"), "the number of a field")
                return TupleGetItem(self.argument(self.needed(node, given, "tuple_value")), place)
            case "ExternFunc":
                return ExternFunc(self.source.string(node.args[0], "a function's name"))
            case "to_vdevice":
                return self.to_vdevice(node)
            case "hint_on_device":
                return self.hint_on_device(node)
            case "layout_transform":
                return self.layout_transform(node)
            case "emit":
                return self.value(self.one(node))
            case "emit_with_sinfo" | "emit_with_ty" | "emit_with_type":
                return self.with_info(node)
            case "linear" | "nn.relu6":
                return self.composed(name, node)
            case "stop_lift_params":
                return self.of_namespace("builtin.stop_lift_params", node)
            case "call_tir" | "dist.call_tir":
                return self.call_tir(node)
            case "dist.const":
                return self.spread_constant(node)
            case "dist.annotate_sharding" | "dist.redistribute":
                return self.redistribute(name, node)
            case "call_dps_packed":
                return self.call_dps_packed(node)
            case "call_packed":
                callee, packed = self.packed(node)
                return Call(callee, packed)
        args = [self.value(arg) for arg in node.args]
        keywords = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.source.problem(keyword, "arguments are written out", "expected name=value")
            keywords[keyword.arg] = self.value(keyword.value)
        return self.operator_call(name, args, keywords, node)

    def with_info(self, node: ast.Call) -> Call:
        """Return ``R.emit_with_sinfo("relax.<name>", args, infos)``: a call of an operator by its
        name.
        """
        given = self.source.arguments(node, ("op", "args", "ty_args", "sinfo_args", "type_args"))
        name = self.source.string(self.needed(node, given, "op"), "an operator's name").removeprefix("relax.")
        args = self.value(self.needed(node, given, "args"))
        parts: Any = args.fields if isinstance(args, Tuple) else args
        return self.operator_call(name, parts if isinstance(parts, (tuple, list)) else (parts,), {}, node)

    def composed(self, name: str, node: ast.Call) -> Call:
        """Return what TVM puts together of several operators: ``R.linear`` and ``R.nn.relu6``."""
        if name == "nn.relu6":
            return self.operator_call("clip", [self.value(self.one(node)), 0, 6], {}, node)
        given = self.source.arguments(node, ("data", "weight", "bias", "out_dtype"))
        data, weight = (self.value(self.needed(node, given, one)) for one in ("data", "weight"))
        turned = self.bound(self.operator_call("permute_dims", [weight], {}, node), node)
        dtype = {"out_dtype": self.value(given["out_dtype"])} if "out_dtype" in given else {}
        product = self.operator_call("matmul", [data, turned], dtype, node)
        bias = self.value(given["bias"]) if "bias" in given else None
        return product if bias is None else self.operator_call("add", [self.bound(product, node), bias], {}, node)

    def one(self, node: ast.Call) -> ast.expr:
        given = self.source.arguments(node, ("value", "data", "expr", "dtype"))
        if len(given) == 1:
            given["value"] = next(iter(given.values()))
        if "value" not in given:
            raise self.source.problem(node, "a value is missing", "expected one value")
        return given["value"]

    def constant(self, node: ast.Call) -> Constant:
        given = self.source.arguments(node, ("value", "dtype"))
        if "value" not in given:
            raise self.source.problem(node, "a constant has a value", "expected R.const(value, dtype)")
        called = self.source.called(given["value"])
        if called in ("tvm.runtime.empty", "tvm.nd.empty"):
            return self.empty(given["value"])
        dtype = self.dtype(given["dtype"]) if "dtype" in given else ""
        if isinstance(given["value"], ast.Name) and given["value"].id in self.constants:
            array = np.asarray(self.constants[given["value"].id])
            return Constant(array.astype(numpy_dtype(dtype), copy=False) if dtype else array)
        value = self.source.literal(given["value"])
        if value is None:
            raise self.source.problem(given["value"], "a constant has a value", "expected numbers")
        if not dtype:
            first = value
            while isinstance(first, (list, tuple)) and first:
                first = first[0]
            dtype = _DEFAULT_DTYPES.get(type(first), "float32")
        if isinstance(value, str):
            with suppress(ValueError):
                value = float(value)
        return self.numbers(value, dtype, given["value"])

    def spread_constant(self, node: ast.Call) -> Constant:
        """Return ``R.dist.const(1.0, R.DTensor(…))``: a constant that is spread over a mesh of
        devices.
        """
        given = self.source.arguments(node, ("value", "struct_info", "ty"))
        said = given.get("struct_info", given.get("ty"))
        info = self.info(said) if said is not None else None
        if "value" not in given or not isinstance(info, TensorStructInfo) or info.sharding is None:
            raise self.source.problem(node, "R.dist.const takes a value and R.DTensor(…)", "expected 2 arguments")
        made = self.numbers(self.source.literal(given["value"]), info.dtype or "float32", given["value"])
        return Constant(made.data, sharding=info.sharding)

    def empty(self, node: ast.expr) -> Constant:
        """Return ``tvm.runtime.empty((0, 4), "float32")``: an array that has no elements, for it
        says none.
        """
        assert isinstance(node, ast.Call)
        given = self.source.arguments(node, ("shape", "dtype"))
        shape = self.source.literal(self.needed(node, given, "shape"))
        dtype = self.dtype(given["dtype"]) if "dtype" in given else "float32"
        extents = shape if isinstance(shape, (list, tuple)) else [shape]
        if not all(isinstance(extent, int) and extent >= 0 for extent in extents) or 0 not in extents:
            raise self.source.problem(node, "this array has elements, which nothing says", "expected an extent of 0")
        return self.numbers(np.empty(extents), dtype, node)

    def packed(self, node: ast.Call) -> tuple[ExternFunc, tuple[Expr, ...]]:
        """Return callee and arguments of ``R.call_packed``; result types are left to the
        binding.
        """
        if not node.args:
            raise self.source.problem(node, "a packed function has a name", "expected the name first")
        callee = self.extern(node.args[0])
        return callee, tuple(self.argument(arg) for arg in node.args[1:])

    def extern(self, node: ast.expr) -> ExternFunc:
        """Return the function that ``node`` names: a string, ``R.ExternFunc``, or a variable bound
        to that.
        """
        found = self.value(node)
        if isinstance(found, Var):
            found = self.externs.get(found)
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
                    infos = self.infos(self.value(keyword.value), keyword.value)
                    return infos[0] if len(infos) == 1 else None
        return None

    # Calls that are given the memory of their results.

    def call_tir(self, node: ast.Call) -> CallTIR | CallDPSPacked:
        given = self.source.arguments(node, ("func", "args", "out", "dtype", "tir_vars", *RESULT))
        callee = self.value(self.needed(node, given, "func"))
        args = self.tuple_of(self.needed(node, given, "args"))
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
            values = self.value(given["tir_vars"])
            row: Any = values.values if isinstance(values, ShapeExpr) else values
            if not isinstance(row, (tuple, list)):
                raise self.source.problem(given["tir_vars"], "`tir_vars` is a shape", "expected R.shape([…])")
            scalars += [as_prim(self.extent_of(one, given["tir_vars"])) for one in row]
            self.scalars_last.add(callee)
        return CallTIR(callee, tuple(args), out, tuple(scalars))

    def call_dps_packed(self, node: ast.Call) -> CallDPSPacked:
        given = self.source.arguments(node, ("func", "args", "out", "dtype", *RESULT))
        name = self.extern(self.needed(node, given, "func")).name
        return CallDPSPacked(name, tuple(self.tuple_of(self.needed(node, given, "args"))), self.results(node, given))

    def tuple_of(self, node: ast.expr) -> list[Expr]:
        found = self.value(node)
        if isinstance(found, Var) and isinstance(found.info, TupleStructInfo):
            found = self.fields_of(found, node)
        parts: Any = found.fields if isinstance(found, Tuple) else found
        return [self.leaf(one, node) for one in (parts if isinstance(parts, (tuple, list)) else (parts,))]

    def results(self, node: ast.Call, given: Mapping[str, ast.expr]) -> tuple[TensorStructInfo, ...]:
        """Return the results of a call: struct info, a list of it, or shapes with ``dtype=``."""
        place = next((given[name] for name in ("out", *RESULT) if name in given), None)
        if place is None:
            raise self.source.problem(
                node, "the call does not say what it returns", "expected struct info of the result"
            )
        found = self.value(place)
        if isinstance(found, ShapeExpr):
            found = found.values
        if "dtype" in given:
            dtypes = self.value(given["dtype"])
            if isinstance(dtypes, str):
                shapes, dtypes = [found], [dtypes]
            else:
                shapes = found
            try:
                return tuple(
                    TensorStructInfo(tuple(self.extent_of(one, place) for one in shape), dtype)
                    for shape, dtype in zip(shapes, dtypes, strict=True)
                )
            except (TypeError, ValueError):
                raise self.source.problem(place, "these are no shapes", "expected a shape per dtype") from None
        return self.infos(found, place)

    def infos(self, found: Any, node: ast.AST) -> tuple[Any, ...]:
        infos = tuple(found) if isinstance(found, (list, tuple)) else (found,)
        if not all(isinstance(info, StructInfo) for info in infos):
            raise self.source.problem(node, "this is no struct info", "expected R.Tensor(…), or a list of struct info",
                                      help="a shape needs `dtype=` beside it")  # fmt: skip
        return infos
