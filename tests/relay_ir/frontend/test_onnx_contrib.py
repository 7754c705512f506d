"""Operators of ONNX Runtime's own domain: what they compute is what ONNX Runtime computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends
from relay2relax.relay_ir import frontend

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

from onnx import helper, numpy_helper  # noqa: E402

Arrays = list[np.ndarray]


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(sum(shape) + 100 * seed)
    return rng.standard_normal(shape).astype(np.float32) / 2


def ids(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 5, shape, dtype=np.int32)


def small(*shape: int, dtype: str = "uint8", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


F, Z = np.float32, np.uint8(3)
SCALE = np.array(0.05, F)
LAYER = [drawn(2, 3, 8), drawn(2, 3, 8, seed=1), drawn(8), drawn(8, seed=1), drawn(8, seed=2)]
EMBED = [ids(2, 3), ids(2, 3) % 2, drawn(5, 8), drawn(6, 8), drawn(2, 8), drawn(8), drawn(8, seed=1)]
ATTEND = [drawn(2, 3, 8), drawn(8, 24), drawn(24)]
MASK = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
# The operator, its inputs (None is left out), attributes, and how many results it has.
CASES: dict[str, tuple[str, list[Any], dict[str, Any], int]] = {
    "FusedGemm": ("FusedGemm", [drawn(3, 4), drawn(4, 5), drawn(5)], {"activation": "Relu", "alpha": 0.5}, 1),
    "FusedGemm, leaky": (
        "FusedGemm", [drawn(3, 4), drawn(5, 4)], {"activation": "LeakyRelu", "activation_alpha": 0.2, "transB": 1}, 1,
    ),
    "FusedConv": (
        "FusedConv", [drawn(1, 3, 6, 6), drawn(4, 3, 3, 3), drawn(4)], {"activation": "Relu", "pads": [1, 1, 1, 1]}, 1,
    ),
    "FusedConv, a sum": (
        "FusedConv", [drawn(1, 3, 6, 6), drawn(4, 3, 3, 3), drawn(4), drawn(1, 4, 4, 4)], {"activation": "Relu"}, 1,
    ),
    "FusedMatMul": ("FusedMatMul", [drawn(2, 4, 3), drawn(2, 4, 5)], {"transA": 1, "alpha": 0.25}, 1),
    "BiasGelu": ("BiasGelu", [drawn(3, 8), drawn(8)], {}, 1),
    "FastGelu": ("FastGelu", [drawn(3, 8), drawn(8)], {}, 1),
    "FastGelu, no bias": ("FastGelu", [drawn(3, 8)], {}, 1),
    "Gelu": ("Gelu", [drawn(3, 8)], {}, 1),
    "QuickGelu": ("QuickGelu", [drawn(3, 8)], {"alpha": 1.5}, 1),
    "SkipLayerNormalization": ("SkipLayerNormalization", LAYER, {"epsilon": 1e-5}, 1),
    "SkipLayerNormalization, no bias": ("SkipLayerNormalization", LAYER[:3], {}, 1),
    "SkipSimplifiedLayerNormalization": ("SkipSimplifiedLayerNormalization", LAYER[:3], {"epsilon": 1e-5}, 1),
    "EmbedLayerNormalization": ("EmbedLayerNormalization", EMBED, {"epsilon": 1e-5}, 2),
    "EmbedLayerNormalization, a mask": ("EmbedLayerNormalization", [*EMBED, MASK], {"epsilon": 1e-5}, 2),
    "EmbedLayerNormalization, no segments": (
        "EmbedLayerNormalization", [EMBED[0], None, *EMBED[2:4], None, *EMBED[5:]], {"epsilon": 1e-5}, 2,
    ),
    "Attention": ("Attention", ATTEND, {"num_heads": 2}, 1),
    "Attention, causal": ("Attention", ATTEND, {"num_heads": 2, "unidirectional": 1}, 1),
    "Attention, a mask": ("Attention", [*ATTEND, MASK], {"num_heads": 2}, 1),
    "Attention, lengths": ("Attention", [*ATTEND, np.array([2, 3], np.int32)], {"num_heads": 2}, 1),
    "Attention, causal, a mask": ("Attention", [*ATTEND, 1 - MASK], {"num_heads": 2, "unidirectional": 1}, 1),
    "Attention, a past": ("Attention", [*ATTEND, None, drawn(2, 2, 2, 4, 4)], {"num_heads": 2}, 2),
    "QAttention": (
        "QAttention",
        [small(2, 3, 8), small(8, 24, dtype="int8"), drawn(24), SCALE, SCALE, None, np.uint8(40), np.int8(5)],
        {"num_heads": 2}, 1,
    ),
    "QLinearAdd": ("QLinearAdd", [small(3, 4), SCALE, Z, small(3, 4, seed=1), SCALE, Z, np.array(0.09, F), Z], {}, 1),
    "QLinearMul": ("QLinearMul", [small(3, 4), SCALE, Z, small(4, seed=1), SCALE, Z, np.array(0.2, F), Z], {}, 1),
    "QLinearSigmoid": ("QLinearSigmoid", [small(3, 4), SCALE, Z, np.array(1 / 256, F), np.uint8(0)], {}, 1),
    "QLinearLeakyRelu": (
        "QLinearLeakyRelu", [small(3, 4), SCALE, np.uint8(50), SCALE, np.uint8(50)], {"alpha": 0.1}, 1,
    ),
    "QuantizeLinear": ("QuantizeLinear", [drawn(3, 4), SCALE, Z], {}, 1),
    "DequantizeLinear": ("DequantizeLinear", [small(3, 4), SCALE, Z], {}, 1),
    "DynamicQuantizeMatMul": (
        "DynamicQuantizeMatMul", [drawn(3, 4), small(4, 5, dtype="int8"), SCALE, np.int8(2), drawn(5)], {}, 1,
    ),
    "MatMulIntegerToFloat": (
        "MatMulIntegerToFloat", [small(3, 4), small(4, 5, dtype="int8"), SCALE, SCALE, Z, np.int8(2), drawn(5)], {}, 1,
    ),
}  # fmt: skip


def model(name: str) -> tuple[Any, Arrays]:
    """Return a model of one node, whose first input is its input, and the value of that."""
    operator, values, attributes, count = CASES[name]
    names = ["" if one is None else f"x{place}" for place, one in enumerate(values)]
    outputs = [f"y{place}" for place in range(count)]
    node = helper.make_node(operator, names, outputs, operator, domain="com.microsoft", **attributes)
    arrays = [np.asarray(one) for one in values if one is not None]
    kinds = [helper.np_dtype_to_tensor_dtype(one.dtype) for one in arrays]
    held = [numpy_helper.from_array(one, name) for one, name in zip(arrays, filter(None, names), strict=True)][1:]
    result = kinds[0] if operator.startswith("QLinear") else 2 if operator == "QuantizeLinear" else 1
    results = [helper.make_tensor_value_info(one, 6 if "Embed" in operator and place else result, None)
               for place, one in enumerate(outputs)]  # fmt: skip
    first = helper.make_tensor_value_info("x0", kinds[0], arrays[0].shape)
    graph = helper.make_graph([node], "g", [first], results, held)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), arrays


@pytest.mark.parametrize("name", CASES)
def test_results_are_onnx_runtimes(name: str) -> None:
    found, (data, *_) = model(name)
    session = ort.InferenceSession(found.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {"x0": data})
    mod, params = frontend.from_onnx(found)
    ours = backends.create_executor("graph", mod).evaluate()(data, **params)
    every = ours if isinstance(ours, (tuple, list)) else [ours]
    for one, theirs in zip(every, wanted, strict=True):
        if theirs.dtype.kind in "iu":
            # Halves may be rounded the other way, by one.
            assert np.abs(np.asarray(one).astype(int) - theirs.astype(int)).max() <= 1
        else:
            np.testing.assert_allclose(np.asarray(one), theirs, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("steps", [255.0, 256.0, 100.3])
def test_softmax_of_few_bits_counts_in_whole_steps(dtype: str, steps: float) -> None:
    lowest = np.iinfo(dtype).min
    data = np.random.default_rng(0).integers(lowest, lowest + 256, (200, 3)).astype(dtype)
    held = [np.float32(0.02), np.array(3, dtype), np.float32(1 / steps), np.array(lowest, dtype)]
    names = [f"x{place}" for place in range(5)]
    node = helper.make_node("QLinearSoftmax", names, ["y"], domain="com.microsoft", axis=-1, opset=13)
    kind = helper.np_dtype_to_tensor_dtype(data.dtype)
    ends = [helper.make_tensor_value_info(name, kind, data.shape) for name in ("x0", "y")]
    weights = [numpy_helper.from_array(np.asarray(one), name) for one, name in zip(held, names[1:], strict=True)]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    found = helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:], weights), opset_imports=opsets,
                              ir_version=8)  # fmt: skip
    session = ort.InferenceSession(found.SerializeToString(), providers=["CPUExecutionProvider"])
    mod, params = frontend.from_onnx(found)
    ours = backends.create_executor("graph", mod).evaluate()(data, **params)
    np.testing.assert_array_equal(np.asarray(ours), session.run(None, {"x0": data})[0])
