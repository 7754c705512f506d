"""Structural equality: what takes part in it and what does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sweep import ROW

from relay2relax import relay_ir
from relay2relax.core.source import Span
from relay2relax.relay_ir import first_difference, structural_equal, var
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.transform import ToGraphNormalForm


def module(function: relay_ir.Function, name: str = "main") -> relay_ir.IRModule:
    return relay_ir.IRModule({relay_ir.GlobalVar(name): function})


def twice(name: str = "x", shared: bool = True) -> relay_ir.Function:
    x = var(name, shape=(2,))
    once = op.nn.relu(x)
    return relay_ir.Function((x,), op.add(once, once if shared else op.nn.relu(x)))


def test_names_of_bound_variables_do_not_count() -> None:
    assert structural_equal(twice("x"), twice("y"))


def test_sharing_counts() -> None:
    assert not structural_equal(twice(), twice(shared=False))
    assert not structural_equal(twice(shared=False), twice())
    assert "@main.body.args[1]: one shares a node" in str(
        first_difference(module(twice()), module(twice(shared=False)))
    )


def test_constants_are_compared_by_content() -> None:
    def with_constant(data: np.ndarray, both: bool) -> relay_ir.Expr:
        first = relay_ir.Constant(data)
        total: relay_ir.Expr = op.add(first, first if both else relay_ir.Constant(data.copy()))
        return total

    nan = np.array([1.0, np.nan], np.float32)
    assert structural_equal(with_constant(nan, True), with_constant(nan, False))
    assert not structural_equal(relay_ir.const([1.0, 2.0]), relay_ir.const([1.0, 3.0]))
    assert not structural_equal(relay_ir.const(1, "int32"), relay_ir.const(1, "int64"))
    assert not structural_equal(relay_ir.const(0.0), relay_ir.const(-0.0))


def test_free_variables() -> None:
    a, b = var("a"), var("a")
    assert structural_equal(op.add(a, a), op.add(a, a))
    assert not structural_equal(a, b)
    assert structural_equal(op.add(a, a), op.add(b, b), map_free_vars=True)
    assert not structural_equal(op.add(a, a), op.add(a, b), map_free_vars=True)
    assert not structural_equal(op.add(a, b), op.add(a, a), map_free_vars=True)


def test_what_counts() -> None:
    x = var("x", shape=(2, 3))
    assert first_difference(op.nn.softmax(x, axis=0), op.nn.softmax(x, axis=1)) == "attrs.axis: 0 and 1 differ"
    annotated = relay_ir.Function((x,), x, ret_type=x.type_annotation)
    assert not structural_equal(annotated, relay_ir.Function((x,), x))
    assert not structural_equal(relay_ir.Function((x,), x, attrs={"Primitive": 1}), relay_ir.Function((x,), x))
    assert not structural_equal(module(twice()), module(twice(), "other"))
    spanned = relay_ir.Call(relay_ir.Op("nn.relu"), (x,), span=Span("here"))
    assert structural_equal(spanned, op.nn.relu(x))
    wide = relay_ir.Function((var("y", shape=(2, 4)),), relay_ir.const(1))
    assert "(%x)" in str(first_difference(relay_ir.Function((x,), relay_ir.const(1)), wide))


def test_types() -> None:
    a, b = relay_ir.TypeVar("a"), relay_ir.TypeVar("b")
    assert structural_equal(relay_ir.FuncType((a,), a, (a,)), relay_ir.FuncType((b,), b, (b,)))
    assert not structural_equal(relay_ir.FuncType((a,), a, (a, b)), relay_ir.FuncType((b,), a, (a, b)))


@pytest.mark.parametrize("name", ["mlp", "lstm_relay", "bert_tiny"])
def test_models(get_model_case: Callable[[str], Any], name: str) -> None:
    case = get_model_case(name)
    from_text, from_json = relay_ir.parse(case.text), relay_ir.load_json(case.json)
    if name != "bert_tiny":  # the text has six digits of a scalar
        assert first_difference(from_text, from_json) is None
    assert structural_equal(from_json, relay_ir.load_json(case.json))
    if name == "lstm_relay":
        assert not structural_equal(from_json, ToGraphNormalForm()(from_json))


@pytest.mark.sweep(every=2)
def test_a_long_chain() -> None:
    def chain(length: int) -> relay_ir.Function:
        x = var("x", shape=(1,))
        body: relay_ir.Expr = x
        for _ in range(length):
            body = op.nn.relu(body)
        return relay_ir.Function((x,), body)

    assert structural_equal(chain(ROW), chain(ROW))
    found = first_difference(chain(ROW), chain(ROW - 1))
    assert found is not None
    assert "…" in found
