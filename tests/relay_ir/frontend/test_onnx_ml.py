"""Operators of ``ai.onnx.ml``: what they compute is what ONNX Runtime computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends
from relay2relax.core.errors import UnsupportedError
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


# --- classes, support vectors, trees of today ---

CLASS_TREES = {key: value for key, value in TREES.items() if key.startswith("nodes_")} | {
    "class_treeids": [0, 0, 0, 1, 1], "class_nodeids": [2, 3, 4, 1, 2], "class_weights": [0.1, 0.4, 0.35, 0.3, 0.25],
}  # fmt: skip
# Of each leaf what is for one class and what for the other, which is a half in two trees.
SHARES = {
    "class_treeids": [0] * 6 + [1] * 4, "class_nodeids": [2, 2, 3, 3, 4, 4, 1, 1, 2, 2], "class_ids": [0, 1] * 5,
    "class_weights": [0.1, 0.4, 0.45, 0.05, 0.35, 0.15, 0.3, 0.2, 0.125, 0.375],
}  # fmt: skip
VECTORS = {
    "support_vectors": [0.5, 1.0, -0.5, 0.2, 0.3, -1.0, 0.7, -0.2, 0.1, 1.1, -0.4, 0.6],
    "kernel_params": [0.5, 0.1, 3.0], "rho": [0.1],
}  # fmt: skip
TWO = VECTORS | {"coefficients": [0.7, -0.4, -0.3, 0.5], "vectors_per_class": [1, 3], "classlabels_ints": [4, 7]}
THREE = VECTORS | {
    "coefficients": [0.7, -0.4, -0.3, 0.5, -0.2, 0.1, 0.6, -0.8], "rho": [0.1, -0.2, 0.05],
    "vectors_per_class": [1, 2, 1], "classlabels_ints": [4, 7, 9],
}  # fmt: skip
LINES = {"coefficients": [0.3, -0.2, 0.1, 0.4, -0.5, 0.2, 0.0, 0.6, -0.1], "intercepts": [0.05, 0.1, 0.0]}
ONE_LINE = {"coefficients": [0.3, -0.2, 0.1], "intercepts": [0.05]}
CLASSIFIERS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"lines {one}": ("LinearClassifier", LINES | {"classlabels_ints": [4, 7, 9], "post_transform": one})
       for one in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")},
    **{f"a line {one}": ("LinearClassifier", ONE_LINE | {"classlabels_ints": [4, 7], "post_transform": one})
       for one in ("NONE", "LOGISTIC")},
    **{f"two {one}": ("SVMClassifier", TWO | {"kernel_type": "RBF", "post_transform": one})
       for one in ("NONE", "LOGISTIC")},
    **{f"three {one}": ("SVMClassifier", THREE | {"kernel_type": kind, "post_transform": one}) for kind, one in
       (("LINEAR", "NONE"), ("POLY", "SOFTMAX"), ("RBF", "LOGISTIC"), ("SIGMOID", "SOFTMAX_ZERO"))},
    "no vectors": ("SVMClassifier", {"coefficients": LINES["coefficients"], "rho": [0.1], "classlabels_ints": [4, 7, 9],
                                     "kernel_params": [0.0, 0.0, 0.0]}),
    **{f"trees {one}": ("TreeEnsembleClassifier", CLASS_TREES | {"class_ids": [0, 1, 2, 1, 0], "post_transform": one,
                                                                "classlabels_int64s": [4, 7, 9]})
       for one in ("NONE", "LOGISTIC", "SOFTMAX")},
    "trees with bases": ("TreeEnsembleClassifier", CLASS_TREES | {"class_ids": [0, 1, 2, 1, 0],
                         "classlabels_int64s": [4, 7, 9], "base_values": [0.3, -0.1, 0.2]}),
    "trees, one class is not given": ("TreeEnsembleClassifier", CLASS_TREES | {"class_ids": [0, 0, 1, 1, 0],
                                      "class_weights": [-0.1, -0.4, -0.35, -0.3, -0.25],
                                      "classlabels_int64s": [4, 7, 9]}),
    **{f"shares {one}": ("TreeEnsembleClassifier", CLASS_TREES | {"class_ids": [0] * 5, "post_transform": one,
                                                                 "classlabels_int64s": [4, 7]})
       for one in ("NONE", "LOGISTIC")},
    "weights": ("TreeEnsembleClassifier", CLASS_TREES | {"class_ids": [0] * 5, "classlabels_int64s": [4, 7],
                "class_weights": [0.1, -0.4, 0.35, -0.3, 0.25], "base_values": [0.1]}),
}  # fmt: skip


def model(operator: str, attributes: dict[str, Any], x: np.ndarray, results: list[tuple[str, int]], opset: int) -> Any:
    node = helper.make_node(operator, ["x"], [name for name, _ in results], domain="ai.onnx.ml", **attributes)
    given = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)]
    outputs = [helper.make_tensor_value_info(name, kind, None) for name, kind in results]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", opset)]
    return helper.make_model(helper.make_graph([node], "g", given, outputs), opset_imports=opsets, ir_version=8)


def agrees(found: Any, x: np.ndarray) -> None:
    session = ort.InferenceSession(found.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {"x": x})
    mod, _ = frontend.from_onnx(found)
    made = backends.create_executor("graph", mod).evaluate()(x)
    for one, other in zip(made if isinstance(made, tuple) else (made,), wanted, strict=True):
        assert np.asarray(one).dtype == other.dtype
        assert np.asarray(one).shape == other.shape
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_and_scores_are_onnx_runtimes(name: str) -> None:
    operator, attributes = CLASSIFIERS[name]
    results = [("y", onnx.TensorProto.INT64), ("z", onnx.TensorProto.FLOAT)]
    agrees(model(operator, attributes, X, results, 3 if operator.startswith("Tree") else 1), X)


def test_of_two_classes_the_greater_score_is_chosen() -> None:
    """As the standard's own implementation does it; ONNX Runtime gives places for labels."""
    from onnx.reference import ReferenceEvaluator

    results = [("y", onnx.TensorProto.INT64), ("z", onnx.TensorProto.FLOAT)]
    attributes = CLASS_TREES | SHARES | {"classlabels_int64s": [4, 7]}
    found = model("TreeEnsembleClassifier", attributes, X, results, 3)
    labels, scores = ReferenceEvaluator(found).run(None, {"x": X})
    mod, _ = frontend.from_onnx(found)
    ours = backends.create_executor("graph", mod).evaluate()(X)
    assert np.asarray(ours[0]).tolist() == labels.tolist()
    assert set(labels.tolist()) == {4, 7}
    np.testing.assert_allclose(np.asarray(ours[1]), scores, rtol=1e-5)


@pytest.mark.parametrize("one_class", [0, 1])
@pytest.mark.parametrize("kind", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vectors_give_what_onnx_runtimes_do(kind: str, one_class: int) -> None:
    attributes = VECTORS | {"coefficients": [0.7, -0.4, -0.3, 0.5], "n_supports": 4, "kernel_type": kind,
                            "one_class": one_class}  # fmt: skip
    agrees(model("SVMRegressor", attributes, X, [("y", 1)], 1), X)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("joined", [0, 1, 2, 3])
def test_trees_of_today_give_what_onnx_runtimes_do(joined: int, dtype: str) -> None:
    def tensor(values: list[Any], kind: str) -> Any:
        return onnx.numpy_helper.from_array(np.array(values, kind))

    attributes = {
        "n_targets": 2, "aggregate_function": joined, "tree_roots": [0, 2],
        "nodes_modes": tensor([0, 3, 1], "uint8"), "nodes_featureids": [0, 1, 2],
        "nodes_splits": tensor([0.1, -0.2, 0.3], dtype),
        "nodes_truenodeids": [1, 0, 3], "nodes_trueleafs": [0, 1, 1], "nodes_falsenodeids": [2, 1, 4],
        "nodes_falseleafs": [1, 1, 1], "nodes_missing_value_tracks_true": [1, 0, 0],
        "leaf_targetids": [0, 1, 0, 1, 0], "leaf_weights": tensor([1.0, 2.5, -3.0, 0.5, 4.0], dtype),
    }  # fmt: skip
    agrees(model("TreeEnsemble", attributes, GAPS.astype(dtype), [("y", 1 if dtype == "float32" else 11)], 5),
           GAPS.astype(dtype))  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "attributes", "why"),
    [
        ("LinearClassifier", LINES | {"classlabels_strings": ["a", "b", "c"]}, "its labels are strings"),
        ("LinearClassifier", LINES | {"classlabels_ints": [1, 2, 3], "post_transform": "PROBIT"}, "PROBIT"),
        ("SVMClassifier", TWO | {"prob_a": [1.0], "prob_b": [0.0]}, "its probabilities"),
        ("TreeEnsembleClassifier", CLASS_TREES | {"class_ids": [0, 1, 2, 1, 7], "classlabels_int64s": [1, 2, 3]},
         "target 7 of 3"),
        ("TreeEnsembleRegressor", TREES | {"nodes_truenodeids": [0] * 8}, "goes round"),
        ("TreeEnsembleRegressor", TREES | {"nodes_featureids": [9] * 8}, "feature 9 of 3"),
    ],
)  # fmt: skip
def test_what_relay_cannot_say_is_named(operator: str, attributes: dict[str, Any], why: str) -> None:
    outputs = 1 if operator == "TreeEnsembleRegressor" else 2
    found = model(operator, attributes, X, [("y", 7), ("z", 1)][-outputs:], 3)
    with pytest.raises(UnsupportedError, match=why):
        frontend.from_onnx(found)
