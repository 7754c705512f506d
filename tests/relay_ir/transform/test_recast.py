"""Recast against what TVM's test_recast.py expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from relay2relax import relay_ir
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import Function, IRModule, op
from relay2relax.relay_ir.transform import Recast, recast


def convolutions(count: int, recast_layers: dict[int, tuple[str, str]]) -> Function:
    """Return convolutions in a row, those of ``recast_layers`` in other dtypes."""
    x = relay_ir.var("x", shape=(8, 8, 8, 8))
    weights = [relay_ir.var(f"w{i}", shape=(8, 8, 3, 3)) for i in range(count)]
    value: Any = x
    for layer, w in enumerate(weights):
        if layer in recast_layers:
            dtype, out = recast_layers[layer]
            conv = op.nn.conv2d(op.cast(value, dtype), op.cast(w, dtype), padding=(1, 1), out_dtype=out)
            value = op.cast(conv, "float32")
        else:
            value = op.nn.conv2d(value, w, padding=(1, 1), out_dtype="float32")
    return Function((x, *weights), value)


def same(found: Any, expected: Function) -> bool:
    assert isinstance(found, Function)
    made, wanted = (relay_ir.infer_type(IRModule.from_expr(one)) for one in (found, expected))
    return relay_ir.first_difference(made, wanted) is None


INTEGERS = ("int8", "int32")


@pytest.mark.parametrize(
    ("count", "skipped", "expected"),
    [(1, (), [0]), (2, (), [0, 1]), (2, (0,), [1]), (2, (-1,), [0]), (3, (0, -1), [1])],
)
def test_convolutions(count: int, skipped: tuple[int, ...], expected: list[int]) -> None:
    found = recast(convolutions(count, {}), *INTEGERS, skip_layers=skipped)
    assert same(found, convolutions(count, dict.fromkeys(expected, INTEGERS)))


def test_a_tuple_of_operands() -> None:
    x, y = (relay_ir.var(name, shape=(1, 4)) for name in "xy")
    before = Function((x, y), op.concatenate([x, y], axis=1))
    lower = op.concatenate([op.cast(x, "float16"), op.cast(y, "float16")], axis=1)
    assert same(recast(before, "float16", "float32", ops=["concatenate"]), Function((x, y), op.cast(lower, "float32")))


def test_an_operator_without_attributes() -> None:
    def network(cast: Callable[[Any, str], Any], out: str) -> Function:
        x, w = relay_ir.var("x", shape=(8, 8, 8, 8)), relay_ir.var("w", shape=(8, 8, 3, 3))
        conv = op.nn.conv2d(cast(x, "float16"), cast(w, "float16"), padding=(1, 1), out_dtype=out)
        return Function((x, w), cast(op.nn.relu(cast(cast(conv, "float32"), "float16")), "float32"))

    found = recast(network(lambda x, _: x, "float32"), "float16", "float16", ops=["nn.conv2d", "nn.relu"])
    assert same(found, network(op.cast, "float16"))


def test_what_is_given_is_what_comes_back() -> None:
    mod = IRModule.from_expr(convolutions(1, {}))
    assert isinstance(recast(mod, *INTEGERS), IRModule)
    assert same(Recast(*INTEGERS)(mod)["main"], convolutions(1, {0: INTEGERS}))
    body = recast(convolutions(1, {}).body, *INTEGERS)
    assert isinstance(body, relay_ir.Call)
    assert Recast("float16", "float16", ("nn.dense",))(mod) is mod


def test_an_operator_of_several_results_is_refused() -> None:
    x = relay_ir.var("x", shape=(4, 4))
    with pytest.raises(UnsupportedError, match="split"):
        recast(Function((x,), op.split(x, 2)[0]), "float16", "float16", ops=["split"])
