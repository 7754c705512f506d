"""Arguments that Relay's types let pass and no kernel can take are refused by name, on numpy and in
C.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relay_ir import IRModule

HALVES = np.zeros((2, 3), np.float16)
BYTES = np.zeros((2, 3), np.int8)
FLAGS = np.zeros((2, 3), np.bool_)
QUANTISED = "0.5f, 1, 0.25f, 2, 0.1f, 3"

OF_BYTES = "%x: Tensor[(2, 3), int8]"
OF_HALVES = "%x: Tensor[(2, 3), float16]"
NOT_FLOAT = "is defined for floating-point numbers, not for int8"
NOT_INTEGERS = "the quantised tensor has dtype float16, expected integers"

# The function's parameters and body, the arguments, and what is said.
CASES: list[tuple[str, str, list[np.ndarray], str]] = [
    (OF_BYTES, "nn.softmax(%x)", [BYTES], f"softmax {NOT_FLOAT}"),
    (OF_BYTES, "nn.log_softmax(%x)", [BYTES], f"log_softmax {NOT_FLOAT}"),
    (OF_BYTES, "nn.l2_normalize(%x, eps=1e-5f, axis=[1])", [BYTES], NOT_FLOAT),
    (OF_BYTES, "multiply(all(%x), any(%x))", [BYTES], "the data has dtype int8, expected bool"),
    (OF_HALVES, f"qnn.add(%x, %x, {QUANTISED})", [HALVES], NOT_INTEGERS),
    (OF_HALVES, f"qnn.mul(%x, %x, {QUANTISED})", [HALVES], NOT_INTEGERS),
    (OF_HALVES, "qnn.concatenate((%x, %x), (0.5f, 0.25f), (1, 2), 0.1f, 3, axis=1)", [HALVES], NOT_INTEGERS),
]


def module(parameters: str, body: str) -> IRModule:
    return relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\ndef @main({parameters}) {{ {body} }}'))


@pytest.mark.parametrize(("parameters", "body", "arguments", "message"), CASES)
def test_refused_on_numpy(parameters: str, body: str, arguments: list[np.ndarray], message: str) -> None:
    mod = module(parameters, body)
    with pytest.raises(Relay2RelaxError, match=message):
        backends.create_executor("debug", mod).evaluate()(*arguments)


@pytest.mark.parametrize(("parameters", "body", "arguments", "message"), CASES)
@pytest.mark.parametrize("translate", [translator.lower_to_tir, translator.via_graph])
def test_refused_in_c(translate: Any, parameters: str, body: str, arguments: list[np.ndarray], message: str) -> None:
    with pytest.raises(Relay2RelaxError, match=message):
        backends.build(translate(module(parameters, body)), target="c")


# What only numpy's own checks find.
KERNELS: list[tuple[str, str, list[np.ndarray], str]] = [
    ("%x: Tensor[(2, 3), bool]", "negative(%x)", [FLAGS], r"negative cannot be computed of bool\(2, 3\)"),
    (OF_HALVES, "bitwise_not(%x)", [HALVES], r"bitwise_not cannot be computed of float16\(2, 3\)"),
    (
        "%x: Tensor[(?, 3), int8]",
        "broadcast_to(%x, shape=[4, 3])",
        [BYTES],
        r"\(2, 3\)",
    ),
]


@pytest.mark.parametrize(("parameters", "body", "arguments", "message"), KERNELS)
@pytest.mark.parametrize("executor", ["debug", "vm"])
def test_refused_by_the_kernel(
    executor: str, parameters: str, body: str, arguments: list[np.ndarray], message: str
) -> None:
    mod = module(parameters, body)
    with pytest.raises(Relay2RelaxError, match=message):
        backends.create_executor(executor, mod).evaluate()(*arguments)


def test_shapes_that_do_not_fit_in_relax() -> None:
    """The machine runs the same kernels."""
    mod = module("%x: Tensor[(?, 3), int8]", "broadcast_to(%x, shape=[4, 3])")
    machine = backends.VirtualMachine(backends.build(translator.via_graph(mod), target="numpy"))
    with pytest.raises(Relay2RelaxError, match=r"\(2, 3\)"):
        machine["main"](BYTES)
