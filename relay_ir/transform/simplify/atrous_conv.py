"""Convolutions over batches of blocks, as dilated convolutions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Op
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.infrastructure import rewrite_calls
from relay2relax.relay_ir.transform.parts import is_call
from relay2relax.tir.extent import static

# What each step of the sequence may be.
_STEPS = (("nn.space_to_batch_nd",), ("nn.conv2d", "qnn.conv2d"), ("nn.batch_to_space_nd",))


@dataclass(frozen=True, slots=True)
class FlattenAtrousConv(Pass[IRModule]):
    """Write ``space_to_batch_nd``, convolution, ``batch_to_space_nd`` as one dilated convolution.

    This is how TensorFlow writes dilation; the result is padded to the size of its input, with the
    blocks as dilation. As in TVM, nothing else may be computed between the three.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with dilated convolutions; infers types where ``mod`` has none."""
        step = 0

        def change(call: Call, types: TypeTable) -> Expr:
            nonlocal step
            step = step + 1 if is_call(call, *_STEPS[step]) else 0
            if step < len(_STEPS):
                return call
            step = 0
            return _flattened(call, types)

        return rewrite_calls(mod, change)


def _flattened(back: Call, types: TypeTable) -> Expr:
    conv = back.args[0]
    if not isinstance(conv, Call) or not is_call(conv, *_STEPS[1]) or conv.attrs.data_layout != "NHWC":
        return back
    blocks = conv.args[0]
    if not isinstance(blocks, Call) or not is_call(blocks, *_STEPS[0]) or conv.attrs.kernel_size is None:
        return back
    data = types.tensor(blocks.args[0])
    dilation = tuple(static(one) for one in back.attrs.block_shape)
    if data is None or len(dilation) != 2 or any(static(extent) is None for extent in data.shape[1:3]):
        return back
    if not _is_dilation(blocks, conv, back):
        return back
    # The padding that keeps the size, the larger half behind.
    spans = [(kernel - 1) * step for kernel, step in zip(conv.attrs.kernel_size, dilation, strict=True)]
    before = tuple(span // 2 for span in spans)
    after = tuple(span - half for span, half in zip(spans, before, strict=True))
    if _padding(blocks, conv, back) != (before, after):
        return back
    attrs = replace(conv.attrs, strides=(1, 1), padding=before + after, dilation=dilation)
    assert isinstance(conv.op, Op)
    return replace(conv, args=(blocks.args[0], *conv.args[1:]), attrs=attrs)


def _is_dilation(blocks: Call, conv: Call, back: Call) -> bool:
    attrs = conv.attrs
    return (
        tuple(attrs.strides) == tuple(attrs.dilation) == (1, 1) and blocks.attrs.block_shape == back.attrs.block_shape
    )


def _padding(blocks: Call, conv: Call, back: Call) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return how many zeros the three put before and behind each axis of the whole."""
    own = tuple(conv.attrs.padding)
    own = own * (4 // len(own))
    ends = []
    for end in (0, 1):
        inside = own[2 * end : 2 * end + 2]
        steps = zip(blocks.attrs.paddings, inside, back.attrs.block_shape, back.attrs.crops, strict=True)
        ends.append(tuple(int(pad[end] + each * block - crop[end]) for pad, each, block, crop in steps))
    return ends[0], ends[1]
