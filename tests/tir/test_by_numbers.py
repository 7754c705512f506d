"""What plain numbers prove of accesses, for tensors A of (4, 3) and B of (5,)."""

from __future__ import annotations

import pytest

from relay2relax import relax_ir
from relay2relax.tir.analysis.by_numbers import proved_by_numbers
from relay2relax.tir.ir.stmt import PrimFunc

INSIDE = {
    "as far as there is": "for i, j in T.grid(4, 3):\n                A[i, j] = B[i + 1]",
    "backwards": "for i in range(5):\n                A[0, 0] = B[4 - i]",
    "quotient and remainder": "for i in range(12):\n                A[i // 3, i % 3] = B[0]",
    "one name, one range": (
        "for i in range(4):\n                A[i, 0] = B[i]\n"
        "            for i in range(4):\n                A[i, 0] = B[i]"
    ),
}
# The first four do access what is not there: nobody may say that they are proved.
NOT_PROVED = {
    "one step too far": "for i in range(6):\n                A[0, 0] = B[i]",
    "before the first": "for i in range(4):\n                A[i, 0] = B[i - 1]",
    "stored too far": "for i in range(5):\n                A[i, 0] = B[i]",
    "divided by zero": "for i, j in T.grid(4, 3):\n                A[i, j] = B[i // j]",
    "decided by data": "for i in range(4):\n                A[i, 0] = B[T.Cast('int64', B[i])]",
    "only under a condition": (
        "for i in range(4):\n                A[i, 0] = T.if_then_else(i >= 1, B[i - 1], T.float32(0))"
    ),
}


def program(body: str) -> PrimFunc:
    """Return a function of A and B with ``body``."""
    text = f"""
@I.ir_module
class Module:
    @T.prim_func
    def f(B: T.Buffer((5,), "float32"), A: T.Buffer((4, 3), "float32")):
        with T.block("root"):
            {body}
"""
    (func,) = (one for one in relax_ir.parse(text).functions.values() if isinstance(one, PrimFunc))
    return func


@pytest.mark.parametrize("name", INSIDE)
def test_numbers_prove_what_is_inside(name: str) -> None:
    assert proved_by_numbers(program(INSIDE[name]))


@pytest.mark.parametrize("name", NOT_PROVED)
def test_numbers_do_not_prove_the_rest(name: str) -> None:
    assert not proved_by_numbers(program(NOT_PROVED[name]))
