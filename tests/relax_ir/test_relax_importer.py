"""Relax that we did not write: what TVM's ONNX importer makes of models, before and after its LegalizeOps and fusion.

Each module is read, and gives the numbers that TVM's own machine gives. One case in so many is run; all of them with
RELAY2RELAX_SWEEP=full.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, translator
from relay2relax import relax_ir as rx

pytestmark = [pytest.mark.tvm, pytest.mark.sweep]

UNARY = [
    "Relu",
    "Sigmoid",
    "Tanh",
    "Exp",
    "Log",
    "Sqrt",
    "Abs",
    "Neg",
    "Floor",
    "Ceil",
    "Round",
    "Erf",
    "Softplus",
    "Softsign",
    "Elu",
    "Selu",
    "HardSigmoid",
    "HardSwish",
    "Mish",
    "Sin",
    "Cos",
    "Tan",
    "Sinh",
    "Cosh",
    "Asinh",
    "Atan",
    "Reciprocal",
    "Sign",
    "Identity",
    "Flatten",
    "LeakyRelu",
    "Transpose",
    "GlobalAveragePool",
    "Softmax",
    "LogSoftmax",
    "ReduceMean",
    "ReduceSum",
    "ReduceMax",
    "ReduceMin",
    "ReduceL1",
    "ReduceL2",
    "ReduceProd",
    "ReduceLogSumExp",
    "ArgMax",
    "ArgMin",
]
BINARY = ["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mean", "Sum", "Less", "Greater", "Equal"]
CASES: list[tuple[str, list[tuple[int, ...]], dict[str, Any]]] = [
    *((name, [(2, 3, 4)], {}) for name in UNARY),
    *((name, [(2, 3), (2, 3)], {}) for name in BINARY),
    ("MatMul", [(2, 3), (3, 4)], {}),
    ("Gemm", [(2, 3), (3, 4), (4,)], {}),
    ("Concat", [(2, 3), (2, 3)], {"axis": 1}),
    ("PRelu", [(1, 3, 4, 4), (3, 1, 1)], {}),
    ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3)], {"pads": [1, 1, 1, 1]}),
    ("Conv", [(1, 4, 8, 8), (4, 1, 3, 3)], {"group": 4}),
    ("ConvTranspose", [(1, 3, 4, 4), (3, 2, 3, 3)], {"strides": [2, 2]}),
    ("MaxPool", [(1, 3, 8, 8)], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ("AveragePool", [(1, 3, 8, 8)], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    ("BatchNormalization", [(1, 3, 4, 4), (3,), (3,), (3,), (3,)], {}),
    ("LayerNormalization", [(2, 3, 4), (4,), (4,)], {}),
    ("LRN", [(1, 3, 4, 4)], {"size": 3}),
    ("DepthToSpace", [(1, 4, 2, 2)], {"blocksize": 2}),
    ("SpaceToDepth", [(1, 1, 4, 4)], {"blocksize": 2}),
    ("Einsum", [(2, 3), (3, 4)], {"equation": "ij,jk->ik"}),
]
STEP = 1 if os.environ.get("RELAY2RELAX_SWEEP") == "full" else 7


def imported(name: str, shapes: list[tuple[int, ...]], attrs: dict[str, Any]) -> Any:
    onnx = pytest.importorskip("onnx")
    from tvm.relax.frontend.onnx import from_onnx

    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    inputs = [make.make_tensor_value_info(f"x{i}", kind, shape) for i, shape in enumerate(shapes)]
    node = make.make_node(name, [one.name for one in inputs], ["y"], **attrs)
    graph = make.make_graph([node], "g", inputs, [make.make_tensor_value_info("y", kind, None)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the result's shape is left to the importer
        return from_onnx(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]), keep_params_in_input=True)


@pytest.mark.parametrize(("name", "shapes", "attrs"), CASES[::STEP], ids=lambda value: str(value)[:40])
def test_imported_models(name: str, shapes: list[tuple[int, ...]], attrs: dict[str, Any]) -> None:
    module = imported(name, shapes, attrs)
    import tvm
    from tvm import relax

    rng = np.random.default_rng(0)
    arguments = [np.abs(rng.standard_normal(shape)).astype("float32") for shape in shapes]
    machine = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
    expected = machine["main"](*map(tvm.runtime.tensor, arguments)).numpy()
    lowered = relax.transform.LegalizeOps()(module)
    fused = relax.transform.FuseOps()(relax.transform.AnnotateTIROpPattern()(lowered))
    for stage in (module, lowered, fused, relax.transform.FuseTIR()(fused)):
        read = rx.from_tvm(stage)
        assert rx.first_difference(rx.parse(read.script()), read) is None
        result = backends.VirtualMachine(backends.build(read))["main"](*arguments)
        np.testing.assert_allclose(translator.flatten(result)[0], expected, rtol=1e-4, atol=1e-5)
