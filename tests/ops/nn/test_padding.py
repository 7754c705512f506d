"""Padding, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from typed import of_type, relax_record, relay_record

from relay2relax.ops import Expanded, OpError, TensorType
from relay2relax.tir.extent import ANY

PAD = relay_record("nn.pad")
RELAX = relax_record("nn.pad")
X = np.random.default_rng(4).standard_normal((7, 4, 5), np.float32)
MODES = {"constant": "constant", "edge": "edge", "reflect": "reflect"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", [((0, 0), (1, 2), (2, 1)), ((0, 0), (0, 0), (0, 0)), ((1, 1), (3, 0), (0, 4))])
def test_pad(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    mode: Literal["constant", "edge", "reflect"],
    width: tuple[tuple[int, int], ...],
) -> None:
    value = np.array(1.5, np.float32)
    options: dict[str, Any] = {"constant_values": 1.5} if mode == "constant" else {}
    expected = np.pad(X, width, mode, **options)
    agrees(run_op("nn.pad", {"pad_width": width, "pad_mode": mode}, X, value, batch=7, exact=True), expected)


def test_negative_widths_crop(run_op: Callable[..., Any], agrees: Callable[..., None]) -> None:
    zero = np.array(0, np.int32)
    actual = run_op("nn.pad", {"pad_width": ((-1, -1), (2, -2), (0, -2))}, X, zero, exact=True)
    agrees(actual, np.pad(X[1:-1, :-2, :-2], ((0, 0), (2, 0), (0, 0))))
    actual = run_op("nn.pad", {"pad_width": ((-2, 0), (1, 0), (0, 0)), "pad_mode": "reflect"}, X, zero, exact=True)
    agrees(actual, np.pad(X[2:], ((0, 0), (1, 0), (0, 0)), "reflect"))


def test_modes_of_relax(agrees: Callable[..., None]) -> None:
    from relay2relax.backends.numpy.tir import evaluate_prim_func
    from relay2relax.ops.registry.lower import lower_call

    modes: dict[str, Literal["edge", "reflect", "wrap"]] = {
        "replicate": "edge",
        "reflect": "reflect",
        "circular": "wrap",
    }
    for mode, numpys in modes.items():
        attrs = RELAX.attrs(pad_width=(0, 0, 1, 2, 2, 0), pad_mode=mode)
        expected = np.pad(X, ((0, 0), (1, 2), (2, 0)), numpys)
        agrees(RELAX.numpy(attrs, X), expected)
        out = RELAX.infer(attrs, TensorType(X.shape))
        output = np.zeros(expected.shape, np.float32)
        evaluate_prim_func(lower_call(RELAX, attrs, [TensorType(X.shape)], out, "pad"), [X], [output])
        agrees(output, expected)


def test_relax_spells_modes_and_values_its_own_way(eager: Callable[..., Any]) -> None:
    """R.nn.pad takes "edge" without a word and pads by zeros.

    A value known at run time only it cannot take.
    """
    value = np.array(2.0, np.float32)
    for mode, constants, called in [
        ("edge", [], ["nn.pad"]),
        ("constant", [value], ["nn.pad"]),
        ("constant", [], ["call_tir"]),
    ]:
        emit = eager(constants)
        attrs = PAD.attrs(pad_width=((0, 0), (1, 1), (0, 0)), pad_mode=mode)
        np.testing.assert_array_equal(
            of_type(PAD.relax, Expanded).expand(emit, attrs, X, value), PAD.numpy(attrs, X, value)
        )
        assert emit.called == called


@pytest.mark.parametrize(
    ("attrs", "value", "message"),
    [
        ({"pad_width": ((0, 0),)}, (), "pairs for 1 axes, the data has 3"),
        ({"pad_width": ((0, 0), (0, 0), (-3, -3))}, (), "cannot be padded"),
        ({"pad_width": ((0, 0), (0, 0), (1,))}, (), "expected \\(before, after\\)"),
        ({"pad_width": ((0, 0),) * 3, "pad_mode": "wrap"}, (), "pad_mode is 'wrap'"),
        ({"pad_width": ((0, 0),) * 3}, (1,), "pad_value has 1 dimensions, expected 0"),
    ],
)
def test_refused(attrs: dict[str, Any], value: tuple[int, ...], message: str) -> None:
    with pytest.raises(OpError, match=message):
        PAD.infer(PAD.attrs(**attrs), TensorType((7, 4, 5)), TensorType(value))


def test_types() -> None:
    attrs = PAD.attrs(pad_width=((0, 0), (1, 1)))
    assert PAD.infer(attrs, TensorType((ANY, 4)), TensorType(())) == TensorType((ANY, 6))
    assert PAD.infer(attrs, TensorType((2, ANY)), TensorType(())) == TensorType((2, ANY))
