"""Relax expressions out of TVMScript: names, attributes, fields and arithmetic of values."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from relay2relax.core.errors.table import script
from relay2relax.relax_ir.ir.expr import Constant, Expr, TupleGetItem, Var
from relay2relax.relax_ir.script.calls.arguments import EXPRESSIONS, Arguments
from relay2relax.relax_ir.script.calls.constants import ConstantReader
from relay2relax.relax_ir.script.calls.operators import OperatorReader
from relay2relax.relax_ir.script.calls.reader import CallReader
from relay2relax.relax_ir.script.context import ModuleContext, ModuleName
from relay2relax.relax_ir.script.devices import DeviceReader
from relay2relax.relax_ir.script.types import TypeReader, as_dimension
from relay2relax.tir.script.context import ReadContext, Value

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide",
    ast.Mod: "mod", ast.Pow: "power", ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater",
    ast.GtE: "greater_equal",
}  # fmt: skip
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
# What is known of a value, as an attribute of it, by age.
_INFO = frozenset({"struct_info", "struct_info_", "ty"})


class ValueReader:
    """Reads expressions of one function."""

    def __init__(
        self,
        module: ModuleContext,
        context: ReadContext,
        types: TypeReader,
        devices: DeviceReader,
        arguments: Arguments,
    ) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.module = module
        self.types = types
        self.exprs = types.exprs
        self.arguments = arguments
        self.bindings = arguments.bindings
        self.operators = OperatorReader(context, arguments)
        self.constants = ConstantReader(module, types, arguments)
        self.calls = CallReader(module, context, types, devices, arguments, self.operators, self.constants, self)

    def argument(self, node: ast.AST) -> Expr:
        """Return ``node`` as an argument in A-normal form."""
        return self.arguments.leaf(self.value(node), node)

    def value(self, node: ast.AST) -> object:
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
                return self.negative(operand, node)
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
                return self.calls.call(node)
        raise self.source.problem(node, "this is no expression of Relax", "expected a variable, a call or a tuple",
                                  help=_WRITTEN_OUT.get(type(node), ""))  # fmt: skip

    def negative(self, operand: ast.expr, node: ast.AST) -> object:
        value = self.value(operand)
        if isinstance(value, EXPRESSIONS):
            return self.operators.operator_call("negative", [value], {}, node)
        # What else there is, None say, is refused as no number.
        return self.exprs.operators.unary(ast.USub(), cast("Value", value), node)

    def no_tensors(self, operands: Sequence[ast.expr], instead: str) -> None:
        """Raise ScriptProblem where a name among ``operands`` is a tensor: scalars alone have these
        operators.
        """
        for one in operands:
            found = self.scopes.find(one.id) if isinstance(one, ast.Name) else None
            if isinstance(found, (Var, Constant)):
                raise self.source.problem(
                    one, "Python's words for truth do not take tensors", f"call {instead}", kind=script.NAME
                )

    def named(self, node: ast.AST, name: str) -> object:
        found = self.scopes.lookup(name)
        if found is None:
            found = self.module.globals.get(name)
        if found is None and name in self.module.constants and not isinstance(self.module.constants[name], Mapping):
            found = Constant(np.asarray(self.module.constants[name]))
        if found is None:
            raise self.bindings.undefined(node, name)
        return found

    def attribute_of(self, node: ast.Attribute, owner: ast.expr, attribute: str) -> object:
        if isinstance(owner, ast.Name) and isinstance(self.scopes.lookup(owner.id), ModuleName):
            if attribute in self.module.externs:
                return self.module.externs[attribute]
            if attribute not in self.module.globals:
                raise self.source.undefined(node, attribute, self.module.globals, "function")
            return self.module.globals[attribute]
        if self.types.kind(node) is not None:
            return self.types.info(node)
        if attribute in _INFO and self.is_value(owner):
            return self.module.inference.of(self.argument(owner))
        inspected = self.inspected(node)
        if inspected is not None:
            return inspected
        name = self.source.dotted(node)
        if name is not None and not name.startswith(("R.", "T.", "I.")):
            first: ast.expr = owner
            while isinstance(first, ast.Attribute):
                first = first.value
            head = name.partition(".")[0]
            if self.scopes.find(head) is None:
                raise self.bindings.undefined(first, head)
            raise self.source.problem(node, f"`{head}` has no attribute `{attribute}`", "values have no attributes",
                                      help=_INSTEAD.get(attribute, ""), kind=script.OPERATOR)  # fmt: skip
        raise self.source.problem(node, f"`{name}` is no value", "expected a call or a variable")

    def inspected(self, node: ast.Attribute | ast.Subscript) -> object:
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
        return self.operators.operator_call(f"inspect.{name}", args, {}, node)

    def is_value(self, node: ast.expr) -> bool:
        """Whether ``node`` is a variable, or a field of one."""
        while isinstance(node, ast.Subscript):
            node = node.value
        return isinstance(node, ast.Name) and isinstance(self.scopes.find(node.id), (Var, Constant))

    def arithmetic(self, op: ast.AST, left: ast.AST, right: ast.AST, node: ast.AST) -> object:
        a, b = as_dimension(self.value(left)), as_dimension(self.value(right))
        if not isinstance(a, EXPRESSIONS) and not isinstance(b, EXPRESSIONS):
            if isinstance(node, ast.Compare):
                return self.exprs.comparison(left, node.ops, node.comparators, node)
            return self.exprs.value(node)
        name = _OPERATORS.get(type(op))
        if name is None:
            raise self.source.problem(
                node, "tensors have no such operator", "call an operator of R, such as R.equal", kind=script.NAME
            )
        return self.operators.operator_call(name, [a, b], {}, node)

    def subscript(self, node: ast.AST, owner: ast.expr, index: ast.expr) -> object:
        if (
            isinstance(owner, ast.Subscript)
            and isinstance(owner.value, ast.Name)
            and owner.value.id in ("metadata", "meta")
        ):
            return self.constants.metadata(node, owner, index)
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
