"""Passes over Relay that take weights or data, so that no text can say them: applied to a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from relay2relax import relay_ir
from relay2relax.core.dtype import Array
from relay2relax.core.passes import Pass
from relay2relax.relay_ir import Call, Constant, IRModule, Op, TensorType, quantize, transform
from relay2relax.relay_ir.ir.rewrite import nodes

# (a typed module, the arguments of main) -> the module behind the pass, and its arguments
Apply: TypeAlias = Callable[[IRModule, Sequence[Array]], tuple[IRModule, list[Array]]]

# (names of weights, the sizes of their parts) -> a pass that makes them sparse
Sparse: TypeAlias = Callable[[list[str], list[tuple[int, ...]]], Pass[IRModule]]


@dataclass(frozen=True)
class InPython:
    """A pass, models that have what it is for, and by how much of the largest value it is off."""

    apply: Apply
    models: tuple[str, str, str]
    bound: float = 1e-4


def _names(mod: IRModule) -> list[str]:
    return [param.name for param in mod["main"].params]


def _weights(mod: IRModule, name: str) -> list[str]:
    """Return the parameters that are the weights of an operator."""
    calls = [node for node in nodes(mod["main"]) if isinstance(node, Call) and node.op == Op(name)]
    return [one.args[1].name for one in calls if isinstance(one.args[1], relay_ir.Var)]


def _sparse(
    mod: IRModule,
    given: Sequence[Array],
    weights: Sequence[str],
    kind: Sparse,
) -> tuple[IRModule, list[Array]]:
    values = dict(zip(_names(mod), given, strict=True))
    parts = {name: transform.block_sparse(values[name].reshape(len(values[name]), -1), 1, 1) for name in weights}
    after = relay_ir.infer_type(kind(list(parts), [one.sizes for one in parts.values()])(mod))
    for name, one in parts.items():
        values |= {f"{name}.data": one.data, f"{name}.indices": one.indices, f"{name}.indptr": one.indptr}
    assert set(_names(after)) != set(_names(mod)), "nothing became sparse"
    return after, [values[name] for name in _names(after)]


def _dense(mod: IRModule, given: Sequence[Array]) -> tuple[IRModule, list[Array]]:
    return _sparse(mod, given, _weights(mod, "nn.dense"), transform.DenseToSparse)


def _conv2d(mod: IRModule, given: Sequence[Array]) -> tuple[IRModule, list[Array]]:
    shapes = {param.name: mod.types[param] for param in mod["main"].params}
    found = [name for name in _weights(mod, "nn.conv2d") if _is_point(shapes[name])]
    return _sparse(mod, given, found, lambda names, sizes: transform.Conv2dToSparse(names, sizes, "NCHW", 1))


def _is_point(ty: relay_ir.Type) -> bool:
    return isinstance(ty, TensorType) and tuple(ty.shape[2:]) == (1, 1)


def _bound(mod: IRModule, given: Sequence[Array]) -> IRModule:
    weights = dict(list(zip(_names(mod), given, strict=True))[1:])
    return relay_ir.infer_type(relay_ir.bind_params(mod, weights))


def _constant_conv2d(mod: IRModule, given: Sequence[Array]) -> tuple[IRModule, list[Array]]:
    """Let every weight count as sparse."""
    after = transform.Conv2dToSparse2("NCHW", 1, (1, 1), -1.0)(_bound(mod, given))
    assert any(isinstance(node, Call) and node.op == Op("nn.sparse_conv2d") for node in nodes(after["main"]))
    return after, [given[0]]


def _quantised(mod: IRModule, given: Sequence[Array]) -> tuple[IRModule, list[Array]]:
    with quantize.qconfig(
        calibrate_mode="kl_divergence", weight_scale="max", skip_conv_layers=[], skip_dense_layer=False
    ):
        after = quantize.quantize(_bound(mod, given), None, [{_names(mod)[0]: given[0]}])
    stored = [node for node in nodes(after["main"]) if isinstance(node, Constant) and node.data.dtype == np.int8]
    assert stored, "nothing became integers"
    return after, [given[0]]


_POINTS = ("squeezenet", "mobilenet", "resnet18_cifar")
# By the rows of the page that they are.
IN_PYTHON: Mapping[tuple[str, ...], InPython] = {
    ("DenseToSparse",): InPython(_dense, ("mlp", "dqn", "mlp_dynamic_batch")),
    ("Conv2dToSparse",): InPython(_conv2d, _POINTS),
    ("Conv2dToSparse2",): InPython(_constant_conv2d, _POINTS),
    ("QuantizePartition", "QuantizeAnnotate", "QuantizeCalibrate", "QuantizeRealize"): InPython(
        _quantised, ("mlp", "dqn", "dcgan"), 0.1
    ),
}
