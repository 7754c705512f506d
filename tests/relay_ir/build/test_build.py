"""Relay by hand, workloads, loading files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.core import FileError, ParseError, Relay2RelaxError
from relay2relax.ops.registry.attributes import BoxInt
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import BuildError
from relay2relax.tir.extent import ANY


def test_variables() -> None:
    assert relay_ir.var("x").type_annotation is None
    assert relay_ir.var("x", shape=(1, relay_ir.Any())).type_annotation == relay_ir.TensorType((1, ANY), "float32")
    assert relay_ir.var("x", "int64").type_annotation == relay_ir.TensorType((), "int64")
    function = relay_ir.FuncType((), relay_ir.TensorType((), "bool"))
    assert relay_ir.var("f", function).type_annotation is function
    with pytest.raises(BuildError, match="not both"):
        relay_ir.var("x", "int64", shape=())


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, None, "int32"), (1.5, None, "float32"), (True, None, "bool"), ([1, 2], None, "int32"),
        (np.float64(2), None, "float64"), (np.arange(3), None, "int64"), (1, "float16", "float16"),
        (1, "bfloat16", "bfloat16"),
    ],
)  # fmt: skip
def test_constants(value: Any, dtype: str | None, expected: str) -> None:
    assert relay_ir.const(value, dtype).tensor_type.dtype == expected


def test_a_constant_is_the_array_given() -> None:
    array = np.zeros((2, 3), np.float32)
    assert relay_ir.const(array).data is array
    assert relay_ir.const(array, "float32").data is array
    with pytest.raises(BuildError):
        relay_ir.const(["a", "b"])


def test_operators_of_python() -> None:
    x, y = relay_ir.var("x", shape=(2,), dtype="float16"), relay_ir.var("y", shape=(2,), dtype="float16")
    made = {
        "add": x + y, "subtract": x - y, "multiply": x * y, "divide": x / y, "negative": -x, "less": x < y,
        "less_equal": x <= y, "greater": x > y, "greater_equal": x >= y,
    }  # fmt: skip
    known = {name: of_type(call.op, relay_ir.Op).name for name, call in made.items()}
    assert known == {name: name for name in made}
    shifted = 1 - x
    assert shifted.args[1] is x
    assert of_type(shifted.args[0], relay_ir.Constant).tensor_type == relay_ir.TensorType((), "float16")
    function = relay_ir.GlobalVar("f")
    assert function(x, 1.0).args[0] is x
    assert x.astype("int8").attrs.dtype == "int8"


def test_operators_by_name() -> None:
    x, w = relay_ir.var("x", shape=(2, 4)), relay_ir.var("w", shape=(3, 4))
    call = op.nn.dense(x, w, units=3)
    assert (call.op.name, call.attrs.units, call.attrs.out_dtype) == ("nn.dense", 3, "")
    joined = op.concatenate([x, x], axis=1)
    assert isinstance(joined.args[0], relay_ir.Tuple)
    assert op.split(x, indices_or_sections=2, axis=1).attrs.indices_or_sections == 2
    assert isinstance(op.split(x, indices_or_sections=2).attrs.indices_or_sections, BoxInt)
    assert op.reshape(x, newshape=np.array([4, 2])).attrs.newshape == (4, 2)
    assert op.transpose(x, axes=[1, 0]).attrs.axes == (1, 0)
    assert "dense" in dir(op.nn)
    assert op.nn.dense is op.nn.dense


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: op.nn.dense(x), "nn.dense takes 2 inputs"),
        (lambda x: op.nn.relu(x, x), "nn.relu is given 2 arguments; it takes one: data"),
        (lambda x: op.nn.softmax(x, axes=1), "nn.softmax has no attribute 'axes'; it has: axis"),
        (lambda x: op.nn.softmax(x, axis="last"), "'axis': expected an integer, found 'last'"),
        (lambda x: op.transpose(x, axes=1), "'axes': expected an array"),
        (lambda x: op.cast(x), "cast needs the attribute 'dtype'"),
        (lambda x: x + "one", "expected a Relay expression"),
    ],
)
def test_mistakes(make: Callable[[relay_ir.Var], object], message: str) -> None:
    with pytest.raises(BuildError, match=message):
        make(relay_ir.var("x", shape=(2,)))


def test_a_module_of_an_expression() -> None:
    x, y = relay_ir.var("x", shape=(2,)), relay_ir.var("y", shape=(2,))
    mod = relay_ir.IRModule.from_expr(x - y)
    assert mod["main"].params == (x, y)
    assert "main" in mod
    assert "other" not in mod
    function = relay_ir.Function((y, x), x - y)
    assert relay_ir.IRModule.from_expr(function)["main"] is function


def test_an_unknown_operator() -> None:
    with pytest.raises(AttributeError, match=r"'nn.dense2'"):
        _ = op.nn.dense2


# --- workloads ---


@pytest.mark.parametrize(("batch", "name"), [(1, "mlp"), (relay_ir.Any(), "mlp_dynamic_batch")])
def test_the_perceptron_prints_as_tvm_printed_it(get_model_case: Callable[[str], Any], batch: Any, name: str) -> None:
    mod, params = relay_ir.testing.mlp.get_workload(batch_size=batch)
    case = get_model_case(name)
    typed = relay_ir.infer_type(mod)
    assert typed.astext() == case.typed.rstrip("\n") + "\n"
    expected = {spec["name"]: tuple(spec["shape"]) for spec in case.specs() if spec["role"] == "param"}
    assert {key: value.shape for key, value in params.items()} == expected
    assert list(params) == list(expected)


def test_parameters_are_seeded_and_bounded() -> None:
    _, params = relay_ir.testing.mlp.get_workload(num_classes=5, image_shape=(4, 4), dtype="float16")
    _, again = relay_ir.testing.mlp.get_workload(num_classes=5, image_shape=(4, 4), dtype="float16")
    for name, value in params.items():
        np.testing.assert_array_equal(value, again[name])
        assert value.dtype == np.float16
    bound = np.sqrt(3.0 / ((128 + 16) / 2))
    weight = params["fc1_weight"].astype(np.float64)
    assert np.abs(weight).max() <= bound * 1.001
    assert weight.std() == pytest.approx(bound / np.sqrt(3), rel=0.1)
    assert not params["fc1_bias"].any()


# --- files ---


def test_files_are_told_apart_by_content(tmp_path: Path) -> None:
    x = relay_ir.var("x", shape=(2,))
    mod = relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function((x,), op.nn.relu(x))})
    for name, content in (("a.txt", mod.astext()), ("b.txt", relay_ir.save_json(mod))):
        (tmp_path / name).write_text(content)
        assert relay_ir.structural_equal(relay_ir.load(tmp_path / name), mod)


def test_files_that_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"absent\.relay"):
        relay_ir.load(tmp_path / "absent.relay")
    (tmp_path / "model.onnx").write_bytes(b"\x08\x07")
    with pytest.raises(ParseError, match="is an ONNX model"):
        relay_ir.load(tmp_path / "model.onnx")
    (tmp_path / "noise").write_bytes(b"a\xff")
    with pytest.raises(ParseError, match="byte 1 is not UTF-8"):
        relay_ir.load(tmp_path / "noise")
    (tmp_path / "cut").write_text('{"root": 1, "nodes"')
    with pytest.raises(ParseError):
        relay_ir.load(tmp_path / "cut")
    (tmp_path / "empty").write_text("")
    with pytest.raises(Relay2RelaxError):
        relay_ir.load(tmp_path / "empty")
