"""Dimensions that Relay's types name: Relay counts them in int32, Relax in int64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ExecutionError, Relay2RelaxError
from relay2relax.relay_ir import var
from relay2relax.relay_ir.build import op
from relay2relax.tir.ir.expr import Var, binary

TRANSLATORS = [translator.lower_to_tir, translator.via_graph]


def named() -> relay_ir.Function:
    """Rows of ``n``, spread over ``2 n`` columns that an attribute names."""
    n = Var("n", "int32")
    x = var("x", shape=(n, 1), dtype="float32")
    y = var("y", shape=(binary("*", n, 2),), dtype="float32")
    return relay_ir.Function((x, y), op.add(op.broadcast_to(x, shape=(n, binary("*", n, 2))), y))


@pytest.mark.parametrize("translate", TRANSLATORS)
def test_named_dimensions(translate: Any) -> None:
    mod = translate(named())
    rx.check_well_formed(mod)
    assert "T.int32()" not in mod.script()
    x, y = np.ones((2, 1), np.float32), np.arange(4, dtype=np.float32)
    found = backends.VirtualMachine(backends.build(mod))["main"](x, y)
    np.testing.assert_array_equal(found, [[1, 2, 3, 4], [1, 2, 3, 4]])


@pytest.mark.tvm
@pytest.mark.parametrize("translate", TRANSLATORS)
def test_named_dimensions_in_tvm(translate: Any) -> None:
    executable = backends.build(translate(named()), target="tvm")
    x, y = np.ones((2, 1), np.float32), np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(executable["main"](x, y), [[1, 2, 3, 4], [1, 2, 3, 4]])


ONE_BIAS = """#[version = "0.0.5"]
def @main(%data: Tensor[(?, ?, 2), float32], %bias: Tensor[(1), float32]) {
  nn.bias_add(%data, %bias)
}
"""


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("translate", TRANSLATORS)
def test_a_bias_of_one_element_goes_to_all_channels_of_an_unknown_number(translate: Any, target: str) -> None:
    mod = translate(relay_ir.infer_type(relay_ir.parse(ONE_BIAS)))
    data = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    found = backends.VirtualMachine(backends.build(mod, target))["main"](data, np.array([0.5], np.float32))
    np.testing.assert_array_equal(found, data + np.float32(0.5))


UNKNOWN = """#[version = "0.0.5"]
def @main(%a: Tensor[(?, 3), float32], %b: Tensor[(?, 3), float32], %p: (Tensor[(?), float32], Tensor[(2), float32])) {
  %0 = %p.0;
  %1 = add(%a, %b);
  (%1, negative(%0))
}
"""


def tensor(*shape: str) -> str:
    return f'R.Tensor(({", ".join(shape)}{"," * (len(shape) == 1)}), dtype="float32")'


@pytest.mark.parametrize("translate", TRANSLATORS)
@pytest.mark.parametrize(
    ("dims", "params", "result"),
    [
        # Without names each is a dimension of its own.
        (None, ('"d"', '"d_1"', '"d_2"'), ('"T.max(d, d_1)"', '"d_2"')),
        ({"a": ("n", None)}, ('"n"', '"d"', '"d_1"'), ('"T.max(d, n)"', '"d_1"')),
        # Equal names are one dimension, and nothing is left to choose between.
        ({"a": ("n", None), "b": ["n", None]}, ('"n"', '"n"', '"d"'), ('"n"', '"d"')),
        ({"a": ("n", None), "b": ("n", None), "p.0": ("n",)}, ('"n"', '"n"', '"n"'), ('"n"', '"n"')),
        ({"a": ("n", None), "b": ("n", None), "p.0": ("d",)}, ('"n"', '"n"', '"d"'), ('"n"', '"d"')),
        # A number is the extent.
        ({"a": (4, 3), "b": (4, 3), "p.0": ("n",)}, ("4", "4", '"n"'), ("4", '"n"')),
        ({"b": (None, None), "p.0": ("d",)}, ('"d_1"', '"d_2"', '"d"'), ('"T.max(d_1, d_2)"', '"d"')),
    ],
)
def test_dims_name_and_unify_extents(translate: Any, dims: Any, params: Any, result: Any) -> None:
    mod = translate(relay_ir.parse(UNKNOWN), dims=dims)
    a, b, p = params
    given = f"a: {tensor(a, '3')}, b: {tensor(b, '3')}, p: R.Tuple({tensor(p)}, {tensor('2')})"
    assert f"def main({given}) -> R.Tuple({tensor(result[0], '3')}, {tensor(result[1])}):" in mod.script()


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_unified_extents_are_checked_when_run(target: str) -> None:
    dims = {"a": ("n", None), "b": ("n", None), "p.0": ("n",)}
    vm = backends.VirtualMachine(
        backends.build(translator.lower_to_tir(relay_ir.parse(UNKNOWN), dims=dims), target=target)
    )
    x, rest = np.ones((4, 3), np.float32), np.ones(2, np.float32)
    for args, where in [
        ((x, x[:1], (x[:, 0], rest)), "param=b"),
        ((x, x, (x[:3, 0], rest)), "param=p"),
    ]:
        with pytest.raises(ExecutionError, match=r"dimension 0 is [13], expected 4") as caught:
            vm["main"](*args)
        assert where in str(caught.value)


@pytest.mark.parametrize("translate", TRANSLATORS)
@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ({"x": ("n",)}, "dims names 'x', but main has no such parameter; it has: a, b, p.0, p.1"),
        ({"p.2": ("n",)}, "dims names 'p.2', but main has no such parameter; it has: a, b, p.0, p.1"),
        ({"p": ("n",)}, "dims names 'p', which is a tuple; name its fields: p.0, p.1"),
        ({"a": ("n",)}, "dims names 1 dimension of 'a', which has 2"),
        ({"a": ("n", "m")}, "dims names dimension 1 of 'a' 'm', but its extent is 3"),
        (
            {"a": ("2n", None)},
            "dims of 'a' is ('2n', None), expected names of letters, digits and _, which '2n' is not",
        ),
        ({"a": (-4, None)}, "dims of 'a' is (-4, None), expected names of letters, digits and _, which -4 is not"),
        (
            {"a": ("for", None)},
            "dims of 'a' is ('for', None), expected names of letters, digits and _, which 'for' is not",
        ),
        ({"a": ("n", 4)}, "dims says that dimension 1 of 'a' is 4, but its extent is 3"),
        (["n"], "dims is list, expected a dictionary, as in {'x': ('n', None)}"),
        ({"a": "n_"}, "dims of 'a' is 'n_', expected a name or None for each dimension, as in ('n', None)"),
        ({"a": None}, "dims of 'a' is None, expected a name or None for each dimension, as in ('n', None)"),
    ],
)
def test_dims_that_do_not_fit(translate: Any, dims: Any, message: str) -> None:
    with pytest.raises(Relay2RelaxError) as caught:
        translate(relay_ir.parse(UNKNOWN), dims=dims)
    assert caught.value.diagnostics[0].title == message
