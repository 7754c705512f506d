"""Convolutions with sparse weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.passes import Pass
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.infrastructure import declared, left_alone, map_functions, rewrite_calls
from relay2relax.relay_ir.transform.sparse.block_sparse import block_sparse, sizes_by_name, with_sparse_parameters


@dataclass(frozen=True, slots=True)
class Conv2dToSparse(Pass[IRModule]):
    """Let ``nn.conv2d`` take the parameters ``weight_name`` as sparse matrices.

    ``weight_shape`` has the sizes of each: those of its data (one or three), of its indices, and of
    its indptr. The matrix has a row per output channel. Only convolutions of data in ``layout``
    change, whose window is ``kernel_size`` squared and that keep the image's size.
    """

    weight_name: Sequence[str]
    weight_shape: Sequence[Sequence[int]]
    layout: str
    kernel_size: int
    opt_level: ClassVar[int] = 4

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with sparse weights; infers types where parameters do not declare theirs.

        Raises UnsupportedError for shapes that do not say what is needed.
        """
        sizes = sizes_by_name(self.weight_name, self.weight_shape, least=4)
        mod = declared(mod)

        def fits(call: Call) -> bool:
            return _keeps_size(call, self.layout, self.kernel_size)

        def make(call: Call, weight: Sequence[Expr]) -> Call:
            return _sparse(call, weight, self.layout, self.kernel_size)

        return map_functions(
            mod, lambda one: one if left_alone(one) else with_sparse_parameters(one, sizes, fits, make)
        )


@dataclass(frozen=True, slots=True)
class Conv2dToSparse2(Pass[IRModule]):
    """Let ``nn.conv2d`` take constant weights of which many blocks are zero as sparse matrices.

    ``blocksize`` is the height (output channels) and the width of blocks; at least
    ``sparsity_threshold`` of the weight, between 0 and 1, has to be in blocks of zeros. What else
    is asked of a convolution is what :class:`Conv2dToSparse` asks.
    """

    layout: str
    kernel_size: int
    blocksize: tuple[int, int]
    sparsity_threshold: float
    opt_level: ClassVar[int] = 5

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with sparse weights; infers types where ``mod`` has none."""
        return rewrite_calls(mod, self._change)

    def _change(self, call: Call, types: TypeTable) -> Expr:
        if not _keeps_size(call, self.layout, self.kernel_size):
            return call
        weight = call.args[1]
        if not isinstance(weight, Constant) or weight.data.dtype != np.float32:
            return call
        matrix = _rows(weight.data, self.layout)
        height, width = self.blocksize
        if matrix.shape[0] % height or matrix.shape[1] % width:
            return call
        found = block_sparse(matrix, height, width)
        if 1 - found.stored / matrix.size < self.sparsity_threshold:
            return call
        parts = [Constant(one) for one in (found.data, found.indices, found.indptr)]
        return _sparse(call, parts, self.layout, self.kernel_size)


def _keeps_size(call: Call, layout: str, kernel_size: int) -> bool:
    """Whether a call is a convolution that ``nn.sparse_conv2d`` computes: of one group, by steps of
    1, padded so that the image keeps its size.
    """
    if call.op != Op("nn.conv2d"):
        return False
    attrs = call.attrs
    same = {kernel_size // 2} if kernel_size % 2 else set()
    kernel = {"NCHW": "OIHW", "NHWC": "HWIO"}.get(layout)
    return (
        (attrs.data_layout, attrs.kernel_layout) == (layout, kernel)
        and attrs.groups == 1
        and attrs.kernel_size is not None
        and set(attrs.kernel_size) == {kernel_size}
        and set(attrs.strides) == set(attrs.dilation) == {1}
        and set(attrs.padding) == same
        and attrs.out_layout in ("", layout)
        and attrs.out_dtype in ("", "float32")
    )


def _rows(weight: Array, layout: str) -> Array:
    """Return a kernel as a matrix with a row per output channel."""
    outputs = weight if layout == "NCHW" else np.moveaxis(weight, 3, 0)
    return outputs.reshape(outputs.shape[0], -1)


def _sparse(call: Call, weight: Sequence[Expr], layout: str, kernel_size: int) -> Call:
    record = relay_op("nn.sparse_conv2d")
    assert record is not None
    attrs = record.attrs(layout=layout, kernel_size=(kernel_size, kernel_size))
    return replace(call, op=Op("nn.sparse_conv2d"), args=(call.args[0], *weight), attrs=attrs)
