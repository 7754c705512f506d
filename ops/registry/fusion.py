"""How fusion may treat each Relay operator: what TVM 0.18 registers for it as ``TOpPattern``.

TVM decided these by hand, and they do not follow from what an operator computes: ``copy`` is
elementwise and ``arange`` opaque, softmax counts as something that elementwise work may follow. So
they are a table, and not derived. Operators that are not in it are opaque.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from relay2relax.tir.analysis.pattern import OpPattern

_NAMES: Mapping[OpPattern, str] = {
    OpPattern.ELEMWISE: """
        abs acos acosh asin asinh atan atanh bitwise_not cast cast_like ceil clip copy cos
        cosh dyn.full dyn.ones dyn.zeros erf exp fast_erf fast_exp fast_tanh
        fixed_point_multiply floor full full_like isfinite isinf isnan log log10 log2
        logical_not negative nn.leaky_relu nn.relu ones ones_like qnn.dequantize
        qnn.quantize qnn.requantize qnn.simulated_dequantize qnn.simulated_quantize qnn.tanh
        reinterpret relay.op.annotation.simulated_quantize round rsqrt sigmoid sign sin sinh
        sqrt tan tanh trilu trunc zeros zeros_like
    """,
    OpPattern.BROADCAST: """
        add bitwise_and bitwise_or bitwise_xor broadcast_to broadcast_to_like divide
        dyn.broadcast_to equal expand_dims fixed_point_multiply_per_axis floor_divide
        floor_mod greater greater_equal left_shift less less_equal logical_and logical_or
        logical_xor maximum minimum mod multiply nn.bias_add nn.prelu not_equal power
        qnn.add qnn.mul qnn.subtract repeat right_shift subtract tile trunc_divide trunc_mod
        where
    """,
    OpPattern.INJECTIVE: """
        adv_index auto_scheduler_layout_transform concatenate contrib_reverse_reshape
        dyn.expand_dims dyn.image.resize2d dyn.nn.pad dyn.nn.upsampling dyn.nn.upsampling3d
        dyn.reshape dyn.squeeze dyn.strided_slice dyn.tile einsum gather gather_nd
        image.affine_grid image.crop_and_resize image.grid_sample image.resize1d
        image.resize2d image.resize3d invert_permutation layout_transform matrix_set_diag
        meshgrid meta_schedule_layout_transform ndarray_size nn.batch_flatten
        nn.batch_to_space_nd nn.bitpack nn.depth_to_space nn.dilate nn.mirror_pad nn.pad
        nn.space_to_batch_nd nn.space_to_depth nn.upsampling nn.upsampling3d qnn.concatenate
        reshape reshape_like reverse reverse_sequence sequence_mask slice_like
        sparse_reshape split squeeze stack strided_set strided_slice take transpose
        unravel_index vision.yolo_reorg
    """,
    OpPattern.COMM_REDUCE: """
        all any argmax argmin collapse_sum_like collapse_sum_to max mean min prod sum
        variance
    """,
    OpPattern.OUT_ELEMWISE_FUSABLE: """
        dyn.one_hot image.dilation2d nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d
        nn.adaptive_avg_pool3d nn.adaptive_max_pool1d nn.adaptive_max_pool2d
        nn.adaptive_max_pool3d nn.avg_pool1d nn.avg_pool2d nn.avg_pool2d_grad nn.avg_pool3d
        nn.batch_matmul nn.batch_norm nn.bitserial_conv2d nn.bitserial_dense
        nn.contrib_conv2d_NCHWc nn.contrib_conv2d_gemm_weight_transform
        nn.contrib_conv2d_gemm_without_weight_transform
        nn.contrib_conv2d_winograd_weight_transform
        nn.contrib_conv2d_winograd_without_weight_transform
        nn.contrib_conv3d_winograd_weight_transform
        nn.contrib_conv3d_winograd_without_weight_transform nn.contrib_dense_pack
        nn.contrib_depthwise_conv2d_NCHWc nn.conv1d nn.conv1d_transpose nn.conv2d
        nn.conv2d_backward_weight nn.conv2d_transpose nn.conv3d nn.conv3d_transpose
        nn.correlation nn.deformable_conv2d nn.dense nn.fast_softmax nn.global_avg_pool2d
        nn.global_max_pool2d nn.internal.sparse_dense_padded nn.log_softmax nn.matmul
        nn.max_pool1d nn.max_pool2d nn.max_pool2d_grad nn.max_pool3d nn.nll_loss nn.softmax
        nn.sparse_conv2d nn.sparse_dense nn.sparse_transpose one_hot qnn.avg_pool2d
        qnn.batch_matmul qnn.contrib_dense_pack qnn.conv2d qnn.dense vision.roi_align
        vision.roi_pool
    """,
}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# These only give the same elements another shape.
RESHAPES = _names("contrib_reverse_reshape dyn.reshape dyn.squeeze expand_dims nn.batch_flatten reshape squeeze")
# The shapes of their results depend on the values of arguments.
DATA_DEPENDENT = _names(
    """
    arange argwhere broadcast_to dyn.broadcast_to dyn.expand_dims dyn.full dyn.image.resize2d
    dyn.nn.pad dyn.nn.upsampling dyn.nn.upsampling3d dyn.one_hot dyn.ones dyn.reshape
    dyn.sparse_to_dense dyn.squeeze dyn.strided_slice dyn.tile dyn.topk dyn.zeros
    sparse_fill_empty_rows sparse_reshape stft unique
    """
)
# They say how a program is run, and are nothing that kernels compute.
NON_COMPUTATIONAL = _names(
    """
    call_lowered memory.alloc_storage memory.alloc_tensor memory.kill on_device vm.invoke_tvm_op
    vm.reshape_tensor vm.shape_func vm.shape_of
    """
)


@lru_cache(maxsize=None)
def _by_name() -> Mapping[str, OpPattern]:
    return {name: pattern for pattern, names in _NAMES.items() for name in names.split()}


def pattern_of(name: str) -> OpPattern:
    """Return the kind of the Relay operator ``name``."""
    return _by_name().get(name, OpPattern.OPAQUE)
