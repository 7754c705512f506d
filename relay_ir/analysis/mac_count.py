"""How many multiplications with additions a program does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Union

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.walk import post_order
from relay2relax.ops.nn.convolution_rules import Conv2DAttrs, Conv2DTransposeAttrs
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.relay_ir.analysis.traversal import typed
from relay2relax.relay_ir.ir.expr import Call, Expr, Op, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.tir.extent import static


def get_total_mac_number(expr: Union[Expr, IRModule]) -> int:
    """Return how often ``nn.conv2d``, ``nn.conv2d_transpose``, ``nn.dense`` and ``nn.batch_matmul``
    multiply and add, all calls of ``expr`` or a module together.

    Padding counts, as in TVM. Nothing else does: no other operator, and no packed form of these.

    Raises UnsupportedError where an extent is not known.
    """
    mod = typed(expr)
    roots: list[Expr] = list(mod.functions.values())
    nodes = post_order(roots, children)
    return sum(_macs(node, mod.types) for node in nodes if isinstance(node, Call))


def _macs(call: Call, types: Mapping[Expr, Type]) -> int:
    def shape(node: Expr) -> list[int]:
        type_ = types[node]
        assert isinstance(type_, TensorType)
        extents = [static(extent) for extent in type_.shape]
        if None in extents:
            raise UnsupportedError(f"what {call.op} computes cannot be counted: the shape of a tensor is {type_}")
        return [extent for extent in extents if extent is not None]

    match call:
        case Call(
            Op("nn.conv2d" | "nn.conv2d_transpose"), (data, weight), Conv2DAttrs() | Conv2DTransposeAttrs() as attrs
        ):
            window = _along(attrs.kernel_layout, shape(weight), "HW")
            return prod(shape(call)) * window * _along(attrs.data_layout, shape(data), "Cc") // attrs.groups
        case Call(Op("nn.dense" | "nn.batch_matmul"), (data, _)):
            return prod(shape(call)) * shape(data)[-1]
    return 0


def _along(layout: str, extents: Sequence[int], axes: str) -> int:
    """Return the product of the extents of ``axes``, by a layout such as NCHW4c."""
    letters = [letter for letter in layout if letter.isalpha()]
    return prod(extents[letters.index(axis)] for axis in axes if axis in letters)
