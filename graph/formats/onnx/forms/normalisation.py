"""Normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay2relax.graph.formats.onnx.builder import Form, Site, Value
from relay2relax.ops.nn.feature_normalisation import RelaxGroupNormAttrs, RelaxInstanceNormAttrs, RMSNormAttrs


def batch_norm(at: Site, attrs: Any, data: str, gamma: str, beta: str, mean: str, var: str) -> Value:
    if getattr(attrs, "training", False):
        at.refuse("its statistics are those of the batch")
    rank, channels = at.type().rank, at.type(1).shape
    axis = attrs.axis % rank
    perm = [0, axis, *(one for one in range(1, rank) if one != axis)]
    if axis == 0:
        at.refuse("its channels are the first axis")
    if axis != 1:
        data = at.node("Transpose", data, perm=perm)
    if not attrs.scale:
        gamma = _full(at, 1, channels)
    if not attrs.center:
        beta = _full(at, 0, channels)
    made = at.node("BatchNormalization", data, gamma, beta, mean, var, epsilon=float(attrs.epsilon))
    if axis != 1:
        made = at.node("Transpose", made, perm=[perm.index(one) for one in range(rank)])
    return made, mean, var


def _full(at: Site, value: float, shape: Sequence[Any]) -> str:
    return at.node("Expand", at.const(value, at.type().dtype), at.extents(shape))


def _normalised(at: Site, data: str, axes: Sequence[int], epsilon: float, dtype: str) -> str:
    where = at.ints(list(axes))
    centred = at.node("Sub", data, at.node("ReduceMean", data, where, keepdims=1))
    spread = at.node("ReduceMean", at.node("Mul", centred, centred), where, keepdims=1)
    return at.node("Div", centred, at.node("Sqrt", at.node("Add", spread, at.const(epsilon, dtype))))


def _scaled(at: Site, attrs: Any, made: str, gamma: str, beta: str, behind: int) -> str:
    def aligned(value: str) -> str:
        return at.node("Unsqueeze", value, at.ints(list(range(1, behind + 1)))) if behind else value

    if attrs.scale:
        made = at.node("Mul", made, aligned(gamma))
    return at.node("Add", made, aligned(beta)) if attrs.center else made


def layer_norm(at: Site, attrs: Any, data: str, gamma: str, beta: str) -> str:
    rank, axes = at.type().rank, sorted(_axes(at, attrs))
    last = axes == list(range(rank - len(axes), rank))
    if last and attrs.scale and attrs.center:
        return at.node("LayerNormalization", data, gamma, beta, axis=axes[0], epsilon=float(attrs.epsilon))
    if not last and len(axes) > 1:
        at.refuse("over axes apart")
    made = _normalised(at, data, axes, attrs.epsilon, at.type().dtype)
    return _scaled(at, attrs, made, gamma, beta, rank - 1 - axes[-1])


def _axes(at: Site, attrs: Any) -> list[int]:
    given = attrs.axes if hasattr(attrs, "axes") else (attrs.axis,)
    return [int(one) % at.type().rank for one in given]


def rms_norm(at: Site, attrs: RMSNormAttrs, data: str, weight: str) -> str:
    dtype = at.type().dtype
    mean = at.node("ReduceMean", at.node("Mul", data, data), at.ints(_axes(at, attrs)), keepdims=1)
    root = at.node("Sqrt", at.node("Add", mean, at.const(attrs.epsilon, dtype)))
    return at.node("Mul", at.node("Div", data, root), weight)


def instance_norm(at: Site, attrs: RelaxInstanceNormAttrs, data: str, gamma: str, beta: str) -> str:
    rank, axes = at.type().rank, sorted(_axes(at, attrs))
    channel = attrs.channel_axis % rank
    if channel == 1 and axes == list(range(2, rank)) and attrs.scale and attrs.center and rank > 2:
        return at.node("InstanceNormalization", data, gamma, beta, epsilon=float(attrs.epsilon))
    made = _normalised(at, data, axes, attrs.epsilon, at.type().dtype)
    return _scaled(at, attrs, made, gamma, beta, rank - 1 - channel)


def group_norm(at: Site, attrs: RelaxGroupNormAttrs, data: str, gamma: str, beta: str) -> str:
    shape, rank = at.type().shape, at.type().rank
    channel, axes = attrs.channel_axis % rank, _axes(at, attrs)
    (channels,) = at.static([shape[channel]], "the number of channels")
    groups = [*shape[:channel], attrs.num_groups, channels // attrs.num_groups, *shape[channel + 1 :]]
    split = at.node("Reshape", data, at.extents(groups))
    places = [channel + 1, *(axis + (axis > channel) for axis in axes if axis != channel)]
    made = _normalised(at, split, sorted(places), attrs.epsilon, at.type().dtype)
    return _scaled(at, attrs, at.node("Reshape", made, at.extents(shape)), gamma, beta, rank - 1 - channel)


FORMS: dict[str, Form] = {
    "nn.batch_norm": batch_norm,
    "R.nn.batch_norm": batch_norm,
    "R.nn.layer_norm": layer_norm,
    "nn.layer_norm": layer_norm,
    "R.nn.rms_norm": rms_norm,
    "R.nn.instance_norm": instance_norm,
    "R.nn.group_norm": group_norm,
}
