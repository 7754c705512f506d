"""Recorded Relay models as ONNX, so that ONNX Runtime can be measured on the same programs.

Only what the recorded models use; shapes are static but for the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from relay2relax import relay_ir
from relay2relax.core import post_order
from relay2relax.relay_ir.ir.expr import children
from relay2relax.translator.bisection import inlined

PLAIN = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "power": "Pow", "sqrt": "Sqrt", "erf": "Erf",
    "sigmoid": "Sigmoid", "tanh": "Tanh", "nn.relu": "Relu", "less": "Less", "where": "Where", "copy": "Identity",
    "nn.dropout": "Identity", "nn.batch_flatten": "Flatten", "nn.global_avg_pool2d": "GlobalAveragePool",
}  # fmt: skip


class Exporter:
    """Collects nodes and initialisers."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initialisers: list[Any] = []
        self.names: dict[Any, Any] = {}
        self.count = 0

    def fresh(self) -> str:
        """Return a name for a value."""
        self.count += 1
        return f"v{self.count}"

    def constant(self, value: np.ndarray) -> str:
        """Return the name of an initialiser."""
        name = self.fresh()
        self.initialisers.append(numpy_helper.from_array(np.require(value, requirements="C"), name))
        return name

    def node(self, kind: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; return the name of its output, or the names where it has several."""
        names = [self.fresh() for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else tuple(names)

    def reshape(self, value: str, shape: Sequence[int]) -> str:
        """Add a reshape to a static shape."""
        name: str = self.node("Reshape", [value, self.constant(np.array(shape, np.int64))])
        return name

    def call(self, call: relay_ir.Call, types: Any) -> Any:
        """Translate one operator call."""
        assert isinstance(call.op, relay_ir.Op)
        name, a = call.op.name, call.attrs
        args = [self.names[arg] for arg in call.args]
        out = types[call]
        shape = [d if isinstance(d, int) else -1 for d in getattr(out, "shape", ())]
        if name in PLAIN:
            result = self.node(PLAIN[name], args[:1] if name == "nn.dropout" else args)
            return (result, result) if name == "nn.dropout" else result
        axes: dict[str, Any] = {"perm": list(a.axes)} if name == "transpose" and a.axes else {}
        simple: dict[str, Callable[[], Any]] = {
            "nn.softmax": lambda: self.node("Softmax", args, axis=a.axis),
            "nn.layer_norm": lambda: self.node("LayerNormalization", args, axis=a.axis, epsilon=a.epsilon),
            "concatenate": lambda: self.node("Concat", args[0], axis=a.axis),
            "reshape": lambda: self.reshape(args[0], shape),
            "squeeze": lambda: self.reshape(args[0], shape),
            "expand_dims": lambda: self.reshape(args[0], shape),
            "transpose": lambda: self.node("Transpose", args, **axes),
            "take": lambda: self.node("Gather", args, axis=a.axis or 0),
            "mean": lambda: self.node(
                "ReduceMean", [args[0], self.constant(np.array(a.axis, np.int64))], keepdims=int(a.keepdims)
            ),
            "clip": lambda: self.node(
                "Clip", [args[0], self.constant(np.float32(a.a_min)), self.constant(np.float32(a.a_max))]
            ),
            "shape_of": lambda: self.node("Shape", args),
            "zeros": lambda: self.constant(np.zeros(shape, out.dtype)),
        }
        if name in simple:
            return simple[name]()
        if name == "split":
            count = len(out.fields)
            result = self.node("Split", args, outputs=count, axis=a.axis, num_outputs=count)
            return (result,) if count == 1 else result
        if name == "stack":
            parts = [self.node("Unsqueeze", [p, self.constant(np.array([a.axis], np.int64))]) for p in args[0]]
            return self.node("Concat", parts, axis=a.axis)
        if name in ("nn.conv2d", "nn.conv2d_transpose"):
            pads = list(a.padding)
            pads = pads * 2 if len(pads) == 2 else pads
            extra: dict[str, Any] = {"output_padding": list(a.output_padding)} if name.endswith("transpose") else {}
            kind = "ConvTranspose" if extra else "Conv"
            return self.node(
                kind,
                args,
                strides=list(a.strides),
                dilations=list(a.dilation),
                pads=pads,
                group=a.groups,
                **extra,
            )
        if name == "nn.max_pool2d":
            pads = list(a.padding)
            pads = pads * 2 if len(pads) == 2 else pads * 4 if len(pads) == 1 else pads
            return self.node(
                "MaxPool", args, kernel_shape=list(a.pool_size), strides=list(a.strides), pads=pads,
                ceil_mode=int(a.ceil_mode),
            )  # fmt: skip
        if name == "nn.batch_norm":
            size = [types[call.args[1]].shape[0]]
            gamma = args[1] if a.scale else self.constant(np.ones(size, np.float32))
            beta = args[2] if a.center else self.constant(np.zeros(size, np.float32))
            normalised = self.node("BatchNormalization", [args[0], gamma, beta, *args[3:]], epsilon=a.epsilon)
            return (normalised, args[3], args[4])
        if name == "nn.bias_add":
            rank = len(shape)
            trailing = rank - (a.axis % rank) - 1
            bias = self.reshape(args[1], [-1] + [1] * trailing) if trailing else args[1]
            return self.node("Add", [args[0], bias])
        if name == "nn.dense":
            if len(shape) == 2:
                return self.node("Gemm", args, transB=1)
            return self.node("MatMul", [args[0], self.node("Transpose", [args[1]], perm=[1, 0])])
        if name == "nn.batch_matmul":
            left = self.node("Transpose", [args[0]], perm=[0, 2, 1]) if a.transpose_a else args[0]
            right = self.node("Transpose", [args[1]], perm=[0, 2, 1]) if a.transpose_b else args[1]
            return self.node("MatMul", [left, right])
        raise ValueError(f"no ONNX form for {name}")


def export(mod: relay_ir.IRModule, weights: Sequence[np.ndarray | None]) -> onnx.ModelProto:
    """Return ``main`` as an ONNX model.

    A parameter with a weight becomes an initialiser, the others are inputs.
    """
    flat = inlined(mod)
    types, exporter = flat.types, Exporter()
    inputs = []
    for param, weight in zip(flat["main"].params, weights, strict=True):
        if weight is not None:
            exporter.names[param] = exporter.constant(weight)
            continue
        exporter.names[param] = exporter.fresh()
        of = types[param]
        assert isinstance(of, relay_ir.TensorType)
        shape = [d if isinstance(d, int) else "d" for d in of.shape]
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(of.dtype))
        inputs.append(helper.make_tensor_value_info(exporter.names[param], kind, shape))
    for node in post_order([flat["main"].body], children):
        match node:
            case relay_ir.Constant(data):
                exporter.names[node] = exporter.constant(data)
            case relay_ir.Tuple(fields):
                exporter.names[node] = tuple(exporter.names[f] for f in fields)
            case relay_ir.TupleGetItem(value, index):
                exporter.names[node] = exporter.names[value][index]
            case relay_ir.Call():
                exporter.names[node] = exporter.call(node, types)
    result = exporter.names[flat["main"].body]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        for name in (result if isinstance(result, tuple) else (result,))
    ]
    graph = helper.make_graph(exporter.nodes, "main", inputs, outputs, exporter.initialisers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    return model
