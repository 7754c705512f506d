"""The steps of the Relay tutorial, in our terms."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import backends, relay_ir
from relay2relax.relay_ir.build import op


def test_variables_operators_and_functions() -> None:
    named, typed = relay_ir.var("x"), relay_ir.var("x", shape=(10, 1))
    assert named.type_annotation is None
    assert relay_ir.var("x", shape=(), dtype="int32").type_annotation == relay_ir.TensorType((), "int32")
    # A name is only a hint: two variables may share it.
    both = op.add(typed, relay_ir.var("x", shape=(10, 1)))
    assert str(both).splitlines()[-1] == "add(%x, %x1)"

    by_name, by_operator = op.add(typed, typed), typed + typed
    assert str(by_name) == str(by_operator) == "free_var %x: Tensor[(10, 1), float32];\nadd(%x, %x)"
    function = relay_ir.Function((typed,), by_operator)
    assert str(function) == "fn (%x: Tensor[(10, 1), float32]) {\n  add(%x, %x)\n}"

    mod = relay_ir.Module({})
    mod[relay_ir.GlobalVar("f")] = function
    printed = str(mod)
    assert printed.startswith("def @f(%x: Tensor[(10, 1), float32]")
    assert "-> Tensor[(10, 1), float32] {\n  add(%x, %x) /* ty=Tensor[(10, 1), float32] */\n}" in printed


def test_the_text_format() -> None:
    mlp, _ = relay_ir.testing.mlp.get_workload(1)
    # There is no metadata: the text is the same with and without its section.
    assert mlp.astext(show_meta_data=True) == mlp.astext(show_meta_data=False)
    numbers = iter(range(1, 100))
    text = mlp.astext(show_meta_data=True, annotate=lambda expr: f" <expression: {next(numbers)}>")
    lines = [line.strip() for line in text.splitlines()]
    assert "%0 = nn.batch_flatten <expression: 1>(%data) <expression: 2>;" in lines
    assert text.count("nn.dense <expression: 3>(") == 3
    assert "nn.softmax <expression: 14>(%8) <expression: 15>" in lines
    assert lines[-1] == "} <expression: 16>"
    assert "ty=" not in text
    assert relay_ir.structural_equal(relay_ir.parse(mlp.astext()), relay_ir.parse(str(mlp)))


def test_executors_agree() -> None:
    mod, params = relay_ir.testing.mlp.get_workload(1)
    data = np.random.default_rng(0).standard_normal((1, 1, 28, 28)).astype("float32")
    results = [backends.create_executor(kind, mod).evaluate()(data, **params) for kind in ("debug", "graph")]
    assert results[0].shape == (1, 10)
    np.testing.assert_array_equal(results[0], results[1])
    assert results[0].sum() == pytest.approx(1, abs=1e-6)


def test_the_residual_network() -> None:
    mod, params = relay_ir.testing.resnet.get_workload()
    assert list(params)[:2] == ["bn_data_gamma", "bn_data_beta"]
    assert str(mod).startswith("def @main(%data: Tensor[(1, 3, 224, 224), float32]")
    assert mod["main"].ret_type == relay_ir.TensorType((1, 1000), "float32")
