"""Evaluation of what is constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.passes import Pass
from relay2relax.core.walk import post_order
from relay2relax.ops.registry.evaluate import kernel_value
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, If, Let, Op, Tuple, TupleGetItem, Var, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.relay_ir.transform.infrastructure import declared, map_functions
from relay2relax.tir.extent import static

# These say where or when something happens, not what its value is.
_PLACED = frozenset({"on_device", "device_copy", "nn.dropout", "debug"})
# The value follows from the type of the argument.
_SHAPES = frozenset({"shape_of", "vm.shape_of", "ndarray_size"})


@dataclass(frozen=True, slots=True)
class FoldConstant(Pass[IRModule]):
    """Replace calls of operators on constants by their values.

    ``if`` on a constant becomes its branch, a ``let`` of a constant goes, a field of a literal
    tuple is taken, and the shape of a tensor of static type is a constant. As in TVM, calls without
    arguments stay, quantised operators only go with ``fold_qnn``, functions marked ``Primitive``
    are not looked into. A call that its operator refuses stays, and fails where it runs. Calls are
    evaluated by the operators' own numpy kernels.
    """

    fold_qnn: bool = False
    opt_level: ClassVar[int] = 2

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with constant expressions folded; infers types where ``mod`` has none."""
        mod = declared(mod)
        types = typed_module(mod).types
        return map_functions(
            mod, lambda one: folded(one, lambda node, made: types.get(node.args[0]), fold_qnn=self.fold_qnn)
        )


# The type of the first argument of a call: as it stood, and made of folded parts.
FirstType: TypeAlias = "Callable[[Call, Call], Type | None]"
# What a call becomes whose arguments have the values of the mapping.
Change: TypeAlias = Callable[[Call, Mapping[Expr, object]], Expr]


def folded(root: Function, first_type: FirstType, change: Change | None = None, fold_qnn: bool = False) -> Function:
    """Return ``root`` with what is constant folded.

    ``change`` is given each call of an operator, and what is known of its arguments; what it
    returns is folded in turn.
    """
    values: dict[Expr, Expr] = {node.var: node.value for node in nodes(root) if isinstance(node, Let)}
    done: dict[Expr, Expr] = {}
    # What constants and tuples of constants hold.
    known: dict[Expr, object] = {}

    def below(node: Expr) -> tuple[Expr, ...]:
        primitive = isinstance(node, Function) and node.attrs.get("Primitive")
        return () if primitive else tuple(children(node))

    roots: tuple[Expr, ...] = (root,)
    for node in post_order(roots, below):
        parts = below(node)
        made = with_children(node, [done[child] for child in parts]) if parts else node
        match made:
            case Constant(data):
                known[made] = data
            case Tuple(fields) if all(one in known for one in fields):
                known[made] = tuple(known[one] for one in fields)
            case Var():
                value = done.get(values.get(made, made), made)
                made = value if _constant(value) else made
            case Let(_, value) if _constant(value):
                made = made.body
            case If(condition) if condition in known:
                made = made.true_branch if np.asarray(known[condition]).item() else made.false_branch
            case TupleGetItem(Tuple(fields), index) if index < len(fields):
                made = fields[index]
            case Call(Op("on_device"), (body,)) if body in known:
                known[made] = known[body]
            case Call(Op()):
                assert isinstance(node, Call)
                made = change(made, known) if change is not None else made
                if isinstance(made, Call):
                    made = _call(made, known, first_type(node, made) if made.args else None, fold_qnn)
                _remember(made, known)
        done[node] = made
    result = done[root]
    assert isinstance(result, Function)
    return result


def _constant(expr: Expr) -> bool:
    """Whether an expression is a constant, wherever that is."""
    return isinstance(expr.args[0] if isinstance(expr, Call) and expr.op == Op("on_device") else expr, Constant)


def constant_call(call: Call) -> Expr:
    """Return the value of an operator's call on constants, the call where it is refused."""
    known: dict[Expr, object] = {arg: arg.data for arg in call.args if isinstance(arg, Constant)}
    return _call(call, known, None, fold_qnn=True)


def fold_expression(expr: Expr) -> Expr:
    """Return ``expr``, of which no types need be known, with calls on constants evaluated."""
    return folded(Function((), expr), lambda node, made: None).body


def _call(call: Call, known: Mapping[Expr, object], first: Type | None, fold_qnn: bool) -> Expr:
    """Return the value of ``call``, whose first argument has type ``first``, or the call itself."""
    assert isinstance(call.op, Op)
    name = call.op.name
    if not call.args or name in _PLACED or (name.startswith("qnn.") and not fold_qnn):
        return call
    if name in _SHAPES:
        return _shape(call, first)
    record = relay_op(name)
    if record is None or any(arg not in known for arg in call.args):
        return call
    try:
        return _as_expr(kernel_value(record, call.attrs, [known[arg] for arg in call.args]))
    except Relay2RelaxError:
        # The mistake belongs to the moment when the call runs, if it ever does.
        return call


def _shape(call: Call, of: Type | None) -> Expr:
    """Return the shape, or for ``ndarray_size`` the number of elements, of a tensor of static
    type.
    """
    if not isinstance(of, TensorType):
        return call
    extents = [static(extent) for extent in of.shape]
    if any(extent is None for extent in extents):
        return call
    assert isinstance(call.op, Op)
    shape = np.array([int(extent or 0) for extent in extents], numpy_dtype(call.attrs.dtype))
    if call.op.name == "ndarray_size":
        return Constant(np.asarray(np.prod(shape, dtype=shape.dtype)))
    return Constant(shape)


def _remember(expr: Expr, known: dict[Expr, object]) -> None:
    """Note the value of a folded call: a constant, or the tuple that an operator returned."""
    match expr:
        case Constant(data):
            known[expr] = data
        case Tuple(fields):
            for one in fields:
                _remember(one, known)
            known[expr] = tuple(known[one] for one in fields)


def _as_expr(value: object) -> Expr:
    if isinstance(value, tuple):
        return Tuple(tuple(_as_expr(one) for one in value))
    return Constant(np.asarray(value))
