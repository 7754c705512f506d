"""Calls of operators out of TVMScript: by record where there is one, else kept as they are written.

Arguments are given by position or by name, as TVM's signatures have them; what is left out is what
TVM takes for it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from relay2relax.core.errors import Diagnostic, LimitError, Relay2RelaxError
from relay2relax.core.errors.table import script as mistakes
from relay2relax.ops.registry.attributes import AttrField, attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relax_op
from relay2relax.relax_ir.inference.op_signatures import RENAMED, REQUIRED, Signature, operator_names, signature
from relay2relax.relax_ir.ir.expr import Call, Constant, Expr, PrimValue, ShapeExpr, Tuple, Var
from relay2relax.relax_ir.ir.struct_info import PrimStructInfo, StructInfo, TensorStructInfo
from relay2relax.relax_ir.ir.visit import LEAVES
from relay2relax.relax_ir.script.calls.arguments import EXPRESSIONS, Arguments, plain
from relay2relax.relax_ir.script.calls.foreign import RESULT, ForeignReader, find_keyword
from relay2relax.relax_ir.script.dialect import implied
from relay2relax.relax_ir.script.types import as_dimension
from relay2relax.tir.ir.expr import FloatImm, IntImm, PrimExpr
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.types import is_dtype


class OperatorReader:
    """Reads calls of operators."""

    def __init__(self, context: ReadContext, arguments: Arguments) -> None:
        self.source = context.source
        self.dialect = context.dialect
        self.arguments = arguments
        self.foreign = ForeignReader(arguments)

    def operator_call(self, name: str, args: Sequence[object], keywords: Mapping[str, object], node: ast.AST) -> Call:
        """Return the call of ``R.<name>``; by its record where it has one."""
        name = RENAMED.get(name, name)
        op, form = relax_op(name), signature(name)
        if op is None and form is None:
            at = node.func if isinstance(node, ast.Call) else node
            raise self.source.undefined(at, f"R.{name}", [f"R.{one}" for one in operator_names()], "operator")
        if op is None:
            return self.foreign.call(name, args, keywords, node)
        try:
            given = self.by_name(op, form, args, keywords, node)
        except TypeError as error:
            raise self.source.problem(
                node, f"R.{name}: {error}", "expected other arguments", kind=mistakes.ARGUMENTS
            ) from None
        if form is not None and (self.says_more(op, form, given) or takes_scalar(op, form, given)):
            return self.foreign.call(name, args, keywords, node)
        return self.by_record(op, given, form, node)

    def says_more(self, op: OpDef, form: Signature, given: Mapping[str, object]) -> bool:
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
        return any(plain(given[name]) != form.default(name) for name in others if name in given)

    def by_name(
        self, op: OpDef, form: Signature | None, args: Sequence[object], keywords: Mapping[str, object], node: ast.AST
    ) -> dict[str, object]:
        """Return the arguments by the names that TVM has for them."""
        assert op.script is not None
        if form is not None and form.star is None:
            names: Sequence[str] = form.params
        else:
            fields = [op.script.rename.get(f.name, f.name) for f in attr_fields(op.attrs)]
            names = [*op.inputs, *(field for field in fields if field not in op.script.omit)]
        title = f"R.{op.script.name} has no such argument"
        if len(args) > len(names):
            raise self.source.problem(
                node, title, f"{len(args)} given, expected {', '.join(names)}", kind=mistakes.ARGUMENTS
            )
        given = dict(zip(names, args, strict=False))
        for keyword, value in keywords.items():
            if keyword in RESULT:
                continue  # TVM prints what the result of some operators is; the record knows it.
            if keyword not in names:
                raise self.source.problem(find_keyword(node, keyword), title, f"expected {', '.join(names)}")
            if keyword in given:
                raise self.source.problem(
                    node,
                    f"R.{op.script.name}: the argument `{keyword}` is given twice",
                    "given twice",
                    kind=mistakes.ARGUMENTS,
                )
            given[keyword] = value
        if form is not None and form.star is None:
            # What the operators of older releases take for arguments that they do not have.
            older = {} if self.dialect.today else implied(self.dialect, op.script.name)
            for param, default in zip(form.params, form.defaults, strict=True):
                default = older.get(param, default)
                if default is not REQUIRED:
                    given.setdefault(param, default)
        return given

    def by_record(self, op: OpDef, given: dict[str, object], form: Signature | None, node: ast.AST) -> Call:
        assert op.script is not None
        script = op.script
        fields = [field for field in attr_fields(op.attrs) if field.name not in script.omit]
        keywords = {script.rename.get(f.name, f.name): f for f in fields if f.name not in script.positional}
        names = form.params if form is not None and form.star is None else tuple(given)
        for place, field_name in enumerate(script.positional):
            index = len(op.inputs) + place
            if index < len(names):
                keywords[names[index]] = next(f for f in fields if f.name == field_name)
        values: dict[str, object] = {}
        inputs: list[object] = []
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
                    node,
                    mistakes.ARGUMENTS.message(callee=f"R.{script.name}", name=spelled),
                    f"expected `{spelled}`",
                    kind=mistakes.ARGUMENTS,
                )
        missing = [one for one in op.inputs[len(inputs) :] if not one.startswith("*")]
        if missing:
            raise self.source.problem(
                node,
                mistakes.ARGUMENTS.message(callee=f"R.{script.name}", name=missing[0]),
                f"{len(inputs)} given, expected {', '.join(op.inputs)}",
                kind=mistakes.ARGUMENTS,
            )
        args = self.inputs(op, inputs, node)
        try:
            return Call(op, args, op.attrs(**values))
        except LimitError:
            raise
        except (TypeError, Relay2RelaxError) as error:
            first = error.diagnostics[0] if isinstance(error, Relay2RelaxError) else Diagnostic(str(error))
            title, label = f"R.{script.name}: {first.title}", "expected other arguments"
            raise self.source.problem(node, title, label, first.help, kind=mistakes.ARGUMENTS) from None

    def inputs(self, op: OpDef, values: Sequence[object], node: ast.AST) -> tuple[Expr, ...]:
        """Return the arguments of an operator: bare numbers take the dtype of the tensor beside
        them.
        """
        dtype = ""
        values = [
            self.arguments.bindings.bound(v, node)
            if isinstance(v, EXPRESSIONS) and not isinstance(v, (*LEAVES, Tuple))
            else v
            for v in values
        ]
        for value in values:
            if isinstance(value, (Var, Constant)) and isinstance(value.info, TensorStructInfo):
                dtype = dtype or value.info.dtype
        made: list[Expr] = []
        for index, value in enumerate(values):
            name = op.inputs[min(index, len(op.inputs) - 1)]
            if isinstance(value, (bool, int, float)) and dtype:
                made.append(self.arguments.numbers(value, dtype, node))
            elif isinstance(value, (tuple, list)) and self.is_shape(value, name):
                made.append(ShapeExpr(tuple(self.arguments.extent_of(one, node) for one in value)))
            else:
                made.append(self.arguments.leaf(value, node))
        return tuple(made)

    def is_shape(self, value: Sequence[object], name: str) -> bool:
        if not value:
            return "shape" in name
        return all(isinstance(as_dimension(one), (int, PrimExpr, PrimValue)) and one is not True for one in value)

    def attribute_value(self, value: object, field: AttrField, node: ast.AST, op: str) -> object:
        """Return ``value`` as the attribute class has it."""
        at = find_keyword(node, field.name)
        value = plain(value)
        if _holds_struct_info(value):
            raise self.source.problem(
                at, f"{op}: `{field.name}` is a value", "expected a value, found struct info", kind=mistakes.STRUCT_INFO
            )
        match field.kind:
            case "DataType" | "string" | "String":
                if value is None:
                    return None if field.optional else ""
                if isinstance(value, str) and field.kind == "DataType" and not is_dtype(value or "void"):
                    raise self.source.problem(
                        at,
                        f"{op}: `{field.name}` is {value!r}, which is no dtype",
                        'expected a dtype such as "float32"',
                    )
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


def takes_scalar(op: OpDef, form: Signature, given: Mapping[str, object]) -> bool:
    """Whether a scalar that only the running program knows stands where the record of ``op`` has an
    attribute.

    The call is then kept as it is written, as that of an operator without a record; integers in
    ``OF_SCALARS`` are dimensions, which attributes may name.
    """
    others = form.params[len(op.inputs) :] if form.star is None and not op.variadic else ()
    return any(_is_scalar(given[name]) for name in others if name in given)


def _is_scalar(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_is_scalar, value))
    if isinstance(value, Tuple):
        return any(map(_is_scalar, value.fields))
    return isinstance(value, Var) and isinstance(value.info, PrimStructInfo) and value.info.value is None


def _holds_struct_info(value: object) -> bool:
    return any(map(_holds_struct_info, value)) if isinstance(value, tuple) else isinstance(value, StructInfo)
