"""Operators over broadcast inputs: arithmetic, comparisons, logic, ``where``.

Shapes are aligned on the right; the inputs of one operator have one dtype, which the result keeps
(comparisons: bool). Source of the semantics: TVM 0.18, ``src/relay/op/tensor/binary.cc`` and
``include/tvm/topi/broadcast.h``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, is_unsigned, numpy_dtype, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.conversion import convert_element
from relay2relax.ops.common.formula import Kit, X, definition, kernel
from relay2relax.ops.common.limits import NO_BFLOAT16, NO_BOOL, NOT_LOWERED, ONLY_BOOL, OPEN
from relay2relax.ops.common.narrow_floats import in_single
from relay2relax.ops.common.shapes import broadcast, operand_indices, tensor
from relay2relax.ops.math.elementwise import logical_relax
from relay2relax.ops.registry import table
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, RelaxForm, SameOp, Settle, Settled, V
from relay2relax.ops.registry.script import OLDEST, Limit, Script, Spread
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Shape, equal, is_any, is_symbolic, static
from relay2relax.tir.ir.expr import BinaryOp, PrimExpr, Select, binary, cast, const, if_then_else, maximum, minimum
from relay2relax.tir.ir.intrinsics import call

SOURCE = "TVM 0.18 src/relay/op/tensor/binary.cc"
NUMBERS = "float int"


def _no_conversion(a: str, b: str) -> OpError:
    return OpError(
        f"the operands have element types {a} and {b}; there is no conversion between them", 1, kind=operators.DTYPE
    )


def arithmetic_type(attrs: NoAttrs, lhs: Type, rhs: Type) -> Type:
    """Return the broadcast shape with the inputs' dtype."""
    a, b = tensor(lhs, 0), tensor(rhs, 1)
    if a.dtype != b.dtype:
        raise _no_conversion(a.dtype, b.dtype)
    return TensorType(broadcast(a.shape, b.shape), a.dtype)


def comparison_type(attrs: NoAttrs, lhs: Type, rhs: Type) -> Type:
    """Return the broadcast shape with dtype bool."""
    return TensorType(tensor(arithmetic_type(attrs, lhs, rhs)).shape, "bool")


def matched(a: str, b: str) -> str:
    """Return the dtype in which TVM compares numbers of two dtypes.

    Raises OpError where it has none.
    """
    if a == b:
        return a
    if "bfloat16" in (a, b) or "bool" in (a, b):
        raise _no_conversion(a, b)
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    wide = max(numpy_dtype(a).itemsize, numpy_dtype(b).itemsize) * 8
    kind = "float" if is_float(a) else "uint" if is_unsigned(a) and is_unsigned(b) else "int"
    return f"{kind}{wide}"


def mixed_comparison_type(attrs: NoAttrs, lhs: Type, rhs: Type) -> Type:
    """Return the type; Relax, unlike Relay, compares numbers of different dtypes."""
    a, b = tensor(lhs, 0), tensor(rhs, 1)
    matched(a.dtype, b.dtype)
    return TensorType(broadcast(a.shape, b.shape), "bool")


def relay_rule(infer: Callable[..., Type]) -> Callable[..., Type]:
    """Return ``infer`` for Relay: extents that are not numbers have to be known to be equal, as TVM
    demands.
    """

    def relay_type(attrs: NoAttrs, lhs: Type, rhs: Type) -> Type:
        result = infer(attrs, lhs, rhs)
        a, b = tensor(lhs, 0).shape, tensor(rhs, 1).shape
        for one, other in zip(reversed(a), reversed(b), strict=False):
            if 1 in (static(one), static(other)) or is_any(one) or is_any(other):
                continue
            if (is_symbolic(one) or is_symbolic(other)) and not equal(one, other):
                raise OpError(
                    f"shapes {show(a)} and {show(b)} are not known to broadcast: {one} and {other} meet",
                    1,
                    kind=operators.SHAPE,
                )
        return result

    return relay_type


def _check_taken(name: str, dtype: str, takes: str) -> None:
    if ("float" if is_float(dtype) else "bool" if dtype == "bool" else "int") not in takes.split():
        raise OpError(f"{name} is not defined for {dtype}", 0, kind=operators.DTYPE)


def binary_operator(
    name: str,
    function: Callable[[Array, Array], Numbers],
    body: Callable[[PrimExpr, PrimExpr], PrimExpr],
    doc: str,
    *,
    infer: Callable[..., Type] = arithmetic_type,
    relax: RelaxForm = SameOp(),  # noqa: B008
    takes: str = "float int bool",
    relay: bool = True,
    since: str = OLDEST,
    limits: tuple[Limit, ...] = (),
    spread: Spread | None = Spread.BROADCAST,
    on_bad_values: str = "",
    precision: Precision | None = None,
    settle: Settle | None = None,
) -> OpDef:
    """Return the record that applies ``function`` to two arrays and ``body`` to two elements.

    ``takes`` names the element types that its kernels have, as in TVM; types are inferred for any.
    """

    def numpy(attrs: NoAttrs, lhs: Array, rhs: Array) -> Array:
        _check_taken(name, of_array(lhs), takes)
        if lhs.dtype != rhs.dtype:
            common = numpy_dtype(matched(of_array(lhs), of_array(rhs)))
            lhs, rhs = lhs.astype(common), rhs.astype(common)
        with np.errstate(all="ignore"):
            return np.asarray(function(lhs, rhs), np.bool_ if infer is comparison_type else lhs.dtype)

    def compute(attrs: NoAttrs, out: TensorType, lhs: te.Tensor, rhs: te.Tensor) -> te.Tensor:
        _check_taken(name, lhs.dtype, takes)

        def element(*i: PrimExpr) -> PrimExpr:
            common = matched(lhs.dtype, rhs.dtype)
            a = lhs[operand_indices(lhs.shape, out.shape, i)]
            return body(cast(common, a), cast(common, rhs[operand_indices(rhs.shape, out.shape, i)]))

        return te.compute(out.shape, element, name=f"T_{name}")

    return OpDef(
        relay=name if relay else None,
        doc=doc,
        source=SOURCE if relay else "TVM 0.27 src/relax/op/tensor/binary.cc",
        inputs=("lhs", "rhs"),
        infer=mixed_comparison_type if infer is comparison_type else infer,
        relay_type=relay_rule(infer),
        numpy=numpy,
        compute=compute,
        relax=relax,
        script=Script(name, "x1, x2", since=since, limits=(OPEN, *limits), spread=spread)
        if isinstance(relax, SameOp)
        else None,
        scalars=("lhs", "rhs"),
        on_bad_values=on_bad_values,
        layout=layout_rules.broadcast,
        fusion=Fusion(OpPattern.BROADCAST),
        precision=precision,
        settle=settle,
    )


def _square(attrs: NoAttrs, numbers: tuple[Shape | None, ...]) -> Settled | None:
    """A square is a product: the same number, and right on GPUs, too, where apache-tvm compiles
    ``pow`` so that it is NaN of what is negative.
    """
    product = table.relay_op("multiply")
    assert product is not None
    return (product, attrs, (0, 0)) if numbers[1] == (2.0,) else None


def _primitive(op: BinaryOp) -> Callable[[PrimExpr, PrimExpr], PrimExpr]:
    return lambda a, b: binary(op, a, b)


def _sum_element(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return binary("or" if a.dtype == "bool" else "+", a, b)


def _product_element(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return binary("and" if a.dtype == "bool" else "*", a, b)


def _truncated_quotient(a: Array, b: Array) -> Numbers:
    """Divide integers towards zero: what remains after ``fmod`` divides exactly."""
    if is_float(of_array(a)):
        return np.trunc(np.divide(a, b))
    return np.floor_divide(np.subtract(a, np.fmod(a, b)), b)


def _quotient(a: Array, b: Array) -> Numbers:
    return np.divide(a, b) if is_float(of_array(a)) else _truncated_quotient(a, b)


def _quotient_element(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return binary("/" if is_float(a.dtype) else "truncdiv", a, b)


def _truncated_quotient_element(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return call("trunc", binary("/", a, b)) if is_float(a.dtype) else binary("truncdiv", a, b)


def _remainder_element(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return in_single("fmod", "bfloat16")(a, b) if is_float(a.dtype) else binary("truncmod", a, b)


def _floor_quotient(a: Array, b: Array) -> Numbers:
    return np.floor(np.divide(a, b)) if is_float(of_array(a)) else np.floor_divide(a, b)


def _floor_quotient_element(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    if is_float(a.dtype):
        return call("floor", binary("/", a, b))
    return binary("truncdiv" if is_unsigned(a.dtype) else "//", a, b)


def _floor_remainder(a: Array, b: Array) -> Numbers:
    return a - np.floor(np.divide(a, b)) * b if is_float(of_array(a)) else np.mod(a, b)


def _floor_remainder_element(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    if is_float(a.dtype):
        return a - call("floor", binary("/", a, b)) * b
    return binary("truncmod" if is_unsigned(a.dtype) else "%", a, b)


def _larger(a: Numbers, b: Numbers) -> Numbers:
    # ``a > b ? a : b``: a NaN on the left gives the right operand, one on the right itself.
    return np.where(a > b, a, b) if is_float(of_array(a)) else np.maximum(a, b)


def _smaller(a: Numbers, b: Numbers) -> Numbers:
    return np.where(a < b, a, b) if is_float(of_array(a)) else np.minimum(a, b)


def _different(a: Numbers, b: Numbers) -> Numbers:
    return (a < b) | (a > b) if is_float(of_array(a)) else np.not_equal(a, b)


def _logical(op: BinaryOp) -> Callable[[PrimExpr, PrimExpr], PrimExpr]:
    """Return a connective; TVM has it on bool, other numbers count as true where they are not 0."""

    def element(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return convert_element(binary(op, convert_element(a, "bool"), convert_element(b, "bool")), a.dtype)

    return element


def _log_add_exp_element(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    # Equal operands may both be infinite; their distance is not a number then.
    apart = maximum(a, b) + call("log1p", call("exp", const(0, a.dtype) - call("fabs", a - b)))
    return Select(a.equal(b), a + const(math.log(2), a.dtype), apart)


def _exclusive_or_element(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return a.not_equal(b) if a.dtype == "bool" else binary("^", a, b)


def _bitwise(op: BinaryOp, connective: BinaryOp) -> Callable[[PrimExpr, PrimExpr], PrimExpr]:
    return lambda a, b: binary(connective if a.dtype == "bool" else op, a, b)


def trunc_divide_relax(e: Emit[V], attrs: NoAttrs, lhs: V, rhs: V) -> V:
    """R.divide truncates integers; the quotient of floats is truncated afterwards."""
    quotient = e.call("divide", lhs, rhs)
    return e.call("trunc", quotient) if is_float(tensor(e.type_of(lhs)).dtype) else quotient


# where


def where_type(attrs: NoAttrs, condition: Type, x: Type, y: Type) -> Type:
    """Return the shape that all three broadcast to, with the dtype of ``x`` and ``y``."""
    first, second = tensor(x, 1), tensor(y, 2)
    if first.dtype != second.dtype:
        raise OpError(f"the branches have element types {first.dtype} and {second.dtype}", 2, kind=operators.DTYPE)
    return TensorType(broadcast(tensor(condition).shape, first.shape, second.shape), first.dtype)


def where_relax_type(attrs: NoAttrs, condition: Type, x: Type, y: Type) -> Type:
    """Return the type; the condition of Relax is a truth value."""
    if tensor(condition).dtype != "bool":
        raise OpError(mistake(operators.DTYPE, what="the condition", dtype=tensor(condition).dtype, expected="bool"), 0)
    return where_type(attrs, condition, x, y)


def where_numpy(attrs: NoAttrs, condition: Array, x: Array, y: Array) -> Array:
    """Return ``x`` where ``condition`` is not 0, else ``y``."""
    chosen = condition if condition.dtype == np.bool_ else condition != condition.dtype.type(0)
    return np.asarray(np.where(chosen, x, y), x.dtype)


def where_compute(attrs: NoAttrs, out: TensorType, condition: te.Tensor, x: te.Tensor, y: te.Tensor) -> te.Tensor:
    """Return the chosen element."""

    def at(t: te.Tensor, i: tuple[PrimExpr, ...]) -> PrimExpr:
        return t[operand_indices(t.shape, out.shape, i)]

    return te.compute(
        out.shape,
        lambda *i: if_then_else(convert_element(at(condition, i), "bool"), at(x, i), at(y, i)),
        name="T_where",
    )


def where_relax(e: Emit[V], attrs: NoAttrs, condition: V, x: V, y: V) -> V:
    """R.where takes a bool condition."""
    if tensor(e.type_of(condition)).dtype != "bool":
        condition = e.call("astype", condition, dtype="bool")
    return e.call("where", condition, x, y)


where = OpDef(
    relay="where",
    doc="``x`` where the condition is not 0, else ``y``; all three broadcast.",
    source="TVM 0.18 src/relay/op/tensor/transform.cc, where",
    inputs=("condition", "x", "y"),
    infer=where_type,
    relax_type=where_relax_type,
    numpy=where_numpy,
    compute=where_compute,
    relax=Expanded(where_relax),
    script=Script("where", "condition, x1, x2", limits=(OPEN,)),
    fusion=Fusion(OpPattern.BROADCAST),
    precision=Precision.FOLLOW,
)


def multiply_add_type(attrs: NoAttrs, x1: Type, x2: Type, x3: Type) -> Type:
    """Return the type that all three inputs have."""
    first = tensor(x1)
    for argument, one in enumerate((tensor(x2, 1), tensor(x3, 2)), 1):
        same = len(one.shape) == first.rank and all(
            equal(a, b) is not False for a, b in zip(one.shape, first.shape, strict=True)
        )
        if not same or one.dtype != first.dtype:
            raise OpError(
                f"the operands have one type; these have {first.dtype}{show(first.shape)} and "
                f"{one.dtype}{show(one.shape)}", argument,
            )  # fmt: skip
    return first


def _multiply_add(k: Kit[X], attrs: NoAttrs, x1: X, x2: X, x3: X) -> X:
    """Return ``x1 * x2 + x3``, rounded after each of the two."""
    return k.binary("add", k.binary("multiply", x1, x2), x3)


ewise_fma = OpDef(
    doc="``x1 * x2 + x3``, element by element, rounded after each of the two.",
    source="TVM 0.27 src/relax/op/tensor/ternary.cc",
    inputs=("x1", "x2", "x3"),
    infer=multiply_add_type,
    numpy=kernel(_multiply_add),
    compute=definition(_multiply_add, "T_ewise_fma"),
    script=Script("ewise_fma", "x1, x2, x3", limits=(NOT_LOWERED,)),
)


def _comparison(
    name: str, op: BinaryOp, function: Callable[..., Numbers], doc: str, precision: Precision | None = None
) -> OpDef:
    return binary_operator(
        name, function, _primitive(op), doc, infer=comparison_type, limits=(NO_BOOL,), precision=precision
    )


def _connective(name: str, op: BinaryOp, function: Callable[..., Numbers], doc: str) -> OpDef:
    from dataclasses import replace

    record = binary_operator(name, function, _logical(op), doc, limits=(ONLY_BOOL,))
    return replace(record, relax=logical_relax(name))


_BY_ZERO = (
    "An integer divided by 0 gives 0, and leaves 0; the smallest one divided by -1 is itself. Floats follow IEEE."
)
_WIDE = "A shift by a negative number of places, or by as many as there are bits, shifts everything out."

OPS = (
    binary_operator("add", np.add, _sum_element, "``a + b``.", limits=(NO_BOOL,), precision=Precision.FOLLOW),
    binary_operator("subtract", np.subtract, _primitive("-"), "``a - b``.", takes=NUMBERS, precision=Precision.FOLLOW),
    binary_operator("multiply", np.multiply, _product_element, "``a * b``.", limits=(NO_BOOL,),
        precision=Precision.FOLLOW),
    binary_operator(
        "divide", _quotient, _quotient_element, "``a / b``; integers towards zero.", takes=NUMBERS,
        on_bad_values=_BY_ZERO,
        precision=Precision.FOLLOW,
    ),
    binary_operator(
        "power", np.power, in_single("pow", "bfloat16"), "``a ** b`` on floats.", takes="float",
        limits=(NO_BFLOAT16,),
        precision=Precision.NEVER,
        settle=_square,
    ),
    binary_operator(
        "atan2", np.arctan2, lambda a, b: call("atan2", a, b), "The angle of the point (b, a).",
        takes="float", relay=False, since="0.24", spread=None,
    ),
    binary_operator(
        "log_add_exp", np.logaddexp, _log_add_exp_element, "``log(exp(a) + exp(b))``.", takes="float", relay=False,
        since="0.21", spread=None,
    ),
    binary_operator("maximum", _larger, maximum, "The larger one, ``a > b ? a : b``.", limits=(NO_BOOL,),
        precision=Precision.FOLLOW),
    binary_operator("minimum", _smaller, minimum, "The smaller one, ``a < b ? a : b``.", limits=(NO_BOOL,),
        precision=Precision.FOLLOW),
    binary_operator(
        "mod", np.fmod, _remainder_element, "Remainder with the sign of ``a``.", takes=NUMBERS,
        on_bad_values=_BY_ZERO, since="0.19",
        limits=(NO_BFLOAT16,),
    ),
    binary_operator(
        "floor_divide", _floor_quotient, _floor_quotient_element, "``floor(a / b)``.", takes=NUMBERS,
        on_bad_values=_BY_ZERO,
    ),
    binary_operator(
        "floor_mod", _floor_remainder, _floor_remainder_element, "``a - floor(a / b) * b``.", takes=NUMBERS,
        on_bad_values=_BY_ZERO,
        since="0.19",
    ),
    binary_operator(
        "trunc_divide", _truncated_quotient, _truncated_quotient_element, "``trunc(a / b)``.",
        takes=NUMBERS,
        on_bad_values=_BY_ZERO,
        relax=Expanded(trunc_divide_relax),
    ),
    binary_operator(
        "trunc_mod", np.fmod, _remainder_element, "Remainder with the sign of ``a``.",
        takes=NUMBERS,
        on_bad_values=_BY_ZERO,
        relax=Expanded(lambda e, attrs, lhs, rhs: e.call("mod", lhs, rhs)),
    ),
    binary_operator(
        "left_shift", np.left_shift, _primitive("<<"), "``a << b``.", takes="int",
        on_bad_values=_WIDE,
    ),
    binary_operator(
        "right_shift", np.right_shift, _primitive(">>"), "``a >> b``, arithmetic.", takes="int",
        on_bad_values=_WIDE,
    ),
    binary_operator("bitwise_and", np.bitwise_and, _bitwise("&", "and"), "``a & b``.", takes="int bool"),
    binary_operator("bitwise_or", np.bitwise_or, _bitwise("|", "or"), "``a | b``.", takes="int bool"),
    binary_operator("bitwise_xor", np.bitwise_xor, _exclusive_or_element, "``a ^ b``.", takes="int bool"),
    binary_operator(
        "logical_xor", np.bitwise_xor, _exclusive_or_element, "Exclusive or; of every bit on integers.",
        takes="int bool",
    ),
    _connective("logical_and", "and", np.logical_and, "Whether both are true; both are always evaluated."),
    _connective("logical_or", "or", np.logical_or, "Whether one is true; both are always evaluated."),
    _comparison("equal", "==", np.equal, "``a == b``."),
    _comparison("not_equal", "!=", _different, "``a != b``; false where one is NaN, as TVM compiles it."),
    _comparison("less", "<", np.less, "``a < b``.", precision=Precision.FOLLOW),
    _comparison("less_equal", "<=", np.less_equal, "``a <= b``.", precision=Precision.FOLLOW),
    _comparison("greater", ">", np.greater, "``a > b``.", precision=Precision.FOLLOW),
    _comparison("greater_equal", ">=", np.greater_equal, "``a >= b``.", precision=Precision.FOLLOW),
    where,
    ewise_fma,
)  # fmt: skip
