"""RNN, GRU and LSTM of ONNX, drawn: all that the standard says of them, against ONNX Runtime."""

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

ACTIVATIONS = (
    "Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign",
    "Softplus",
)  # fmt: skip
WITH_ALPHA = {"Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"}
WITH_BETA = {"Affine", "ScaledTanh", "HardSigmoid"}
# How many activations and gates an operator has.
COUNTS = {"RNN": (1, 1), "GRU": (2, 3), "LSTM": (3, 4)}


def drawn_activations(rng: np.random.Generator, count: int) -> dict[str, Any]:
    names = [str(rng.choice(ACTIVATIONS)) for _ in range(count)]
    found: dict[str, Any] = {"activations": names}
    for what, those in (("alpha", WITH_ALPHA), ("beta", WITH_BETA)):
        values = [float(np.float32(rng.uniform(0.1, 0.9))) for one in names if one in those]
        if values:
            found[f"activation_{what}"] = values
    return found


def drawn(seed: int) -> tuple[str, dict[str, Any], list[np.ndarray | None]]:
    """Return an operator, its attributes but for the layout, and its inputs in layout 0."""
    rng = np.random.default_rng(seed)
    operator = str(rng.choice(list(COUNTS)))
    direction = str(rng.choice(["forward", "reverse", "bidirectional"]))
    both, (count, gates) = 1 + (direction == "bidirectional"), COUNTS[operator]
    length, batch, size, hidden = (int(rng.integers(1, most)) for most in (5, 4, 4, 4))
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if rng.random() < 0.7:
        attributes |= drawn_activations(rng, count * both)
    if rng.random() < 0.3:
        attributes["clip"] = float(np.float32(rng.uniform(0.2, 1)))
    if operator == "GRU":
        attributes["linear_before_reset"] = int(rng.integers(2))
    if operator == "LSTM":
        attributes["input_forget"] = int(rng.integers(2))

    def floats(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    state = both, batch, hidden
    optional = [floats(both, 2 * gates * hidden), rng.integers(1, length + 1, batch).astype(np.int32), floats(*state)]
    if operator == "LSTM":
        optional += [floats(*state), floats(both, 3 * hidden)]
    given = [one if rng.random() < 0.5 else None for one in optional]
    weights = floats(both, gates * hidden, size), floats(both, gates * hidden, hidden)
    return operator, attributes, [floats(length, batch, size), *weights, *given]


def model(operator: str, attributes: dict[str, Any], inputs: list[np.ndarray | None]) -> Any:
    names = ["" if one is None else f"x{place}" for place, one in enumerate(inputs)]
    results = ["y", "h", *(["c"] if operator == "LSTM" else [])]
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape)
        for name, one in zip(names, inputs, strict=True)
        if one is not None
    ]
    outputs = [helper.make_tensor_value_info(name, 1, None) for name in results]
    nodes = [helper.make_node(operator, names, results, **attributes)]
    return helper.make_model(
        helper.make_graph(nodes, "g", given, outputs), opset_imports=[helper.make_opsetid("", 14)], ir_version=8
    )


def ours(found: Any, inputs: list[np.ndarray | None]) -> list[np.ndarray]:
    mod, _ = frontend.from_onnx(found)
    given = [one for one in inputs if one is not None]
    return [np.asarray(one) for one in backends.create_executor("graph", mod).evaluate()(*given)]


@pytest.mark.sweep(every=15)
@pytest.mark.parametrize("seed", range(60))
def test_drawn_layers_give_what_onnx_runtimes_do(seed: int) -> None:
    operator, attributes, inputs = drawn(seed)
    found = model(operator, attributes, inputs)
    session = ort.InferenceSession(found.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {f"x{place}": one for place, one in enumerate(inputs) if one is not None})
    if not all(np.isfinite(one).all() for one in wanted):
        pytest.skip("its states grow beyond float32")
    made = ours(found, inputs)
    # Of the other layout, which ONNX Runtime does not have, batches are first.
    turned = [one if one is None or place in (1, 2) or one.ndim != 3 else np.ascontiguousarray(one.swapaxes(0, 1))
              for place, one in enumerate(inputs)]  # fmt: skip
    first, *rest = ours(model(operator, attributes | {"layout": 1}, turned), turned)
    other = [first.transpose(1, 2, 0, 3), *(one.swapaxes(0, 1) for one in rest)]
    for results in (made, other):
        for one, expected in zip(results, wanted, strict=True):
            assert one.shape == expected.shape
            np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["Affine", "ScaledTanh", "ThresholdedRelu"])
def test_activations_without_a_default_have_to_say_theirs(name: str) -> None:
    inputs: list[np.ndarray | None] = [np.zeros((2, 1, 3), "float32"), np.zeros((1, 2, 3), "float32"),
                                       np.zeros((1, 2, 2), "float32")]  # fmt: skip
    with pytest.raises(UnsupportedError, match=f"its activation {name} has no alpha"):
        frontend.from_onnx(model("RNN", {"hidden_size": 2, "activations": [name]}, inputs))
