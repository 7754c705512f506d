"""``tvm.relay.testing.check_grad``: gradients compared with differences of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from relay2relax.compat.relay.passes import gradient
from relay2relax.compat.running.executors import create_executor
from relay2relax.compat.testing.relay import np_randn_from_type, run_infer_type
from relay2relax.core.dtype import Numbers
from relay2relax.relay_ir.ir.expr import Function


def check_grad(
    func: Function,
    inputs: Sequence[Numbers] | None = None,
    test_inputs: Sequence[Numbers] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0,
    mode: str = "higher_order",
    target_devices: object = None,
    executor_kind: str = "debug",
) -> None:
    """Compare the gradients of a function with two-sided differences of its values."""
    forward = cast(Function, run_infer_type(func))
    backward = run_infer_type(gradient(forward, mode=mode))
    if inputs is None:
        scale = 10 * eps if scale is None else scale
        inputs = [np_randn_from_type(one.checked_type, scale, mean) for one in forward.params]  # type: ignore[attr-defined]
    chosen = inputs if test_inputs is None else test_inputs
    executor = create_executor(executor_kind)
    values, derived = executor.evaluate(forward), executor.evaluate(backward)
    _, found = derived(*inputs)  # type: ignore[operator]
    grads = [np.asarray(one, "float64") for one, given in zip(found, inputs, strict=True)
             if any(given is wanted for wanted in chosen)]  # fmt: skip
    assert grads, "at least one gradient is tested"

    def total() -> Numbers:
        # A copy: what a program gives may be a view of what it was given.
        return np.array(values(*inputs), "float64")  # type: ignore[operator]

    for grad, x in zip(grads, chosen, strict=True):
        expected = np.zeros(x.shape)
        for place in np.ndindex(*x.shape):
            kept = x[place]
            x[place] = kept + eps
            more = total()
            x[place] = kept - eps
            less = total()
            x[place] = kept
            expected[place] = np.sum((more - less) / (2 * eps))
        np.testing.assert_allclose(grad, expected, atol=atol, rtol=rtol)
