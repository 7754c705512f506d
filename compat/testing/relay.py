"""``tvm.relay.testing``: small helpers of TVM's tests of Relay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from relay2relax.backends.relay.values import AdtValue
from relay2relax.compat.relay.inferring import InferType
from relay2relax.compat.running.executors import create_executor
from relay2relax.compat.running.ndarray import NDArray, array
from relay2relax.core.dtype import Array
from relay2relax.core.passes import Pass
from relay2relax.relay_ir.build.module_prelude import Prelude
from relay2relax.relay_ir.ir.expr import Call, Constructor, Expr, Function, Op
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.relay_ir.testing import workload


def run_opt_pass(expr: Expr, opt_pass: Pass[IRModule], import_prelude: bool = False) -> Expr:
    """Return an expression after type inference and a pass."""
    mod = IRModule.from_expr(expr)
    if import_prelude:
        Prelude(mod)
    main = opt_pass(InferType()(mod))["main"]
    return main if isinstance(expr, Function) else main.body


def run_infer_type(expr: Expr) -> Expr:
    """Return an expression whose types are inferred."""
    return run_opt_pass(expr, InferType())


def create_workload(
    net: Expr, initializer: Callable[[str, Array], object] | None = None, seed: int = 0
) -> tuple[IRModule, Mapping[str, NDArray]]:
    """Return the module of a network, and values for its parameters but ``data``."""
    body = net.body if isinstance(net, Function) else net
    mod, params = workload.create_workload(body)
    if initializer is not None:
        for name, value in params.items():
            value = np.zeros_like(value)
            initializer(name, value)
            params = {**params, name: value}
    return mod, {name: value.view(NDArray) for name, value in params.items()}


def rand(dtype: str, *shape: int) -> NDArray:
    """Return random numbers between 0 and 1."""
    return array(np.random.rand(*shape).astype(dtype))


def np_randn_from_type(ty: object, scale: float = 1, mean: float = 0) -> Array:
    """Return normally distributed numbers of a tensor's type."""
    shape = tuple(map(int, ty.shape))  # type: ignore[attr-defined]
    return cast(Array, np.asarray(mean + scale * np.random.randn(*shape)).astype(ty.dtype))  # type: ignore[attr-defined]


def count_ops(expr: Expr) -> Counter[str]:
    """Return how often each operator is called."""
    return Counter(node.op.name for node in nodes(expr) if isinstance(node, Call) and isinstance(node.op, Op))


def run_as_python(expr: object, mod: IRModule | None = None, target: object = "llvm") -> object:
    """Return what an expression gives, as TVM's program of Python for it would.

    Functions, as names of a module too, become functions of Python.
    """
    return create_executor("debug", mod, target=target).evaluate(expr)


# --- natural numbers ------------------------------------------------------------------------------


def _nat(prelude: Prelude) -> tuple[Constructor, Constructor]:
    _, zero, successor = prelude.mod.get_type("nat")  # type: ignore[attr-defined]
    return zero, successor


def count(prelude: Prelude, value: object) -> int:
    """Return a value of the type ``nat`` as a number."""
    _, successor = _nat(prelude)
    found = 0
    while isinstance(value, AdtValue) and value.constructor.same_as(successor):
        found, value = found + 1, value.fields[0]
    return found


def make_nat_value(prelude: Prelude, number: int) -> AdtValue:
    """Return a number as a value of the type ``nat``."""
    zero, successor = _nat(prelude)
    made = AdtValue(zero)
    for _ in range(number):
        made = AdtValue(successor, (made,))
    return made


def make_nat_expr(prelude: Prelude, number: int) -> Expr:
    """Return the expression of a number of the type ``nat``."""
    zero, successor = _nat(prelude)
    made = zero()
    for _ in range(number):
        made = successor(made)
    return made
