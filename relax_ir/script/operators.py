"""Calls of operators out of TVMScript: by record where there is one, else kept as they are written.

Arguments are given by position or by name, as TVM's signatures have them; what is left out is what
TVM takes for it.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay2relax.core.dtype import DTypeError, integer_range, numpy_dtype
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.ops.registry.attributes import AttrField, attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relax_op
from relay2relax.relax_ir.inference.op_signatures import (
    RENAMED,
    REQUIRED,
    Argument,
    ForeignAttrs,
    Signature,
    foreign_op,
    operator_names,
    signature,
)
from relay2relax.relax_ir.ir.expr import (
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    Expr,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import PrimStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.visit import LEAVES
from relay2relax.relax_ir.script.dialect import DIALECTS
from relay2relax.relax_ir.script.types import TypeReader, as_dimension
from relay2relax.tir.extent import as_prim
from relay2relax.tir.ir.expr import FloatImm, IntImm, PrimExpr
from relay2relax.tir.script.expr import is_dtype

EXPRESSIONS = (*LEAVES, Call, CallTIR, CallDPSPacked, Tuple, TupleGetItem)
# What the result of a call is said with, by age.
RESULT = ("out_sinfo", "out_ty", "sinfo_args", "ty_args")
# What is given its arguments as one tuple.
_INTO_MEMORY = frozenset({"call_tir_inplace", "call_tir_with_grad", "dist.call_tir_local_view"})


class OperatorReader(TypeReader, ABC):
    """Reads calls of operators; how arguments are bound to variables is asked of the subclass."""

    @abstractmethod
    def bound(self, value: Expr, node: ast.AST) -> Expr:
        """Return a variable bound to ``value``."""

    @abstractmethod
    def leaf(self, value: Any, node: ast.AST) -> Expr:
        """Return ``value`` as a leaf, or a tuple of leaves."""

    def extent_of(self, value: Any, node: ast.AST) -> Any:
        """Return ``value`` as an extent."""
        value = as_dimension(value)
        if isinstance(value, PrimValue):
            value = value.value
        if isinstance(value, bool) or not isinstance(value, (int, PrimExpr)):
            raise self.source.problem(node, "this is no extent", "expected integers and dimensions")
        return value.value if isinstance(value, IntImm) and value.dtype == "int64" else value

    def operator_call(self, name: str, args: Sequence[Any], keywords: Mapping[str, Any], node: ast.AST) -> Call:
        """Return the call of ``R.<name>``; by its record where it has one."""
        name = RENAMED.get(name, name)
        op, form = relax_op(name), signature(name)
        if op is None and form is None:
            at = node.func if isinstance(node, ast.Call) else node
            raise self.source.undefined(at, f"R.{name}", [f"R.{one}" for one in operator_names()], "operator")
        if op is None:
            return self.foreign(name, args, keywords, node)
        try:
            given = self.by_name(op, form, args, keywords, node)
        except TypeError as error:
            raise self.source.problem(node, f"R.{name}: {error}", "expected other arguments") from None
        if form is not None and (self.says_more(op, form, given) or takes_scalar(op, form, given)):
            return self.foreign(name, args, keywords, node)
        return self.by_record(op, given, form, node)

    def says_more(self, op: OpDef, form: Signature, given: Mapping[str, Any]) -> bool:
        """Whether an argument that the record of ``op`` has no place for is another than what TVM
        takes for it.

        The call is then kept as it is written, as that of an operator without a record.
        """
        assert op.script is not None
        if form.star is not None or op.variadic:
            return False
        fields = [field for field in attr_fields(op.attrs) if field.name not in op.script.omit]
        known = {op.script.rename.get(field.name, field.name) for field in fields}
        places = len(op.inputs) + len(op.script.positional)
        others = [name for place, name in enumerate(form.params) if name not in known and place >= places]
        return any(_plain(given[name]) != form.default(name) for name in others if name in given)

    def by_name(
        self, op: OpDef, form: Signature | None, args: Sequence[Any], keywords: Mapping[str, Any], node: ast.AST
    ) -> dict[str, Any]:
        """Return the arguments by the names that TVM has for them."""
        assert op.script is not None
        if form is not None and form.star is None:
            names: Sequence[str] = form.params
        else:
            fields = [op.script.rename.get(f.name, f.name) for f in attr_fields(op.attrs)]
            names = [*op.inputs, *(field for field in fields if field not in op.script.omit)]
        title = f"R.{op.script.name} has no such argument"
        if len(args) > len(names):
            raise self.source.problem(node, title, f"{len(args)} given, expected {', '.join(names)}")
        given = dict(zip(names, args, strict=False))
        for keyword, value in keywords.items():
            if keyword in RESULT:
                continue  # TVM prints what the result of some operators is; the record knows it.
            if keyword not in names:
                raise self.source.problem(self.keyword(node, keyword), title, f"expected {', '.join(names)}")
            if keyword in given:
                raise self.source.problem(
                    node, f"R.{op.script.name}: the argument `{keyword}` is given twice", "given twice"
                )
            given[keyword] = value
        if form is not None and form.star is None:
            implied = DIALECTS["tvm-0.18"].implied if self.source.classic else {}
            for param, default in zip(form.params, form.defaults, strict=True):
                default = implied.get((op.script.name, param), default)
                if default is not REQUIRED:
                    given.setdefault(param, default)
        return given

    def keyword(self, node: ast.AST, name: str) -> ast.AST:
        found = node.keywords if isinstance(node, ast.Call) else []
        return next((keyword for keyword in found if keyword.arg == name), node)

    def by_record(self, op: OpDef, given: dict[str, Any], form: Signature | None, node: ast.AST) -> Call:
        assert op.script is not None
        script = op.script
        fields = [field for field in attr_fields(op.attrs) if field.name not in script.omit]
        keywords = {script.rename.get(f.name, f.name): f for f in fields if f.name not in script.positional}
        names = form.params if form is not None and form.star is None else tuple(given)
        for place, field_name in enumerate(script.positional):
            index = len(op.inputs) + place
            if index < len(names):
                keywords[names[index]] = next(f for f in fields if f.name == field_name)
        values: dict[str, Any] = {}
        inputs: list[Any] = []
        for name in names:
            field = keywords.get(name)
            if field is not None:
                if name in given:
                    values[field.name] = self.attribute_value(given[name], field, node, f"R.{script.name}")
            elif (
                name in given
                and (op.variadic or len(inputs) < len(op.inputs))
                # One more input may be left out, as the bias of an attention.
                and not (given[name] is None and op.variadic)
            ):
                inputs.append(given[name])
        for field in fields:
            if field.required and field.name not in values:
                spelled = script.rename.get(field.name, field.name)
                raise self.source.problem(
                    node, f"R.{script.name}: the argument `{spelled}` is missing", f"expected `{spelled}`"
                )
        missing = [one for one in op.inputs[len(inputs) :] if not one.startswith("*")]
        if missing:
            raise self.source.problem(node, f"R.{script.name}: the argument `{missing[0]}` is missing",
                                      f"{len(inputs)} given, expected {', '.join(op.inputs)}")  # fmt: skip
        args = self.inputs(op, inputs, node)
        try:
            return Call(op, args, op.attrs(**values))
        except (TypeError, Relay2RelaxError) as error:
            raise self.source.problem(node, f"R.{script.name}: {error}", "expected other arguments") from None

    def numbers(self, value: Any, dtype: str, node: ast.AST) -> Constant:
        """Return a number, or lists of numbers, as a constant.

        Raises ScriptProblem where ``dtype`` cannot hold it.
        """
        try:
            return Constant(np.array(value, numpy_dtype(dtype)))
        except OverflowError as error:
            low, high = integer_range(dtype)
            title, label = f"this number does not fit in {dtype}", f"expected {low} to {high}"
            raise self.source.problem(node, title, label) from error
        except (ValueError, TypeError, DTypeError) as error:
            label = "expected numbers, in lists of one length each" if isinstance(value, list) else "expected a number"
            raise self.source.problem(node, f"this is no constant of dtype {dtype!r}", label) from error

    def inputs(self, op: OpDef, values: Sequence[Any], node: ast.AST) -> tuple[Expr, ...]:
        """Return the arguments of an operator: bare numbers take the dtype of the tensor beside
        them.
        """
        dtype = ""
        values = [
            self.bound(v, node) if isinstance(v, EXPRESSIONS) and not isinstance(v, (*LEAVES, Tuple)) else v
            for v in values
        ]
        for value in values:
            if isinstance(value, (Var, Constant)) and isinstance(value.info, TensorStructInfo):
                dtype = dtype or value.info.dtype
        made: list[Expr] = []
        for index, value in enumerate(values):
            name = op.inputs[min(index, len(op.inputs) - 1)]
            if isinstance(value, (bool, int, float)) and dtype:
                made.append(self.numbers(value, dtype, node))
            elif isinstance(value, (tuple, list)) and self.is_shape(value, name):
                made.append(ShapeExpr(tuple(self.extent_of(one, node) for one in value)))
            else:
                made.append(self.leaf(value, node))
        return tuple(made)

    def is_shape(self, value: Sequence[Any], name: str) -> bool:
        if not value:
            return "shape" in name
        return all(isinstance(as_dimension(one), (int, PrimExpr, PrimValue)) and one is not True for one in value)

    def attribute_value(self, value: Any, field: AttrField, node: ast.AST, op: str) -> Any:
        """Return ``value`` as the attribute class has it."""
        at = self.keyword(node, field.name)
        value = _plain(value)
        if _holds_struct_info(value):
            raise self.source.problem(at, f"{op}: `{field.name}` is a value", "expected a value, found struct info")
        match field.kind:
            case "DataType" | "string" | "String":
                if value is None:
                    return None if field.optional else ""
                if isinstance(value, str) and field.kind == "DataType" and not is_dtype(value or "void"):
                    raise self.source.problem(at, f"there is no dtype {value!r}", 'expected a dtype such as "float32"')
                if isinstance(value, str):
                    return "" if value == "void" else value
                raise self.source.problem(at, f"{op}: `{field.name}` is a string", "expected a string")
            case _ if value is None:
                return None if field.optional or field.required else field.default
            case "double":
                if isinstance(value, (FloatImm, IntImm)):
                    return float(value.value)
                if isinstance(value, (int, float)):
                    return float(value)
                raise self.source.problem(at, f"{op}: `{field.name}` is a number", "expected a number")
            case "bool" | "Bool":
                if isinstance(value, (bool, int)):
                    return bool(value)
                raise self.source.problem(at, f"{op}: `{field.name}` is a bool", "expected True or False")
            case "int" | "Integer" if isinstance(value, IntImm):
                return value.value
            case "int" | "Integer" | "IndexExpr":
                if isinstance(value, (int, PrimExpr)) or (field.kind == "IndexExpr" and isinstance(value, float)):
                    return value
                raise self.source.problem(at, f"{op}: `{field.name}` is an integer", "expected an integer")
            case "Array<IndexExpr>" | "Array<Integer>":
                if isinstance(value, int):
                    return (value,) * (len(field.default) if isinstance(field.default, tuple) else 1)
                if isinstance(value, tuple) and all(isinstance(one, (int, float, PrimExpr)) for one in value):
                    return value
                raise self.source.problem(at, f"{op}: `{field.name}` is a list", "expected a list of integers")
            case "Array<Array<Integer>>" if isinstance(value, tuple) and all(isinstance(one, int) for one in value):
                # ``pad_width`` of R.nn.pad is flat: before and after, axis by axis.
                return tuple(zip(value[::2], value[1::2], strict=True)) if len(value) % 2 == 0 else value
        return value

    def foreign(self, name: str, args: Sequence[Any], keywords: Mapping[str, Any], node: ast.AST) -> Call:
        """Return the call of an operator without a record, as it is written."""
        op = foreign_op(name)
        assert op is not None
        if name in _INTO_MEMORY and len(args) > 1:
            args = [args[0], self.fields_of(args[1], node), *args[2:]]
        if name == "dist.call_tir_local_view" and "tir_vars" in keywords:
            # Scalars stood apart until 0.25.
            scalars = keywords["tir_vars"]
            row = scalars.values if isinstance(scalars, ShapeExpr) else scalars
            tensors = self.leaf(args[1], node)
            given = tuple(PrimValue(as_prim(self.extent_of(one, node))) for one in row)
            args = [args[0], Tuple((*tensors.fields, *given) if isinstance(tensors, Tuple) else given), *args[2:]]
            keywords = {keyword: value for keyword, value in keywords.items() if keyword != "tir_vars"}
        params = set(op.inputs) | set(RESULT)
        for keyword in keywords:
            if keyword not in params and name != "call_builtin_with_ctx":
                raise self.source.problem(self.keyword(node, keyword), f"R.{name} has no such argument",
                                          f"expected {', '.join(op.inputs)}")  # fmt: skip
        found: list[Expr] = []
        layout: list[tuple[str, Any]] = []
        for keyword, value in _in_order(signature(name), args, _in_today_s_words(keywords)):
            plain = isinstance(value, StringImm) and name.startswith("memory.")
            if self.is_expression(value) and not plain:
                layout.append((keyword, Argument(len(found))))
                found.append(self.leaf(value, node))
            else:
                layout.append((keyword, _plain(value)))
        return Call(op, tuple(found), ForeignAttrs(tuple(layout)))

    def fields_of(self, value: Any, node: ast.AST) -> Any:
        """Return a tuple that is a variable as a tuple of its fields, another value alone as a
        tuple of it.
        """
        if not isinstance(value, Var):
            return value
        if not isinstance(value.info, TupleStructInfo):
            return Tuple((value,))
        return Tuple(tuple(self.bound(TupleGetItem(value, place), node) for place in range(len(value.info.fields))))

    def is_expression(self, value: Any) -> bool:
        if isinstance(value, (tuple, list)):
            return any(self.is_expression(one) for one in value)
        return isinstance(value, EXPRESSIONS) and not isinstance(value, PrimValue)


def _in_order(form: Signature | None, args: Sequence[Any], keywords: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the arguments of a call with their keywords, "" for those without: by position as far
    as that goes.

    Of what is left out, only what stands between is filled in.
    """
    given = [("", arg) for arg in args]
    if form is None or form.star is not None or not keywords.keys() <= set(form.params):
        return [*given, *keywords.items()]
    named = {**dict(zip(form.params, args, strict=False)), **keywords}
    places = [name for name in form.params if name not in form.by_name]
    while places and places[-1] not in named:
        places.pop()
    if any(name not in named and form.default(name) is REQUIRED for name in places):
        return [*given, *keywords.items()]
    found = [("", named.get(name, form.default(name))) for name in places]
    return [*found, *((name, value) for name, value in named.items() if name in form.by_name)]


def takes_scalar(op: OpDef, form: Signature, given: Mapping[str, Any]) -> bool:
    """Whether a scalar that only the running program knows stands where the record of ``op`` has an
    attribute.

    The call is then kept as it is written, as that of an operator without a record; integers in
    ``OF_SCALARS`` are dimensions, which attributes may name.
    """
    others = form.params[len(op.inputs) :] if form.star is None and not op.variadic else ()
    return any(_is_scalar(given[name]) for name in others if name in given)


def _is_scalar(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_is_scalar, value))
    if isinstance(value, Tuple):
        return any(map(_is_scalar, value.fields))
    return isinstance(value, Var) and isinstance(value.info, PrimStructInfo) and value.info.value is None


def _in_today_s_words(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``keywords`` with today's names of the results' struct info, that of packed functions
    in a row.
    """
    named = {{"sinfo_args": "ty_args", "out_sinfo": "out_ty"}.get(name, name): v for name, v in keywords.items()}
    return {name: (v,) if name == "ty_args" and isinstance(v, StructInfo) else v for name, v in named.items()}


def _holds_struct_info(value: Any) -> bool:
    return any(map(_holds_struct_info, value)) if isinstance(value, tuple) else isinstance(value, StructInfo)


def _plain(value: Any) -> Any:
    """Return an attribute's value without the wrappers of Relax; lists become tuples."""
    value = as_dimension(value)
    match value:
        case PrimValue(FloatImm() as literal):
            return literal
        case PrimValue(inner):
            return _plain(inner)
        case IntImm(number, ("bool" | "int64") as dtype):
            return bool(number) if dtype == "bool" else number
        case FloatImm(number, "float64"):
            return number
        case StringImm(text):
            return text
        case ShapeExpr(values) | Tuple(values):
            return tuple(_plain(one) for one in values)
        case list() | tuple():
            return tuple(_plain(one) for one in value)
    return value
