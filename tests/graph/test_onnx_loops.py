"""Functions in ONNX models: loops as ``Loop``, others in the place of their calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.relay_ir.dataflow_pattern import is_op, wildcard

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

HEAD = '#[version = "0.0.5"]\n'
X = np.random.default_rng(3).standard_normal((2, 3)).astype("float32")


def checked(model: Any) -> Any:
    onnx.checker.check_model(model, full_check=True)
    return model


def exported(text: str) -> Any:
    mod = relay_ir.infer_type(relay_ir.parse(HEAD + text))
    return checked(graph.to_onnx(*graph.from_relay(mod)))


def kinds(model: Any) -> list[str]:
    """Return the operators of a model and of the graphs within, those of our own domain marked."""
    found, stack = [], [model.graph]
    while stack:
        for node in stack.pop().node:
            found.append(f"own:{node.op_type}" if node.domain else node.op_type)
            stack += [one.g for one in node.attribute if one.HasField("g")]
    return found


def run(model: Any, **given: Any) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: list[np.ndarray] = session.run(None, {name: np.asarray(value) for name, value in given.items()})
    return found


POWER = """def @main(%n: int32, %x: Tensor[(2, 3), float32]) {
  let %while = fn (%i: int32, %acc: Tensor[(2, 3), float32]) -> (int32, Tensor[(2, 3), float32]) {
    if (COND) { ARMS }
  };
  let %r = %while(0, %x);
  %r.1
}"""
AGAIN, LAST = "%while(add(%i, 1), add(multiply(%acc, 2f), %x))", "(%i, %acc)"


@pytest.mark.parametrize(
    ("condition", "arms"),
    [("less(%i, %n)", f"{AGAIN} }} else {{ {LAST}"), ("greater_equal(%i, %n)", f"{LAST} }} else {{ {AGAIN}")],
    ids=["while", "until"],
)
def test_loops_run_as_often_as_they_say(condition: str, arms: str) -> None:
    model = exported(POWER.replace("COND", condition).replace("ARMS", arms))
    assert "Loop" in kinds(model)
    assert not [one for one in kinds(model) if one.startswith("own:")]
    for rounds in (0, 1, 7):
        wanted = X
        for _ in range(rounds):
            wanted = wanted * np.float32(2) + X
        np.testing.assert_allclose(run(model, n=np.int32(rounds), x=X)[0], wanted, rtol=1e-6)


def test_loops_within_loops() -> None:
    model = exported("""def @main(%n: int32, %x: Tensor[(2, 3), float32]) {
  let %outer = fn (%i: int32, %acc: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
    if (less(%i, %n)) {
      let %inner = fn (%j: int32, %one: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
        if (less(%j, %i)) { %inner(add(%j, 1), add(%one, 1f)) } else { %one }
      };
      %outer(add(%i, 1), %inner(0, multiply(%acc, 2f)))
    } else { %acc }
  };
  %outer(0, %x)
}""")
    assert kinds(model).count("Loop") == 2
    wanted = X
    for i in range(4):
        wanted = wanted * np.float32(2) + np.float32(i)
    np.testing.assert_allclose(run(model, n=np.int32(4), x=X)[0], wanted, rtol=1e-6)


def test_what_grows_from_round_to_round() -> None:
    model = exported("""def @main(%n: int32, %x: Tensor[(1, 3), float32]) {
  let %while = fn (%i: int32, %acc: Tensor[(?, 3), float32]) -> Tensor[(?, 3), float32] {
    if (less(%i, %n)) { %while(add(%i, 1), concatenate((%acc, %x))) } else { %acc }
  };
  %while(0, %x)
}""")
    assert "Loop" in kinds(model)
    np.testing.assert_array_equal(run(model, n=np.int32(3), x=X[:1])[0], np.repeat(X[:1], 4, 0))


def test_a_loop_of_onnx_comes_back() -> None:
    """What ``from_onnx`` makes a function that calls itself is a loop again."""
    from onnx import TensorProto, helper

    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("ReduceMax", ["t"], ["m"], keepdims=0),
         helper.make_node("Less", ["m", "ten"], ["go"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("c", TensorProto.BOOL, []),
         helper.make_tensor_value_info("s", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("t", TensorProto.FLOAT, [2, 3])],
    )  # fmt: skip
    main = helper.make_graph(
        [helper.make_node("Loop", ["", "yes", "x"], ["out"], body=body)],
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2, 3])],
        [
            helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
            helper.make_tensor("ten", TensorProto.FLOAT, [], [10]),
        ],
    )
    model = helper.make_model(main, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    mod, params = relay_ir.frontend.from_onnx(model)
    again = checked(graph.to_onnx(*graph.from_relay(relay_ir.infer_type(mod), params)))
    assert kinds(again).count("Loop") == 1
    x = np.abs(X) + np.float32(0.5)
    np.testing.assert_allclose(run(again, x=x)[0], run(model, x=x)[0], rtol=1e-6)


def test_recursion_that_is_no_loop_is_named() -> None:
    model = exported("""def @main(%n: int32) { @fact(%n) }
def @fact(%n: int32) -> int32 { if (less(%n, 2)) { 1 } else { multiply(%n, @fact(subtract(%n, 1))) } }""")
    assert [one for one in kinds(model) if one.startswith("own:")]


def test_functions_of_relax_are_put_in_place() -> None:
    found, weights = graph.from_relax(
        relax_ir.parse("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.tanh(a)
            R.output(b)
        return b
""")
    )
    pattern = graph.FusionPattern("my.relu_tanh", is_op("tanh")(is_op("nn.relu")(wildcard())))
    rx = graph.to_relax(graph.fuse(found, weights, [pattern]), weights, fused="functions")
    assert len(rx.functions) == 2
    model = checked(graph.to_onnx(*graph.from_relax(rx)))
    assert kinds(model) == ["Relu", "Tanh"]
    np.testing.assert_allclose(run(model, x=X)[0], np.tanh(np.maximum(X, 0)), rtol=1e-5)
