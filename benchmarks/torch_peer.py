"""PyTorch on the ONNX models that ``graph.to_onnx`` makes: every node becomes a call of a torch
function.

Only what these models use. What depends on constants alone is computed once, as ONNX Runtime does
it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper

# From the attributes of a node and the values of its constant inputs to a function of all its
# inputs.
Maker = Callable[[Mapping[str, Any], Sequence[Any]], Callable[..., Any]]


def _conv(a: Mapping[str, Any], _: Sequence[Any]) -> Callable[..., Any]:
    pads = a["pads"]
    half = len(pads) // 2
    even = pads[:half] == pads[half:]
    # torch names the sides of the last axis first.
    sides = [side for axis in reversed(range(half)) for side in (pads[axis], pads[half + axis])]

    def call(x: Any, weight: Any, bias: Any = None) -> Any:
        padded = x if even else F.pad(x, sides)
        return F.conv2d(padded, weight, bias, a["strides"], pads[:half] if even else 0, a["dilations"], a["group"])

    return call


def _conv_transpose(a: Mapping[str, Any], _: Sequence[Any]) -> Callable[..., Any]:
    pads = a["pads"]
    if pads[:2] != pads[2:]:
        raise ValueError("no torch form for a transposed convolution with uneven padding")
    rest = (a["strides"], pads[:2], a["output_padding"], a["group"], a["dilations"])
    return lambda x, weight, bias=None: F.conv_transpose2d(x, weight, bias, *rest)


def _max_pool(a: Mapping[str, Any], _: Sequence[Any]) -> Callable[..., Any]:
    pads = a["pads"]
    if pads[:2] != pads[2:]:
        raise ValueError("no torch form for pooling with uneven padding")
    return lambda x: F.max_pool2d(x, a["kernel_shape"], a["strides"], pads[:2], ceil_mode=bool(a["ceil_mode"]))


def _gemm(a: Mapping[str, Any], _: Sequence[Any]) -> Callable[..., Any]:
    if set(a) - {"transB"}:
        raise ValueError(f"no torch form for Gemm with {sorted(a)}")
    return F.linear if a.get("transB") else lambda x, weight, bias=None: F.linear(x, weight.T, bias)


def _gather(a: Mapping[str, Any], _: Sequence[Any]) -> Callable[..., Any]:
    axis = a.get("axis", 0)

    def call(x: Any, indices: Any) -> Any:
        if axis == 0 and x.dim() == 2:
            return F.embedding(indices, x)
        taken = x.index_select(axis, indices.reshape(-1))
        return torch.reshape(taken, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))

    return call


def _split(a: Mapping[str, Any], constants: Sequence[Any]) -> Callable[..., Any]:
    axis, sizes = a.get("axis", 0), constants[1].tolist()
    return lambda x, _: torch.split(x, sizes, axis)


def _layer_norm(a: Mapping[str, Any], _: Sequence[Any]) -> Callable[..., Any]:
    epsilon = a.get("epsilon", 1e-5)
    return lambda x, scale, bias=None: F.layer_norm(x, scale.shape, scale, bias, epsilon)


def _clip(_: Mapping[str, Any], constants: Sequence[Any]) -> Callable[..., Any]:
    low, high = (one.item() for one in constants[1:])
    return lambda x, *_: torch.clamp(x, low, high)


def _with_list(make: Callable[[Mapping[str, Any], list[int]], Callable[..., Any]]) -> Maker:
    """Return a maker from one that wants the second input, a constant, as a list of numbers."""
    return lambda attributes, constants: make(attributes, constants[1].tolist())


def _function(function: Callable[..., Any]) -> Maker:
    return lambda attributes, constants: function


MAKERS: dict[str, Maker] = {
    **{
        kind: _function(function)
        for kind, function in {
            "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "Pow": torch.pow,
            "Sqrt": torch.sqrt, "Erf": torch.erf, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh,
            "Relu": torch.relu, "Less": torch.lt, "Where": torch.where, "MatMul": torch.matmul,
        }.items()
    },
    "Identity": _function(lambda x: x),
    "GlobalAveragePool": _function(lambda x: F.adaptive_avg_pool2d(x, 1)),
    "Shape": lambda a, _: lambda x: torch.tensor(x.shape, device=x.device)[a.get("start", 0) : a.get("end")],
    "Max": _function(torch.maximum),
    "Min": _function(torch.minimum),
    "Expand": _with_list(lambda a, shape: lambda x, _: x.expand(shape)),
    "Flatten": lambda a, _: lambda x: torch.flatten(x, a.get("axis", 1)),
    "Softmax": lambda a, _: lambda x: torch.softmax(x, a.get("axis", -1)),
    "Transpose": lambda a, _: lambda x: x.permute(a.get("perm") or [*reversed(range(x.dim()))]),
    "Concat": lambda a, _: lambda *parts: torch.cat(parts, a["axis"]),
    "Reshape": _with_list(lambda a, shape: lambda x, _: torch.reshape(x, shape)),
    "Unsqueeze": _with_list(lambda a, axes: lambda x, _: functools.reduce(torch.unsqueeze, axes, x)),
    "ReduceMean": _with_list(lambda a, axes: lambda x, _: x.mean(axes, keepdim=bool(a.get("keepdims", 1)))),
    "Clip": _clip,
    "BatchNormalization": lambda a, _: lambda x, gamma, beta, mean, variance: F.batch_norm(
        x, mean, variance, gamma, beta, eps=a.get("epsilon", 1e-5)
    ),
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "MaxPool": _max_pool,
    "Gemm": _gemm,
    "Gather": _gather,
    "Split": _split,
    "LayerNormalization": _layer_norm,
}  # fmt: skip


def run_by_torch(model: onnx.ModelProto, device: str = "cpu") -> Callable[..., list[Any]]:
    """Return ``model`` as a function of torch tensors on ``device``, in the order of its inputs; it
    is to be called without gradients.

    Raises ValueError for an operator that has no torch form here.
    """
    values: dict[str, Any] = {
        one.name: torch.from_numpy(numpy_helper.to_array(one).copy()).to(device) for one in model.graph.initializer
    }
    places: dict[str, int] = {one.name: number for number, one in enumerate(model.graph.input)}
    inputs = len(places)
    # Slots hold inputs, then constants, then results; each step reads and writes slots.
    fixed: list[Any] = []
    steps: list[tuple[Callable[..., Any], list[int], list[int]]] = []
    with torch.inference_mode():
        for node in model.graph.node:
            if node.op_type not in MAKERS:
                raise ValueError(f"no torch form for {node.op_type}")
            attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
            function = MAKERS[node.op_type](attributes, [values.get(name) for name in node.input])
            if all(name in values for name in node.input):
                found = function(*(values[name] for name in node.input))
                parts = found if isinstance(found, tuple) else (found,)
                values |= dict(zip(node.output, parts, strict=True))
                continue
            for name in (*node.input, *node.output):
                if name not in places:
                    places[name] = inputs + len(fixed)
                    fixed.append(values.get(name))
            steps.append((function, [places[n] for n in node.input], [places[n] for n in node.output]))
    results = [places[one.name] for one in model.graph.output]

    def run(*given: Any) -> list[Any]:
        slots = [*given, *fixed]
        for function, sources, targets in steps:
            found = function(*[slots[place] for place in sources])
            if len(targets) == 1:
                slots[targets[0]] = found[0] if type(found) is tuple else found
            else:
                for place, part in zip(targets, found, strict=True):
                    slots[place] = part
        return [slots[place] for place in results]

    return run
