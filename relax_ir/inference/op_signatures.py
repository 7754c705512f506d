"""The operators of TVM 0.27's Relax by signature, and those among them that have no record here.

An operator that has a record is what the record says; the signature only says in which order its
arguments come and what TVM takes for one that is left out. An operator without a record is kept as
it was written: it can be printed, its result is what the script says of it, and whoever has to run
it is told what is missing.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from relay2relax.core.errors import UnsupportedError
from relay2relax.ops.registry.record import OpDef, Script
from relay2relax.ops.registry.table import relax_op
from relay2relax.relax_ir.ir.struct_info import ObjectStructInfo, StructInfo, TupleStructInfo

# One operator per paragraph; ``!`` marks one that may have effects.
_SIGNATURES = """
abs(x)
acos(x)
acosh(x)
add(x1, x2)
arange(start, end=None, step=1, dtype=None)
argmax(x, axis=None, keepdims=False)
argmin(x, axis=None, keepdims=False)
argsort(data, axis=-1, descending=False, dtype='int32')
asin(x)
asinh(x)
!assert_op(condition, format_args=None, format='')
astype(x, dtype)
atan(x)
atan2(x1, x2)
atanh(x)
bitwise_and(x1, x2)
bitwise_not(x)
bitwise_or(x1, x2)
bitwise_xor(x1, x2)
broadcast_to(x, shape)
bucketize(input_tensor, boundaries, out_int32=False, right=False)
builtin.alloc_tensor(shape, dtype, runtime_device_index, storage_scope='global')
builtin.stop_lift_params(x)
!call_builtin_with_ctx(func, args, *, ty_args=None)
call_dps_packed(func, args, out_ty)
call_inplace_packed(func, *args, inplace_indices, ty_args)
call_pure_packed(func, *args, ty_args)
call_py_func(func_name, args, *, out_ty)
call_tir(gvar, args, out_ty)
call_tir_inplace(gvar, args, inplace_indices, out_ty)
call_tir_with_grad(gvar, args, out_ty, te_grad_name, te_grad_kwargs=None)
ccl.allgather(x, num_workers, in_group=True)
ccl.allreduce(x, op_type='sum', in_group=True)
ccl.broadcast_from_worker0(x)
ccl.scatter_from_worker0(x, num_workers, axis=0)
ceil(x)
clip(x, min, max)
collapse_sum_like(data, collapse_target)
collapse_sum_to(data, shape)
concat(tensors, axis=0)
cos(x)
cosh(x)
cumprod(data, axis=None, dtype=None, exclusive=False)
cumsum(data, axis=None, dtype=None, exclusive=False)
dequantize(data, scale, zero_point, axis=-1, out_dtype='float32')
dist.annotate_sharding(input, device_mesh, placement)
dist.call_tir_local_view(func, args, out_ty)
dist.redistribute(input, device_mesh, placement)
dist.redistribute_replica_to_shard(input, num_workers, axis)
divide(x1, x2)
dynamic_strided_slice(x, begin, end, strides)
einsum(operands, subscripts)
equal(x1, x2)
erf(x)
ewise_fma(x1, x2, x3)
exp(x)
expand_dims(x, axis)
eye(n, m=None, k=0, dtype='float32')
eye_like(x, k=0, dtype=None)
flatten(x)
flip(data, axis)
floor(x)
floor_divide(x1, x2)
floor_mod(x1, x2)
full(shape, fill_value, dtype=None)
full_like(x, fill_value, dtype=None)
gather_elements(data, indices, axis=0)
gather_nd(data, indices, batch_dims=0)
grad.avg_pool2d_backward(output_grad, data, pool_size=(1, 1), strides=(1, 1), padding=(0, 0, 0, 0),
    dilation=(1, 1), ceil_mode=False, count_include_pad=False, layout='NCHW', out_layout=None)
grad.end_checkpoint(input)
grad.max_pool2d_backward(output_grad, data, pool_size=(1, 1), strides=(1, 1), padding=(0, 0, 0, 0),
    dilation=(1, 1), ceil_mode=False, count_include_pad=False, layout='NCHW', out_layout=None)
grad.nll_loss_backward(output_grad, predictions, targets, weights=None, reduction='mean', ignore_index=-100)
grad.no_grad(input)
grad.start_checkpoint(input)
grad.take_backward(output_grad, x, indices, axis=None, mode='')
greater(x1, x2)
greater_equal(x1, x2)
hamming_window(window_size, periodic, alpha, beta, dtype)
hint_on_device(data, dst_vdevice, memory_scope='global')
image.affine_grid(data, size, align_corners=None)
image.grid_sample(data, grid, method='bilinear', layout='NCHW', padding_mode='zeros', align_corners=False)
image.resize2d(data, size, roi=None, layout='NCHW', method='linear',
    coordinate_transformation_mode='half_pixel', rounding_method='round', cubic_alpha=-0.75, cubic_exclude=0,
    extrapolation_value=0.0, out_dtype=None)
image.resize3d(data, size, roi=None, layout='NCDHW', method='linear',
    coordinate_transformation_mode='half_pixel', rounding_method='', cubic_alpha=-0.75, cubic_exclude=0,
    extrapolation_value=0.0, out_dtype=None)
index_put(data, indices, values, accumulate=False)
index_tensor(data, indices)
inspect.tensor_byte_offset(tensor)
inspect.tensor_dtype_bits(tensor)
inspect.tensor_dtype_code(tensor)
inspect.tensor_dtype_lanes(tensor)
inspect.tensor_elem_offset(tensor)
inspect.tensor_ndim(tensor)
inspect.tensor_shape_i(tensor, axis)
inspect.tensor_stride_i(tensor, axis)
!invoke_closure(closure, args, ty_args)
invoke_pure_closure(closure, args, ty_args)
isfinite(x)
isinf(x)
isnan(x)
layout_transform(x, index_map, pad_value=None, axis_separators=None, input_axis_separators=None)
left_shift(x1, x2)
less(x1, x2)
less_equal(x1, x2)
log(x)
log_add_exp(x1, x2)
logical_and(x1, x2)
logical_not(x)
logical_or(x1, x2)
logical_xor(x1, x2)
make_closure(func, args)
matmul(x1, x2, out_dtype=None)
max(x, axis=None, keepdims=False)
maximum(x1, x2)
mean(x, axis=None, keepdims=False)
median(x, axis=None, keepdims=False)
memory.alloc_storage(size, virtual_device_index, storage_scope, dtype)
memory.alloc_tensor(storage, offset, shape, dtype, runtime_device_ind=0)
memory.ensure_zero_offset(data)
!memory.kill_storage(storage)
!memory.kill_tensor(tensor)
memory.view(data, shape=None, dtype=None, relative_byte_offset=None)
meshgrid(tensors, indexing='ij')
min(x, axis=None, keepdims=False)
minimum(x1, x2)
mod(x1, x2)
multinomial_from_uniform(prob, uniform_sample, sample_indices, dtype='int64')
multiply(x1, x2)
negative(x)
nn.adaptive_avg_pool1d(data, output_size=None, layout='NCW', out_layout=None)
nn.adaptive_avg_pool2d(data, output_size=None, layout='NCHW', out_layout=None)
nn.adaptive_avg_pool3d(data, output_size=None, layout='NCDHW', out_layout=None)
nn.attention(query, key, value, bias=None, scale=None, causal_mask=None, window_size=None)
nn.attention_var_len(queries, keys, values, seqstart_q, max_seqlen_q, seqstart_k=None, max_seqlen_k=None,
    scale=None, causal_mask=None, window_size=None)
nn.avg_pool1d(data, pool_size=(1,), strides=(1,), padding=(0, 0), dilation=(1,), ceil_mode=False,
    count_include_pad=True, layout='NCW', out_layout=None)
nn.avg_pool2d(data, pool_size=(1, 1), strides=(1, 1), padding=(0, 0), dilation=(1, 1), ceil_mode=False,
    count_include_pad=False, layout='NCHW', out_layout=None)
nn.avg_pool3d(data, pool_size=(1, 1, 1), strides=(1, 1, 1), padding=(0, 0, 0), dilation=(1, 1, 1),
    ceil_mode=False, count_include_pad=True, layout='NCDHW', out_layout=None)
nn.batch_flatten(data)
nn.batch_norm(data, gamma, beta, moving_mean, moving_var, axis, epsilon=1e-05, center=True, scale=True,
    momentum=0.1, training=True)
nn.conv1d(data, weight, strides=1, padding=0, dilation=1, groups=1, data_layout='NCW', kernel_layout='OIW',
    out_layout=None, out_dtype=None)
nn.conv1d_transpose(data, weight, strides=1, padding=0, output_padding=0, dilation=1, groups=1,
    data_layout='NCW', kernel_layout='IOW', out_layout=None, out_dtype=None)
nn.conv2d(data, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, data_layout='NCHW',
    kernel_layout='OIHW', out_layout=None, out_dtype=None)
nn.conv2d_transpose(data, weight, strides=(1, 1), padding=(0, 0), output_padding=(0, 0), dilation=(1, 1),
    groups=1, data_layout='NCHW', kernel_layout='IOHW', out_layout=None, out_dtype=None)
nn.conv3d(data, weight, strides=(1, 1, 1), padding=(0, 0, 0), dilation=(1, 1, 1), groups=1,
    data_layout='NCDHW', kernel_layout='OIDHW', out_layout=None, out_dtype=None)
nn.conv3d_transpose(data, weight, strides=(1, 1, 1), padding=(0, 0, 0), output_padding=(0, 0, 0), dilation=(1,
    1, 1), groups=1, data_layout='NCDHW', kernel_layout='IODHW', out_layout=None, out_dtype=None)
nn.cross_entropy_with_logits(predictions, labels)
nn.dropout(data, rate=0.5)
nn.gelu(data)
nn.gelu_tanh(data)
nn.group_norm(data, gamma, beta, num_groups, channel_axis, axes, epsilon=1e-05, center=True, scale=True)
nn.instance_norm(data, gamma, beta, channel_axis, axes, epsilon=1e-05, center=True, scale=True)
nn.layer_norm(data, gamma, beta, axes, epsilon=1e-05, center=True, scale=True)
nn.leakyrelu(data, alpha=0.01)
nn.log_softmax(data, axis=-1)
nn.max_pool1d(data, pool_size=(1,), strides=(1,), padding=(0, 0), dilation=(1,), ceil_mode=False,
    count_include_pad=False, layout='NCW', out_layout=None)
nn.max_pool2d(data, pool_size=(1, 1), strides=(1, 1), padding=(0, 0), dilation=(1, 1), ceil_mode=False,
    count_include_pad=False, layout='NCHW', out_layout=None)
nn.max_pool3d(data, pool_size=(1, 1, 1), strides=(1, 1, 1), padding=(0, 0, 0), dilation=(1, 1, 1),
    ceil_mode=False, count_include_pad=False, layout='NCDHW', out_layout=None)
nn.nll_loss(predictions, targets, weights=None, reduction='mean', ignore_index=-100)
nn.pad(data, pad_width, pad_mode='constant', pad_value=0.0)
nn.pixel_shuffle(data, upscale_factor)
nn.prelu(data, alpha, axis=1)
nn.relu(data)
nn.rms_norm(data, weight, axes=-1, epsilon=1e-05)
nn.selu(data)
nn.silu(data)
nn.softmax(data, axis=-1)
nn.softplus(data, beta=1.0, threshold=20.0)
nonzero(x)
not_equal(x1, x2)
null_value()
one_hot(indices, on_value, off_value, depth, axis=-1)
ones(shape, dtype)
ones_like(x, dtype=None)
outer(x1, x2)
permute_dims(x, axes=None)
power(x1, x2)
!print(*values, format='')
prod(x, axis=None, keepdims=False)
quantize(data, scale, zero_point, axis=-1, out_dtype='int8')
repeat(data, repeats, axis=None)
reshape(x, shape)
reverse_sequence(data, seq_lengths, seq_axis=1, batch_axis=0)
right_shift(x1, x2)
round(x)
rsqrt(x)
scatter_elements(data, indices, updates, axis=0, reduction='update')
scatter_nd(data, indices, updates, reduction='update')
shape_of(expr)
shape_to_tensor(expr)
sigmoid(x)
sign(x)
sin(x)
sinh(x)
size(expr)
slice_scatter(input_tensor, src, start, end, step, axis=0)
sort(x, axis=-1, descending=False)
split(x, indices_or_sections, axis=0)
sqrt(x)
square(x)
squeeze(x, axis=None)
stack(tensors, axis=0)
std(x, axis=None, keepdims=False)
strided_slice(x, axes, begin, end, strides=None, assume_inbound=False)
subtract(x1, x2)
sum(x, axis=None, keepdims=False)
take(x, indices, axis=None, mode='fast')
tan(x)
tanh(x)
tensor_to_shape(expr)
tile(data, repeats)
to_vdevice(data, dst_vdevice)
topk(data, k=1, axis=-1, ret_type='both', largest=True, dtype='int32')
tril(x, k=0)
triu(x, k=0)
trunc(x)
unique(x, sorted=True, return_index=False, return_inverse=False, return_counts=False, axis=None)
variance(x, axis=None, keepdims=False)
vision.all_class_non_max_suppression(boxes, scores, max_output_boxes_per_class, iou_threshold,
    score_threshold, output_format='onnx')
vision.get_valid_counts(data, score_threshold=0, id_index=0, score_index=1)
vision.multibox_transform_loc(cls_pred, loc_pred, anchor, clip=False, threshold=0.0, variances=(1.0, 1.0, 1.0,
    1.0), keep_background=True, apply_softmax=True)
vision.non_max_suppression(data, valid_count, indices, max_output_size=-1, iou_threshold=0.5,
    force_suppress=False, top_k=-1, coord_start=2, score_index=1, id_index=0, return_indices=True,
    invalid_to_bottom=False, soft_nms_sigma=0.0, score_threshold=0.0)
vision.roi_align(data, rois, pooled_size, spatial_scale, sample_ratio=-1, aligned=False, layout='NCHW',
    mode='avg')
vision.roi_pool(data, rois, pooled_size, spatial_scale, layout='NCHW')
vm.alloc_storage(size, dtype, runtime_device_index, storage_scope)
vm.alloc_tensor(storage, offset, shape, dtype, runtime_device_index)
!vm.call_tir_dyn(func, args)
!vm.kill_object(obj)
where(condition, x1, x2)
wrap_param(data, dtype='float32')
zeros(shape, dtype)
zeros_like(x, dtype=None)
"""
# Operators of two tensors that are broadcast, or of two scalars, which give a scalar.
BINARY = frozenset({
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "equal", "floor_divide", "floor_mod",
    "greater", "greater_equal", "left_shift", "less", "less_equal", "logical_and", "logical_or", "logical_xor",
    "maximum", "minimum", "mod", "multiply", "not_equal", "power", "right_shift", "subtract",
})  # fmt: skip
# Today's names of operators by their old ones.
RENAMED = {"alloc_tensor": "builtin.alloc_tensor", "nn.attention_bias": "nn.attention"}
REQUIRED: Any = object()
# Operators without a result.
_VOID = frozenset(
    {"assert_op", "print", "memory.kill_storage", "memory.kill_tensor", "vm.call_tir_dyn", "vm.kill_object"}
)
# What the result of a call is said with: until 0.25, and since.
RESULT_KEYWORDS = frozenset({"sinfo_args", "ty_args"})


@dataclass(frozen=True, slots=True)
class Signature:
    """What an operator takes: parameter names in order, defaults, and ``star``, the one that takes
    any number.

    ``by_name`` are the parameters that are given by their names only.
    """

    name: str
    params: tuple[str, ...]
    defaults: tuple[Any, ...]
    star: str | None = None
    pure: bool = True
    by_name: tuple[str, ...] = ()

    def default(self, name: str) -> Any:
        """Return what TVM takes for the parameter ``name`` where it is left out."""
        return self.defaults[self.params.index(name)]


@lru_cache(maxsize=1)
def _lines() -> dict[str, str]:
    joined = _SIGNATURES.strip("\n").replace("\n    ", " ").splitlines()
    return {line.lstrip("!").partition("(")[0]: line for line in joined}


@lru_cache(maxsize=None)
def signature(name: str) -> Signature | None:
    """Return the signature of ``R.<name>``, None where TVM has no such operator."""
    line = _lines().get(RENAMED.get(name, name))
    if line is None:
        return None
    text = line[line.index("(") :]
    definition = ast.parse(f"def operator{text}: pass").body[0]
    assert isinstance(definition, ast.FunctionDef)
    arguments = definition.args
    plain = [*arguments.args, *arguments.kwonlyargs]
    given = [ast.literal_eval(one) if one is not None else REQUIRED for one in arguments.kw_defaults]
    defaults = [ast.literal_eval(one) for one in arguments.defaults]
    missing = len(arguments.args) - len(defaults)
    return Signature(
        RENAMED.get(name, name),
        tuple(one.arg for one in plain),
        (*(REQUIRED,) * missing, *defaults, *given),
        arguments.vararg.arg if arguments.vararg else None,
        not line.startswith("!"),
        tuple(one.arg for one in arguments.kwonlyargs),
    )


def operator_names() -> tuple[str, ...]:
    """Return the names of TVM's operators, without ``R.``."""
    return tuple(_lines())


@dataclass(frozen=True, slots=True)
class Argument:
    """The place of an argument that is an expression, in the layout of a foreign operator's
    call.
    """

    index: int


@dataclass(frozen=True, slots=True)
class ForeignAttrs:
    """How a call of a foreign operator was written: (keyword or "", value or :class:`Argument`), in
    order.
    """

    layout: tuple[tuple[str, Any], ...] = ()

    @property
    def result(self) -> StructInfo | None:
        """The struct info that the call says its result has, None where it says nothing."""
        for _, value in reversed(self.layout):
            if isinstance(value, StructInfo):
                return value
            if isinstance(value, tuple) and value and all(isinstance(one, StructInfo) for one in value):
                return value[0] if len(value) == 1 else TupleStructInfo(value)
        return None


def without_defaults(name: str, attrs: ForeignAttrs) -> ForeignAttrs:
    """Return ``attrs`` of the operator ``R.<name>`` without the last arguments where TVM takes the
    same for them.
    """
    form, layout = signature(name), list(attrs.layout)
    if form is None or form.star is not None or any(keyword for keyword, _ in layout):
        return attrs
    while layout and layout[-1][1] == form.defaults[len(layout) - 1]:
        layout.pop()
    return ForeignAttrs(tuple(layout))


@dataclass(frozen=True, slots=True, eq=False)
class ForeignOp(OpDef):
    """An operator of TVM without a record here."""

    pure: bool = True

    @property
    def computes(self) -> bool:
        """Whether TVM infers the result from the arguments, of which nothing is known here."""
        return self.name.startswith(("nn.", "vision.", "ccl.", "multinomial_from_uniform"))

    def result(self, attrs: ForeignAttrs) -> StructInfo:
        """Return what is known of the result of a call with ``attrs``."""
        return attrs.result or (TupleStructInfo(()) if self.name in _VOID else ObjectStructInfo())


@lru_cache(maxsize=None)
def foreign_op(name: str) -> ForeignOp | None:
    """Return the operator ``R.<name>`` of TVM as one without a record.

    None where TVM has no such operator.
    """
    found = signature(name)
    if found is None:
        return None

    why = "the operator has no record"
    if relax_op(found.name) is not None:
        why = "its record has no place for one of these arguments"

    def refuse(*_: Any) -> NoReturn:
        raise UnsupportedError(f"R.{found.name} cannot be run or lowered here: {why}")

    inputs = (*found.params, f"*{found.star}") if found.star else found.params
    return ForeignOp(
        doc=f"R.{found.name} of TVM.",
        source="TVM 0.27",
        inputs=inputs,
        infer=refuse,
        numpy=refuse,
        compute=refuse,
        attrs=ForeignAttrs,
        script=Script(found.name),
        pure=found.pure,
    )
