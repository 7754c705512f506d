"""FuseOps where kernels take few arguments; what is expected is what TVM's test of it says."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.relay_ir import Any, Call, Expr, Function, IRModule, Var, op, transform, var
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.tir.extent import Extent


def summed(shape: tuple[Extent, ...], count: int = 20) -> IRModule:
    params = [var(f"x{index}", shape=shape) for index in range(count)]
    values: list[Expr] = [op.exp(op.add(one, relay_ir.const(1.0))) for one in params]
    total = values[0]
    for one in values[1:]:
        total = op.add(total, one)
    return relay_ir.infer_type(IRModule.from_expr(Function(tuple(params), total)))


def kernels(mod: IRModule) -> list[Function]:
    return [one.op for one in nodes(mod["main"]) if isinstance(one, Call) and isinstance(one.op, Function)]


@pytest.mark.parametrize(
    ("shape", "limit", "first"),
    [
        # A kernel takes its inputs and its result.
        ((2, 3), 5, 4),
        ((2, 3), 20, 19),
        ((2, 3), 21, 20),
        ((2, 3), 0, 20),
        # Of an open tensor of rank two it takes one extent and two strides, too; of the result the
        # extent.
        ((Any(), 3), 14, 3),
        ((Any(), 3), 2, 20),
    ],
)
def test_kernels_take_what_the_limit_allows(shape: tuple[Extent, ...], limit: int, first: int) -> None:
    mod = summed(shape)
    fused = transform.FuseOps(fuse_opt_level=2, max_function_args=limit)(mod)
    # What is left is computed alone, and added.
    rest = 20 - first
    assert sorted(len(one.params) for one in kernels(fused)) == sorted([first] + [1] * rest + [2] * rest)
    inputs = [np.full((2, 3), index / 10, "float32") for index in range(20)]
    wanted = sum(np.exp(one + np.float32(1)) for one in inputs)
    found = create_executor("debug", relay_ir.infer_type(fused)).evaluate()(*inputs)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5)


def test_what_leads_to_a_kernel_counts() -> None:
    """Tuples join what takes them apart, unless there are too many."""
    params = [var(f"x{index}", shape=(2,)) for index in range(6)]
    body = op.nn.relu(op.concatenate([op.exp(one) for one in params], axis=0))
    mod = relay_ir.infer_type(IRModule.from_expr(Function(tuple(params), body)))
    for limit, most in ((0, 6), (7, 6), (3, 6)):
        fused = transform.FuseOps(fuse_opt_level=2, max_function_args=limit)(mod)
        assert max(len(one.params) for one in kernels(fused)) <= most
        free = [one for kernel in kernels(fused) for one in relay_ir.analysis.free_vars(kernel)]
        assert not [one for one in free if isinstance(one, Var)]
