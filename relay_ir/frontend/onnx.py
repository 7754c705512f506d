"""ONNX models as Relay, as TVM's importer made them: ``mod, params =
frontend.from_onnx(onnx.load("resnet.onnx"))``.

The operators are those of image classifiers and perceptrons: convolution, pooling, normalisation,
dense layers, activations, arithmetic, and changes of shape that are known beforehand. A model with
any other is refused, and all operators that are missing are named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, cast

import numpy as np

from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.source import Span
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Tuple, TupleGetItem, const
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars
from relay2relax.tir.extent import ANY, Extent


def from_onnx(
    model: object, shape: Mapping[str, Sequence[Extent]] | None = None, freeze_params: bool = False
) -> tuple[IRModule, dict[str, Array]]:
    """Return an ONNX model as a module, and its weights by name.

    ``shape`` states extents of inputs, where the model leaves them open. Weights are parameters of
    ``main``, after the inputs; with ``freeze_params`` they are constants. Calls carry the ONNX
    nodes' names as spans. Raises UnsupportedError for a model with operators or forms of operators
    that are not read, naming them.
    """
    importer = _Importer(dict(shape or {}), freeze_params)
    body = importer.graph(model)
    if freeze_params:
        return IRModule.from_expr(Function(tuple(importer.inputs), body)), {}
    used = set(free_vars(body))
    weights = [one for one in importer.weights.values() if one in used]
    found = {one.name: importer.arrays[one.name] for one in weights}
    return IRModule.from_expr(Function((*importer.inputs, *weights), body)), found


@dataclass(frozen=True, slots=True)
class _Node:
    """One ONNX node: its operator, its inputs ("" where one is left out) and attributes."""

    operator: str
    name: str
    inputs: tuple[str, ...]
    attrs: Mapping[str, Any]


@dataclass(slots=True, eq=False)
class _Importer:
    shapes: dict[str, Sequence[Extent]]
    freeze: bool
    values: dict[str, Expr] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    inputs: list[Any] = field(default_factory=list)
    weights: dict[str, Any] = field(default_factory=dict)
    span: Span | None = None

    def graph(self, model: object) -> Expr:
        """Return the outputs of the model's graph."""
        import onnx
        from onnx import numpy_helper

        graph = onnx.shape_inference.infer_shapes(model).graph
        known = {*_OPERATORS, "Constant"}
        missing = sorted({node.op_type for node in graph.node if node.domain or node.op_type not in known})
        if missing:
            raise UnsupportedError(f"ONNX operators that are not imported: {', '.join(missing)}")
        for tensor in graph.initializer:
            self._weight(tensor.name, numpy_helper.to_array(tensor))
        for info in graph.input:
            if info.name not in self.arrays:
                self._input(info)
        for info in (*graph.input, *graph.value_info, *graph.output):
            if info.name in self.shapes:
                self.ranks[info.name] = len(self.shapes[info.name])
            elif info.type.tensor_type.HasField("shape"):
                self.ranks[info.name] = len(info.type.tensor_type.shape.dim)
        for node in graph.node:
            attrs = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
            if node.op_type == "Constant":
                self._weight(node.output[0], self._constant(node.name, attrs), frozen=True)
                continue
            found = _Node(node.op_type, node.name, tuple(node.input), attrs)
            self.span = Span(node.name) if node.name else None
            self.values[node.output[0]] = _OPERATORS[node.op_type](self, found)
        unknown = [info.name for info in graph.output if info.name not in self.values]
        if unknown:
            raise UnsupportedError(f"the output {unknown[0]!r} of the ONNX model is a further output of a node")
        outputs = tuple(self.values[info.name] for info in graph.output)
        return outputs[0] if len(outputs) == 1 else Tuple(outputs)

    def _input(self, info: Any) -> None:
        from onnx import helper

        tensor = info.type.tensor_type
        if not tensor.elem_type:
            raise UnsupportedError(f"the input {info.name!r} of the ONNX model is no tensor")
        dims = [dim.dim_value if dim.HasField("dim_value") else ANY for dim in tensor.shape.dim]
        dtype = of_array(np.empty(0, helper.tensor_dtype_to_np_dtype(tensor.elem_type)))
        self.values[info.name] = made = var(info.name, shape=self.shapes.get(info.name, dims), dtype=dtype)
        self.inputs.append(made)

    def _weight(self, name: str, array: Array, frozen: bool = False) -> None:
        self.arrays[name] = array
        self.ranks[name] = array.ndim
        if self.freeze or frozen:
            self.values[name] = const(array, of_array(array))
        else:
            self.values[name] = self.weights[name] = var(name, shape=array.shape, dtype=of_array(array))

    def _constant(self, name: str, attrs: Mapping[str, object]) -> Array:
        from onnx import numpy_helper

        if "value" in attrs:
            value: Array = numpy_helper.to_array(attrs["value"])
            return value
        for key, dtype in (("value_float", "float32"), ("value_floats", "float32"), ("value_int", "int64"),
                           ("value_ints", "int64")):  # fmt: skip
            if key in attrs:
                return np.asarray(attrs[key], dtype)
        raise UnsupportedError(f"the ONNX constant {name!r} is no tensor of numbers")

    # --- what operators ask ---

    def args(self, node: _Node) -> list[Expr]:
        """Return the inputs of a node that are given."""
        unknown = next((name for name in node.inputs if name and name not in self.values), None)
        if unknown is not None:
            self.refuse(node, f"its input {unknown!r} is a further output of a node")
        return [self.values[name] for name in node.inputs if name]

    def rank(self, node: _Node, place: int = 0) -> int:
        """Return the number of dimensions of an input."""
        name = node.inputs[place]
        if name not in self.ranks:
            self.refuse(node, f"the rank of {name!r} is not known")
        return self.ranks[name]

    def numbers(self, node: _Node, place: int, attr: str) -> Array | None:
        """Return an argument that newer models give as a constant input and older ones as an
        attribute.
        """
        if attr in node.attrs:
            return np.asarray(node.attrs[attr])
        if len(node.inputs) <= place or not node.inputs[place]:
            return None
        found = self.arrays.get(node.inputs[place])
        if found is None:
            self.refuse(node, f"{attr} is computed")
        return found

    def refuse(self, node: _Node, why: str) -> NoReturn:
        """Raise UnsupportedError for a form of an operator."""
        raise UnsupportedError(f"the ONNX node {node.name or node.operator!r} ({node.operator}) is not imported: {why}")

    def made(self, call: object) -> Expr:
        """Return what was made of a node, with the node's name."""
        if isinstance(call, TupleGetItem):
            return replace(call, tuple_value=self.made(call.tuple_value), span=self.span)
        return cast("Expr", replace(call, span=self.span) if isinstance(call, Call) else call)


_Convert = Callable[[_Importer, _Node], Expr]


def _same(name: str) -> _Convert:
    """The Relay operator means the same, and has no attributes."""

    def convert(importer: _Importer, node: _Node) -> Expr:
        function = op.nn.relu if name == "nn.relu" else getattr(op, name)
        return importer.made(function(*importer.args(node)))

    return convert


def _window(importer: _Importer, node: _Node, kernel: Sequence[int]) -> dict[str, Any]:
    """Return strides, dilation and padding of a node whose windows have extents ``kernel``."""
    rank = len(kernel)
    strides = list(node.attrs.get("strides", [1] * rank))
    dilation = list(node.attrs.get("dilations", [1] * rank))
    padding = list(node.attrs.get("pads", [0] * (2 * rank)))
    automatic = node.attrs.get("auto_pad", b"NOTSET").decode()
    if automatic.startswith("SAME"):
        # As many elements as strides demand, whatever the extent; only for stride 1 is that known
        # beforehand.
        if any(stride != 1 for stride in strides):
            importer.refuse(node, f"auto_pad {automatic} with strides {strides}")
        over = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
        less, more = [one // 2 for one in over], [one - one // 2 for one in over]
        padding = less + more if automatic == "SAME_UPPER" else more + less
    return {"strides": strides, "dilation": dilation, "padding": padding}


def _convolution(importer: _Importer, node: _Node) -> Expr:
    data, weight, *bias = importer.args(node)
    shape = importer.arrays[node.inputs[1]].shape if node.inputs[1] in importer.arrays else ()
    kernel = tuple(node.attrs.get("kernel_shape", shape[2:]))
    if not shape or len(kernel) not in (1, 2, 3):
        importer.refuse(node, "its weight is computed, or has no 1 to 3 spatial axes")
    function = getattr(op.nn, f"conv{len(kernel)}d")
    window = _window(importer, node, kernel)
    groups = node.attrs.get("group", 1)
    made = importer.made(function(data, weight, groups=groups, channels=int(shape[0]), kernel_size=kernel, **window))
    return importer.made(op.nn.bias_add(made, bias[0])) if bias else made


def _pooling(kind: str) -> _Convert:
    def convert(importer: _Importer, node: _Node) -> Expr:
        kernel = node.attrs["kernel_shape"]
        given = {
            "pool_size": kernel,
            "ceil_mode": bool(node.attrs.get("ceil_mode", 0)),
            **_window(importer, node, kernel),
        }
        if kind == "avg":
            given["count_include_pad"] = bool(node.attrs.get("count_include_pad", 0))
        function = getattr(op.nn, f"{kind}_pool{len(kernel)}d")
        return importer.made(function(*importer.args(node), **given))

    return convert


def _global_pooling(kind: str) -> _Convert:
    def convert(importer: _Importer, node: _Node) -> Expr:
        return importer.made(getattr(op.nn, f"global_{kind}_pool{importer.rank(node) - 2}d")(*importer.args(node)))

    return convert


def _batch_norm(importer: _Importer, node: _Node) -> Expr:
    if node.attrs.get("training_mode", 0):
        importer.refuse(node, "it trains")
    made = op.nn.batch_norm(*importer.args(node), epsilon=node.attrs.get("epsilon", 1e-5))
    return importer.made(TupleGetItem(made, 0))


def _dense(importer: _Importer, node: _Node) -> Expr:
    """Gemm: ``alpha * A * B + beta * C``."""
    data, weight, *bias = importer.args(node)
    if node.attrs.get("transA", 0):
        data = importer.made(op.transpose(data, axes=(1, 0)))
    if not node.attrs.get("transB", 0):
        weight = importer.made(op.transpose(weight, axes=(1, 0)))
    alpha, beta = node.attrs.get("alpha", 1.0), node.attrs.get("beta", 1.0)
    if alpha != 1.0:
        data = importer.made(op.multiply(data, const(float(alpha))))
    units = (
        importer.arrays[node.inputs[1]].shape[1 - node.attrs.get("transB", 0)]
        if node.inputs[1] in importer.arrays
        else None
    )
    made = importer.made(op.nn.dense(data, weight, units=units))
    if not bias:
        return made
    added = bias[0] if beta == 1.0 else importer.made(op.multiply(const(float(beta)), bias[0]))
    return importer.made(op.add(made, added))


def _product(importer: _Importer, node: _Node) -> Expr:
    left, right = importer.args(node)
    ranks = importer.rank(node), importer.rank(node, 1)
    if ranks == (2, 2):
        turned = importer.made(op.transpose(right, axes=(1, 0)))
        return importer.made(op.nn.dense(left, turned, units=None))
    if ranks == (3, 3):
        return importer.made(op.nn.batch_matmul(left, right, transpose_b=False))
    importer.refuse(node, f"operands of {ranks[0]} and {ranks[1]} dimensions")


def _flatten(importer: _Importer, node: _Node) -> Expr:
    if node.attrs.get("axis", 1) != 1:
        importer.refuse(node, f"axis {node.attrs['axis']}")
    return importer.made(op.nn.batch_flatten(*importer.args(node)))


def _softmax(name: str) -> _Convert:

    def convert(importer: _Importer, node: _Node) -> Expr:
        return importer.made(getattr(op.nn, name)(*importer.args(node), axis=node.attrs.get("axis", -1)))

    return convert


def _concatenate(importer: _Importer, node: _Node) -> Expr:
    return importer.made(op.concatenate(importer.args(node), axis=node.attrs["axis"]))


def _leaky_relu(importer: _Importer, node: _Node) -> Expr:
    return importer.made(op.nn.leaky_relu(*importer.args(node), alpha=node.attrs.get("alpha", 0.01)))


def _transpose(importer: _Importer, node: _Node) -> Expr:
    return importer.made(op.transpose(*importer.args(node), axes=node.attrs.get("perm")))


def _clip(importer: _Importer, node: _Node) -> Expr:
    low, high = importer.numbers(node, 1, "min"), importer.numbers(node, 2, "max")
    limits = [-np.inf if low is None else float(low), np.inf if high is None else float(high)]
    return importer.made(op.clip(importer.args(node)[0], *limits))


def _reshape(importer: _Importer, node: _Node) -> Expr:
    shape = importer.numbers(node, 1, "shape")
    assert shape is not None
    return importer.made(op.reshape(importer.args(node)[0], newshape=[int(one) for one in shape]))


def _squeeze(importer: _Importer, node: _Node) -> Expr:
    axes = importer.numbers(node, 1, "axes")
    return importer.made(op.squeeze(importer.args(node)[0], axis=None if axes is None else [int(one) for one in axes]))


def _unsqueeze(importer: _Importer, node: _Node) -> Expr:
    axes = importer.numbers(node, 1, "axes")
    assert axes is not None
    made = importer.args(node)[0]
    rank = importer.rank(node) + len(axes)
    for axis in sorted(int(one) % rank for one in axes):
        made = importer.made(op.expand_dims(made, axis=axis))
    return made


def _mean(importer: _Importer, node: _Node) -> Expr:
    axes = importer.numbers(node, 1, "axes")
    keep = bool(node.attrs.get("keepdims", 1))
    axis = None if axes is None else [int(one) for one in axes]
    return importer.made(op.mean(importer.args(node)[0], axis=axis, keepdims=keep))


_OPERATORS: dict[str, _Convert] = {
    **{
        name: _same(relay)
        for name, relay in {
            "Abs": "abs", "Add": "add", "Div": "divide", "Erf": "erf", "Exp": "exp", "Identity": "copy", "Log": "log",
            "Mul": "multiply", "Neg": "negative", "Pow": "power", "Relu": "nn.relu", "Sigmoid": "sigmoid",
            "Sqrt": "sqrt", "Sub": "subtract", "Tanh": "tanh",
        }.items()
    },
    "AveragePool": _pooling("avg"),
    "BatchNormalization": _batch_norm,
    "Clip": _clip,
    "Concat": _concatenate,
    "Conv": _convolution,
    "Dropout": lambda importer, node: importer.args(node)[0],
    "Flatten": _flatten,
    "Gemm": _dense,
    "GlobalAveragePool": _global_pooling("avg"),
    "GlobalMaxPool": _global_pooling("max"),
    "LeakyRelu": _leaky_relu,
    "LogSoftmax": _softmax("log_softmax"),
    "MatMul": _product,
    "MaxPool": _pooling("max"),
    "ReduceMean": _mean,
    "Reshape": _reshape,
    "Softmax": _softmax("softmax"),
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}  # fmt: skip
