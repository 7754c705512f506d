"""Scans along an axis: running sums and products.

Without an axis the flattened tensor is scanned. The result has the attributes' dtype, or that of
the data; elements are converted before they are added up; sums of bool wrap as well, so they are
exclusive ors. An exclusive scan leaves out the element itself and so starts with 0 or 1. Source of
the semantics: TVM 0.18, ``src/relay/op/tensor/transform.cc`` (Scanop) and
``python/tvm/topi/scan.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.ops.common.conversion import convert, convert_element
from relay2relax.ops.common.limits import NO_BOOL
from relay2relax.ops.common.reshape_rules import reshaped_index
from relay2relax.ops.common.shapes import normal_axis, tensor
from relay2relax.ops.registry.attributes import DType, OptionalBool, OptionalInteger
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.extent import product
from relay2relax.tir.ir.expr import Buffer, PrimExpr, Var, binary, const
from relay2relax.tir.ir.stmt import BufferStore, For, If, Stmt

SOURCE = "TVM 0.18 python/tvm/topi/scan.py"
Combine: TypeAlias = Callable[[PrimExpr, PrimExpr], PrimExpr]


@dataclass(frozen=True, slots=True)
class ScanopAttrs:
    """The axis (None: the flattened tensor), the dtype of the result, and whether an element leaves
    itself out.
    """

    axis: OptionalInteger = None
    dtype: DType = ""
    exclusive: OptionalBool = False


def scan_type(attrs: ScanopAttrs, data: Type) -> Type:
    """Return the shape of ``data``, or one dimension of all its elements without an axis."""
    found = tensor(data)
    dtype = attrs.dtype or found.dtype
    if attrs.axis is None:
        return TensorType((product(found.shape),), dtype)
    normal_axis(attrs.axis, found.rank)
    return TensorType(found.shape, dtype)


def scan_relay_type(attrs: ScanopAttrs, data: Type) -> Type:
    """Return the type; TVM's inference does not look at the axis."""
    found = tensor(data)
    if attrs.axis is None:
        return scan_type(attrs, data)
    return TensorType(found.shape, attrs.dtype or found.dtype)


def _scan_statement(
    source: Buffer, target: Buffer, axis: int, combine: Combine, start: PrimExpr, exclusive: bool
) -> Stmt:
    """Return the loops that fill ``target`` along ``axis``, one line of elements after the
    other.
    """
    outer = [Var(f"i{d}") for d in range(len(target.shape))]
    step = outer[axis]

    def at(buffer: Buffer, place: PrimExpr) -> PrimExpr:
        return buffer[tuple(place if d == axis else v for d, v in enumerate(outer))]

    before = step - 1
    here: tuple[PrimExpr, ...] = tuple(outer)
    first = start if exclusive else convert_element(at(source, step), target.dtype)
    element = convert_element(at(source, before if exclusive else step), target.dtype)
    body: Stmt = If(
        step.equal(0),
        BufferStore(target, here, first),
        BufferStore(target, here, combine(at(target, before), element)),
    )
    body = For(step, target.shape[axis], body)
    for d in reversed([d for d in range(len(outer)) if d != axis]):
        body = For(outer[d], target.shape[d], body)
    return body


def _sum(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return a.not_equal(b) if a.dtype == "bool" else a + b


def _product(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return binary("and", a, b) if a.dtype == "bool" else a * b


def scan(name: str, functions: tuple[np.ufunc, np.ufunc], combine: Combine, start: int, doc: str) -> OpDef:
    """Return the record of a scan.

    ``functions`` combine arrays of numbers and of bool, ``combine`` elements.
    """

    def numpy(attrs: ScanopAttrs, data: Array) -> Array:
        values = convert(data, attrs.dtype) if attrs.dtype else data
        if attrs.axis is None:
            values = values.reshape(-1)
        axis = normal_axis(attrs.axis or 0, values.ndim)
        function = functions[values.dtype == np.bool_]
        with np.errstate(all="ignore"):
            if not attrs.exclusive:
                return np.asarray(function.accumulate(values, axis=axis, dtype=values.dtype))
            result = np.full(values.shape, start, values.dtype)
            head = (slice(None),) * axis
            first, rest = (*head, slice(None, -1)), (*head, slice(1, None))
            result[rest] = function.accumulate(values[first], axis=axis, dtype=values.dtype)
            return result

    def compute(attrs: ScanopAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
        if attrs.axis is None and data.rank != 1:
            flat = data
            data = te.compute(
                out.shape, lambda i: flat[reshaped_index(flat.shape, out.shape, (i,))], name=f"T_{name}_flat"
            )
        axis = normal_axis(attrs.axis or 0, out.rank)

        def build(sources: Sequence[Buffer], targets: Sequence[Buffer]) -> Stmt:
            first = const(start, out.dtype)
            return _scan_statement(sources[0], targets[0], axis, combine, first, bool(attrs.exclusive))

        return te.extern([out.shape], [out.dtype], [data], build, name=f"T_{name}")[0]

    def relax(e: Emit[V], attrs: ScanopAttrs, data: V) -> V:
        # R's kernel has no bool, and takes no tensor of rank 0.
        found = tensor(e.type_of(data))
        dtype = attrs.dtype or found.dtype
        if "bool" in (dtype, found.dtype) or not found.rank:
            return e.as_tir(record, attrs, (data,), "TVM's scans take neither bool nor scalars")
        return e.call(name, data, axis=attrs.axis, dtype=attrs.dtype, exclusive=bool(attrs.exclusive))

    record = OpDef(
        relay=name,
        doc=doc,
        source=SOURCE,
        inputs=("data",),
        attrs=ScanopAttrs,
        infer=scan_type,
        relay_type=scan_relay_type,
        numpy=numpy,
        compute=compute,
        relax=Expanded(relax),
        script=Script(name, "data, axis=None, dtype=None, exclusive=False", limits=(NO_BOOL,)),
        declares_attrs=False,
    )
    return record


OPS = (
    scan("cumsum", (np.add, np.bitwise_xor), _sum, 0, "The running sum along an axis."),
    scan("cumprod", (np.multiply, np.bitwise_and), _product, 1, "The running product along an axis."),
)
