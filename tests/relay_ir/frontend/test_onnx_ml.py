"""Operators of ``ai.onnx.ml``: what they compute is what ONNX Runtime computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends
from relay2relax.relay_ir import frontend

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

from onnx import helper  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 3)).astype(np.float32)
GAPS = np.where(RNG.random((6, 3)) < 0.3, np.nan, X).astype(np.float32)
LABELS = np.array([[3, 1], [7, 3], [2, 9]])
# Two trees: one asks for two features, and one for one, with an empty value on the way.
TREES = {
    "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0], "nodes_values": [0.1, -0.2, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 2, 0, 0, 0, 1, 0, 0], "nodes_falsenodeids": [4, 3, 0, 0, 0, 2, 0, 0],
    "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0, 0, 0],
    "target_treeids": [0, 0, 0, 0, 1, 1, 1, 1], "target_nodeids": [2, 3, 4, 4, 1, 2, 1, 2],
    "target_ids": [0, 1, 0, 1, 1, 0, 0, 1], "n_targets": 2,
    "target_weights": [1.0, 2.5, -3.0, 0.5, 4.0, 0.25, 0.75, -1.5],
}  # fmt: skip
CASES: dict[str, tuple[str, list[np.ndarray], dict[str, Any]]] = {
    "Scaler": ("Scaler", [X], {"offset": [0.5, 1.0, -1.0], "scale": [2.0, 0.5, 1.0]}),
    "Scaler, one for all": ("Scaler", [X], {"offset": [0.5], "scale": [2.0]}),
    "Imputer": ("Imputer", [GAPS], {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": float("nan")}),
    "Imputer, integers": ("Imputer", [LABELS], {"imputed_value_int64s": [5], "replaced_value_int64": 3}),
    "Normalizer": ("Normalizer", [np.abs(X)], {"norm": "MAX"}),
    "Normalizer, absolute": ("Normalizer", [X], {"norm": "L1"}),
    "Normalizer, squares": ("Normalizer", [X], {"norm": "L2"}),
    "FeatureVectorizer": ("FeatureVectorizer", [X, X[:, :2]], {"inputdimensions": [3, 2]}),
    "OneHotEncoder": ("OneHotEncoder", [LABELS], {"cats_int64s": [1, 3, 9], "zeros": 1}),
    "LabelEncoder": ("LabelEncoder", [LABELS], {"keys_int64s": [3, 2], "values_floats": [0.5, 1.5],
                                                "default_float": 9.0}),
    "LabelEncoder, of floats": ("LabelEncoder", [np.array([1.5, np.nan, 2.0], np.float32)],
                                {"keys_floats": [1.5, float("nan")], "values_int64s": [4, 5], "default_int64": 6}),
    "TreeEnsembleRegressor": ("TreeEnsembleRegressor", [X], TREES),
    "TreeEnsembleRegressor, gaps": ("TreeEnsembleRegressor", [GAPS], TREES | {"base_values": [1.0, -1.0]}),
    "TreeEnsembleRegressor, mean": ("TreeEnsembleRegressor", [X], TREES | {"aggregate_function": "AVERAGE"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_results_are_onnx_runtimes(name: str) -> None:
    operator, arrays, attributes = CASES[name]
    names = [f"x{place}" for place in range(len(arrays))]
    node = helper.make_node(operator, names, ["y"], domain="ai.onnx.ml", **attributes)
    kinds = [helper.np_dtype_to_tensor_dtype(one.dtype) for one in arrays]
    inputs = [
        helper.make_tensor_value_info(*one) for one in zip(names, kinds, (array.shape for array in arrays), strict=True)
    ]
    result = 7 if "int64s" in str(attributes) and ("values_int64s" in attributes or operator == "Imputer") else 1
    outputs = [helper.make_tensor_value_info("y", result, None)]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 4 if operator == "LabelEncoder" else 3)]
    found = helper.make_model(helper.make_graph([node], "g", inputs, outputs), opset_imports=opsets, ir_version=8)
    session = ort.InferenceSession(found.SerializeToString(), providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, dict(zip(names, arrays, strict=True)))
    mod, _ = frontend.from_onnx(found)
    made = np.asarray(backends.create_executor("graph", mod).evaluate()(*arrays))
    assert made.dtype == wanted.dtype
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-6)
