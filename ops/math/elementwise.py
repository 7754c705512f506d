"""Element-wise operators: one input, a result of the same shape.

Unless a record says otherwise the result has the input's dtype. Floating functions follow IEEE;
integers wrap. Source of the semantics: TVM 0.18, ``src/relay/op/tensor/unary.cc`` and
``include/tvm/topi/elemwise.h``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, is_int, is_unsigned, numpy_dtype, of_array
from relay2relax.ops.common import erf, layout_rules
from relay2relax.ops.common.conversion import BY_WAY_OF, convert, convert_element
from relay2relax.ops.common.formula import ARRAYS, ELEMENTS, Kit, X, number
from relay2relax.ops.common.limits import NO_BOOL, ONLY_BOOL, dtype_of, of_dtype
from relay2relax.ops.common.narrow_floats import elementary, floating_test
from relay2relax.ops.common.shapes import any_type, check_float, tensor
from relay2relax.ops.common.shapes import floating as floats_only
from relay2relax.ops.registry.attributes import Bool, DType, Int, IntegerArray, NoAttrs
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expand, Expanded, OpDef, OpError, RelaxForm, SameOp, V
from relay2relax.ops.registry.script import Limit, Script, Spread
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.ir.expr import Cast, Not, PrimExpr, Select, binary, cast, const
from relay2relax.tir.ir.intrinsics import call, max_value

SOURCE = "TVM 0.18 src/relay/op/tensor/unary.cc"
SAME = SameOp()


# Attribute classes


@dataclass(frozen=True, slots=True)
class CastAttrs:
    """The element type of the result."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class FixedPointMultiplyAttrs:
    """The factor is ``multiplier * 2**(shift - 31)``."""

    multiplier: Int
    shift: Int


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPointMultiplyPerAxisAttrs:
    """Which shifts are applied, and the axes along which the factors lie."""

    is_lshift_required: Bool = False
    is_rshift_required: Bool = False
    axes: IntegerArray


# The regular members


def identity_type(attrs: object, data: Type) -> Type:
    """Return the type of ``data``."""
    return tensor(data)


def bool_type(attrs: object, data: Type) -> Type:
    """Return the shape of ``data`` with dtype bool."""
    return TensorType(tensor(data).shape, "bool")


def unary(
    name: str,
    function: Callable[..., Numbers],
    body: str | Callable[[PrimExpr], PrimExpr],
    doc: str,
    *,
    floating: bool = True,
    infer: Callable[..., Type] = identity_type,
    relax: RelaxForm = SAME,
    script: Script | None = None,
    limits: tuple[Limit, ...] = (),
    in_relax: bool = True,
    relay: bool = True,
    precision: Precision | None = None,
) -> OpDef:
    """Return the record of an operator that applies ``function`` to arrays and ``body`` to single
    elements.

    ``body`` may be the name of an intrinsic. ``floating`` operators refuse other element types when
    they are run or lowered, as TVM's kernels do; types alone are inferred for any.
    """

    def check(dtype: str) -> None:
        if floating:
            check_float(name, dtype)

    def numpy(attrs: object, data: Array) -> Array:
        check(of_array(data))
        with np.errstate(all="ignore"):
            result = function(data)
        # 0-d results come back as numpy scalars.
        return np.asarray(result, np.bool_ if infer is bool_type else data.dtype)

    def compute(attrs: object, out: TensorType, data: te.Tensor) -> te.Tensor:
        check(data.dtype)
        element = body if callable(body) else elementary(body)
        return te.compute(out.shape, lambda *i: element(data[i]), name=f"T_{name}")

    return OpDef(
        relay=name if relay else None,
        doc=doc,
        source=SOURCE,
        inputs=("data",),
        infer=infer,
        relay_type=any_type if infer is identity_type else None,
        relax_type=floats_only(name, infer) if floating and in_relax else None,
        numpy=numpy,
        compute=compute,
        relax=relax,
        script=(script or Script(name, "x", limits=limits, spread=Spread.ELEMENTS)) if in_relax else None,
        layout=layout_rules.elementwise,
        fusion=Fusion(OpPattern.ELEMWISE),
        precision=precision,
    )


def _on_floats(name: str) -> Callable[[PrimExpr], PrimExpr]:
    """Return a rounding function; integers are what they are."""
    return lambda x: call(name, x) if is_float(x.dtype) else x


def _keeping_integers(function: Callable[..., Numbers]) -> Callable[[Array], Numbers]:
    return lambda x: function(x) if is_float(of_array(x)) else x


def _sigmoid(x: Numbers) -> Numbers:
    result = np.exp(np.negative(x), out=np.empty_like(x))
    np.add(result, x.dtype.type(1), out=result)
    return np.asarray(np.divide(x.dtype.type(1), result, out=result))


def _rsqrt(x: Numbers) -> Numbers:
    return np.asarray(x.dtype.type(1) / np.sqrt(x))


def _sign(x: Numbers) -> Numbers:
    return np.asarray((x > 0).astype(x.dtype) - (x < 0).astype(x.dtype))


def _sign_element(x: PrimExpr) -> PrimExpr:
    zero, one = const(0, x.dtype), const(1, x.dtype)
    return Select(x > 0, one, zero if is_unsigned(x.dtype) else Select(x < 0, const(-1, x.dtype), zero))


def _abs_element(x: PrimExpr) -> PrimExpr:
    if is_float(x.dtype):
        return call("fabs", x)
    return x if is_unsigned(x.dtype) or x.dtype == "bool" else Select(x < 0, -x, x)


def _round_half_away(k: Kit[X], x: X) -> X:
    """Return the nearest integer, halves away from zero; integers are what they are."""
    if not is_float(k.dtype_of(x)):
        return x
    # Adding a half and truncating would round 0.49999997 up; the difference to the truncated value
    # is exact.
    whole = k.unary("trunc", x)
    one = k.where(k.binary("less", x, number(k, 0, x)), number(k, -1, x), number(k, 1, x))
    far = k.binary("greater_equal", k.unary("abs", k.binary("subtract", x, whole)), number(k, 0.5, x))
    return k.where(far, k.binary("add", whole, one), whole)


def _round_relax(e: Emit[V], attrs: NoAttrs, data: V) -> V:
    """R.round sends halves to the even neighbour, Relay's away from zero.

    They differ at halves only.
    """
    dtype = tensor(e.type_of(data)).dtype
    if not is_float(dtype):
        return data
    size = e.call("abs", data)
    half = e.call("equal", e.call("subtract", size, e.call("floor", size)), e.const(0.5, dtype))
    away = e.call("multiply", e.call("sign", data), e.call("ceil", size))
    return e.call("where", half, away, e.call("round", data))


def _logical_not(x: Array) -> Numbers:
    return np.logical_not(x)


def logical_relax(name: str) -> Expanded:
    """Return the form of a connective: R has it on bool only."""

    def expand(e: Emit[V], attrs: NoAttrs, *operands: V) -> V:
        dtype = tensor(e.type_of(operands[0])).dtype
        if dtype == "bool":
            return e.call(name, *operands)
        flags = (e.call("astype", one, dtype="bool") for one in operands)
        return e.call("astype", e.call(name, *flags), dtype=dtype)

    return Expanded(expand)


def _bitwise_not_element(x: PrimExpr) -> PrimExpr:
    if x.dtype == "bool":
        return Not(x)
    return binary("^", x, max_value(x.dtype) if is_unsigned(x.dtype) else const(-1, x.dtype))


# TVM takes differences of unsigned numbers not to wrap around, and so folds 0 - x of an index's
# width to 0.
_FOLDED = ("uint32", "uint64")


def _negative(x: Array) -> Numbers:
    return np.zeros_like(x) if of_array(x) in _FOLDED else np.negative(x)


def _negative_element(x: PrimExpr) -> PrimExpr:
    if x.dtype in _FOLDED:
        return const(0, x.dtype)
    return binary("-", const(0, x.dtype), x) if is_int(x.dtype) else x * const(-1, x.dtype)


def _logarithm(base: float) -> Expand:
    def expand(e: Emit[V], attrs: NoAttrs, data: V) -> V:
        dtype = tensor(e.type_of(data)).dtype
        return e.call("divide", e.call("log", data), e.const(float(np.log(base)), dtype))

    return expand


def _renamed(name: str) -> Expanded:
    """Return the form of an operator that is another Relax operator of the same inputs."""
    return Expanded(lambda e, attrs, data: e.call(name, data))


# Conversions


def cast_type(attrs: CastAttrs, data: Type) -> Type:
    """Return the shape of ``data`` with ``attrs.dtype``."""
    return TensorType(tensor(data).shape, attrs.dtype)


def cast_numpy(attrs: CastAttrs, data: Array) -> Array:
    """Return ``data`` as ``attrs.dtype``."""
    return convert(data, attrs.dtype)


def cast_compute(attrs: CastAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return each element as the result's dtype."""
    return te.compute(out.shape, lambda *i: convert_element(data[i], out.dtype), name="T_cast")


def cast_relax(e: Emit[V], attrs: CastAttrs, data: V) -> V:
    """R.astype; a float becomes a small or unsigned number by way of a wider one."""
    wider = BY_WAY_OF.get(attrs.dtype) if is_float(tensor(e.type_of(data)).dtype) else None
    return e.call("astype", e.call("astype", data, dtype=wider) if wider else data, dtype=attrs.dtype)


def cast_like_type(attrs: NoAttrs, data: Type, like: Type) -> Type:
    """Return the shape of ``data`` with the dtype of ``like``."""
    return TensorType(tensor(data).shape, tensor(like, 1).dtype)


def cast_like_numpy(attrs: NoAttrs, data: Array, like: Array) -> Array:
    """Return ``data`` as the dtype of ``like``."""
    return convert(data, of_array(like))


def cast_like_compute(attrs: NoAttrs, out: TensorType, data: te.Tensor, like: te.Tensor) -> te.Tensor:
    """Return each element as the result's dtype."""
    return te.compute(out.shape, lambda *i: convert_element(data[i], out.dtype), name="T_cast_like")


def cast_like_relax(e: Emit[V], attrs: NoAttrs, data: V, like: V) -> V:
    """Relax converts to a dtype that is written down."""
    return cast_relax(e, CastAttrs(tensor(e.type_of(like), 1).dtype), data)


def reinterpret_type(attrs: CastAttrs, data: Type) -> Type:
    """Return the shape of ``data`` with a dtype of the same width."""
    found = tensor(data)
    if numpy_dtype(found.dtype).itemsize != numpy_dtype(attrs.dtype).itemsize:
        raise OpError(f"reinterpret keeps the width of an element; {found.dtype} and {attrs.dtype} differ", 0)
    return TensorType(found.shape, attrs.dtype)


def reinterpret_numpy(attrs: CastAttrs, data: Array) -> Array:
    """Return the same bits as another dtype, without a copy."""
    return data.view(numpy_dtype(attrs.dtype))


def reinterpret_compute(attrs: CastAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the bits of each element as the result's dtype."""
    return te.compute(
        out.shape,
        lambda *i: data[i] if data.dtype == out.dtype else call("reinterpret", data[i], dtype=out.dtype),
        name="T_reinterpret",
    )


# Fixed-point arithmetic of quantised models


def _rounded_product(x: Array, multiplier: Array | int, left: Array | int, right: Array | int) -> Array:
    """Return ``round(x * 2**left * multiplier / 2**(31 + right))``, halves up, in int64 as the
    kernels do.
    """
    wide = np.left_shift(x.astype(np.int64), np.int64(left)) * np.asarray(multiplier, np.int64)
    total = 31 + np.asarray(right, np.int64)
    return np.asarray(np.right_shift(wide + np.left_shift(np.int64(1), total - 1), total)).astype(x.dtype)


def fixed_point_multiply_numpy(attrs: FixedPointMultiplyAttrs, data: Array) -> Array:
    """Return the rounded product."""
    return _rounded_product(data, attrs.multiplier, max(attrs.shift, 0), max(-attrs.shift, 0))


def fixed_point_multiply_compute(attrs: FixedPointMultiplyAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the rounded product of each element."""
    left, total = max(attrs.shift, 0), 31 + max(-attrs.shift, 0)

    def element(*i: PrimExpr) -> PrimExpr:
        wide = (Cast("int64", data[i]) * (1 << left)) * attrs.multiplier + (1 << (total - 1))
        return cast(out.dtype, binary(">>", wide, total))

    return te.compute(out.shape, element, name="T_fixed_point_multiply")


def fixed_point_multiply_relax(e: Emit[V], attrs: FixedPointMultiplyAttrs, data: V) -> V:
    """The same steps on int64."""
    dtype = tensor(e.type_of(data)).dtype
    left, total = max(attrs.shift, 0), 31 + max(-attrs.shift, 0)
    wide = e.call("astype", data, dtype="int64")
    wide = e.call("multiply", wide, e.const(attrs.multiplier << left, "int64"))
    wide = e.call("add", wide, e.const(1 << (total - 1), "int64"))
    return e.call("astype", e.call("right_shift", wide, e.const(total, "int64")), dtype=dtype)


def per_axis_type(attrs: FixedPointMultiplyPerAxisAttrs, data: Type, *factors: Type) -> Type:
    """Return the type of ``data``."""
    return tensor(data)


def _along(shape: tuple[int, ...], axes: tuple[int, ...], values: Array) -> Array:
    extents = [shape[axis] if axis in {a % len(shape) for a in axes} else 1 for axis in range(len(shape))]
    return values.reshape(extents)


def per_axis_numpy(
    attrs: FixedPointMultiplyPerAxisAttrs, data: Array, multiplier: Array, left: Array, right: Array
) -> Array:
    """Return the rounded product, with a factor for each place along ``axes``."""
    m, ls, rs = (_along(data.shape, attrs.axes, one) for one in (multiplier, left, right))
    return _rounded_product(data, m, ls if attrs.is_lshift_required else 0, rs if attrs.is_rshift_required else 0)


def per_axis_compute(
    attrs: FixedPointMultiplyPerAxisAttrs,
    out: TensorType,
    data: te.Tensor,
    multiplier: te.Tensor,
    left: te.Tensor,
    right: te.Tensor,
) -> te.Tensor:
    """Return the rounded product of each element with the factor at its place."""
    axes = sorted(axis % data.rank for axis in attrs.axes)

    def element(*i: PrimExpr) -> PrimExpr:
        place = tuple(i[axis] for axis in axes)
        one = const(1, "int64")
        wide: PrimExpr = Cast("int64", data[i])
        if attrs.is_lshift_required:
            wide = Cast("int64", data[i]) * binary("<<", one, cast("int64", left[place]))
        total: PrimExpr = const(31, "int64")
        if attrs.is_rshift_required:
            total = total + cast("int64", right[place])
        wide = wide * cast("int64", multiplier[place]) + binary("<<", one, total - 1)
        return cast(out.dtype, binary(">>", wide, total))

    return te.compute(out.shape, element, name="T_fixed_point_multiply_per_axis")


# Records

_NO_HALF = of_dtype("apache-tvm has no code for it in float16", "float16")
_NO_UNSIGNED = Limit(
    "apache-tvm cannot lower it for unsigned numbers", lambda attrs, types: is_unsigned(dtype_of(types))
)
_ONLY_NUMBERS = of_dtype("apache-tvm has no code for it in bfloat16 and bool", "bfloat16", "bool")

copy = unary(
    "copy", lambda x: x, lambda x: x, "The input itself.", floating=False, in_relax=False,
    relax=Expanded(lambda e, attrs, data: data),
    precision=Precision.FOLLOW,
)  # fmt: skip

_NO_INTEGER = (
    "A float that is not a number or lies outside gives the smallest number of int32 and int64, and the low bits of "
    "these in narrower integers."
)

cast_op = OpDef(
    relay="cast",
    doc="Convert to another dtype: floats truncate towards zero, integers wrap, bool is ``x != 0``. A float outside of "
    "the range of an integer type gives any number.",
    source="TVM 0.18 src/relay/op/tensor/transform.cc, Cast",
    inputs=("data",),
    attrs=CastAttrs,
    infer=cast_type,
    on_bad_values=_NO_INTEGER,
    numpy=cast_numpy,
    compute=cast_compute,
    relax=Expanded(cast_relax),
    script=Script("astype", "x, dtype"),
    layout=layout_rules.elementwise,
    fusion=Fusion(OpPattern.ELEMWISE),
    precision=Precision.FOLLOW,
)

cast_like = OpDef(
    relay="cast_like",
    doc="Convert to the dtype of the second input, whose values and shape are ignored.",
    source="TVM 0.18 src/relay/op/tensor/transform.cc, CastLike",
    inputs=("data", "dtype_like"),
    infer=cast_like_type,
    on_bad_values=_NO_INTEGER,
    numpy=cast_like_numpy,
    compute=cast_like_compute,
    relax=Expanded(cast_like_relax),
    layout=layout_rules.elementwise,
    fusion=Fusion(OpPattern.ELEMWISE),
    precision=Precision.FOLLOW,
)

reinterpret = OpDef(
    relay="reinterpret",
    doc="The same bits as another dtype of the same width.",
    source="TVM 0.18 src/relay/op/tensor/transform.cc, Reinterpret",
    inputs=("data",),
    attrs=CastAttrs,
    infer=reinterpret_type,
    numpy=reinterpret_numpy,
    compute=reinterpret_compute,
    layout=layout_rules.elementwise,
    fusion=Fusion(OpPattern.ELEMWISE),
)

fixed_point_multiply = OpDef(
    relay="fixed_point_multiply",
    doc="``round(x * multiplier * 2**(shift - 31))``, halves up, on int32.",
    source="TVM 0.18 src/target/intrin_rule.cc, q_multiply_shift",
    inputs=("data",),
    attrs=FixedPointMultiplyAttrs,
    infer=identity_type,
    relay_type=any_type,
    numpy=fixed_point_multiply_numpy,
    compute=fixed_point_multiply_compute,
    relax=Expanded(fixed_point_multiply_relax),
    layout=layout_rules.elementwise,
    fusion=Fusion(OpPattern.ELEMWISE),
)

fixed_point_multiply_per_axis = OpDef(
    relay="fixed_point_multiply_per_axis",
    doc="As fixed_point_multiply, with a factor and shifts for each place along ``axes``.",
    source="TVM 0.18 src/target/intrin_rule.cc, q_multiply_shift_per_axis",
    inputs=("data", "fp_multiplier", "left_shift", "right_shift"),
    attrs=FixedPointMultiplyPerAxisAttrs,
    infer=per_axis_type,
    numpy=per_axis_numpy,
    compute=per_axis_compute,
    layout=layout_rules.per_axis,
    fusion=Fusion(OpPattern.BROADCAST),
)


OPS = (
    copy,
    cast_op,
    cast_like,
    reinterpret,
    fixed_point_multiply,
    fixed_point_multiply_per_axis,
    unary("exp", np.exp, "exp", "e to the power of x.", precision=Precision.NEVER),
    unary("log", np.log, "log", "Natural logarithm."),
    unary("log2", np.log2, "log2", "Logarithm to base 2.", relax=Expanded(_logarithm(2.0)), in_relax=False),
    unary("log10", np.log10, "log10", "Logarithm to base 10.", relax=Expanded(_logarithm(10.0)), in_relax=False),
    unary("sqrt", np.sqrt, "sqrt", "Square root.", precision=Precision.FOLLOW),
    unary("rsqrt", _rsqrt, "rsqrt", "``1 / sqrt(x)``."),
    unary("sigmoid", _sigmoid, "sigmoid", "``1 / (1 + exp(-x))``.", precision=Precision.FOLLOW),
    unary("tanh", np.tanh, "tanh", "Hyperbolic tangent.", precision=Precision.FOLLOW),
    unary("erf", erf.erf, "erf", "Error function.", precision=Precision.NEVER),
    unary("sin", np.sin, "sin", "Sine."),
    unary("cos", np.cos, "cos", "Cosine."),
    unary("tan", np.tan, "tan", "Tangent."),
    unary("sinh", np.sinh, "sinh", "Hyperbolic sine.", limits=(_NO_HALF,)),
    unary("cosh", np.cosh, "cosh", "Hyperbolic cosine.", limits=(_NO_HALF,)),
    unary("asin", np.arcsin, "asin", "Inverse sine.", limits=(_NO_HALF,)),
    unary("acos", np.arccos, "acos", "Inverse cosine.", limits=(_NO_HALF,)),
    unary("atan", np.arctan, "atan", "Inverse tangent.", limits=(_NO_HALF,)),
    unary("asinh", np.arcsinh, "asinh", "Inverse hyperbolic sine.", limits=(_NO_HALF,)),
    unary("acosh", np.arccosh, "acosh", "Inverse hyperbolic cosine.", limits=(_NO_HALF,)),
    unary("atanh", np.arctanh, "atanh", "Inverse hyperbolic tangent."),
    # TVM's approximations stay within a few units in the last place of the functions themselves.
    unary("fast_exp", np.exp, "exp", "e to the power of x.", relax=_renamed("exp"), in_relax=False,
        precision=Precision.FOLLOW),
    unary("fast_tanh", np.tanh, "tanh", "Hyperbolic tangent.", relax=_renamed("tanh"), in_relax=False,
        precision=Precision.FOLLOW),
    unary("fast_erf", erf.erf, "erf", "Error function.", relax=_renamed("erf"), in_relax=False,
        precision=Precision.FOLLOW),
    unary("floor", _keeping_integers(np.floor), _on_floats("floor"), "Round down.", floating=False),
    unary("ceil", _keeping_integers(np.ceil), _on_floats("ceil"), "Round up.", floating=False),
    unary(
        "trunc", _keeping_integers(np.trunc), _on_floats("trunc"), "Round towards zero.", floating=False,
        script=Script("trunc", "x", since="0.21"),
    ),
    unary(
        "round", lambda x: _round_half_away(ARRAYS, x), lambda x: _round_half_away(ELEMENTS, x),
        "Round to the nearest integer, halves away from zero.",
        floating=False, relax=Expanded(_round_relax), in_relax=False,
    ),
    unary(
        "round", _keeping_integers(np.rint), _on_floats("nearbyint"),
        "Round to the nearest integer, halves to the even one.", floating=False, relay=False,
    ),
    unary(
        "abs", np.abs, _abs_element, "Absolute value; the smallest integer stays as it is.", floating=False,
        limits=(NO_BOOL,),
    ),
    unary(
        "negative", _negative, _negative_element, "``-x``; 0 for uint32 and uint64, as TVM compiles it.",
        floating=False, limits=(_NO_UNSIGNED,),
    ),
    unary("square", np.square, lambda x: x * x, "``x * x``.", floating=False, relay=False),
    unary(
        "sign", _sign, _sign_element, "-1, 0 or 1; 0 for NaN.", floating=False, limits=(_NO_UNSIGNED,),
    ),
    unary(
        "logical_not", _logical_not, lambda x: convert_element(Not(convert_element(x, "bool")), x.dtype),
        "Logical negation.", floating=False, relax=logical_relax("logical_not"), limits=(ONLY_BOOL,),
    ),
    unary("bitwise_not", np.invert, _bitwise_not_element, "Complement of every bit.", floating=False),
    unary(
        "isnan", np.isnan, floating_test("isnan"), "Whether x is NaN.", floating=False, infer=bool_type,
        limits=(_ONLY_NUMBERS,),
    ),
    unary(
        "isinf", np.isinf, floating_test("isinf"), "Whether x is infinite.", floating=False, infer=bool_type,
        limits=(_ONLY_NUMBERS,),
    ),
    unary(
        "isfinite", np.isfinite, floating_test("isfinite"), "Whether x is finite.", floating=False,
        infer=bool_type, limits=(_ONLY_NUMBERS,),
    ),
)  # fmt: skip
