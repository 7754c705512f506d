"""What accesses need of extents, compared with running every access one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import pytest

from relay2relax import relax_ir, relay_ir, translator
from relay2relax.tir.analysis.relations import extent_relations
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.ir.expr import PrimExpr, Var
from relay2relax.tir.ir.stmt import PrimFunc

# The body of a loop nest over A of (n, m) and B of (k,), and which places it touches, as numpy
# would count them: (extent, index) for every access, None where a divisor is zero.
Access = tuple[int, int]
PROGRAMS: dict[str, str] = {
    "same": "for i in range(n):\n                A[i, 0] = B[i]",
    "rows": "for i in range(k):\n                A[i, 0] = B[i]",
    "reversed": "for i in range(n):\n                A[n - 1 - i, 0] = B[k - 1 - i]",
    "flat": "for i in range(k):\n                A[i // m, i % m] = B[i]",
    "strided": "for i in range(n):\n                A[i, 0] = B[i * 2 + 1]",
    "first": "A[0, 0] = B[0]",
    "guarded": "for i in range(n):\n                A[i, 0] = T.if_then_else(i < k, B[i], T.float32(0))",
    "chosen": "for i in range(n):\n                A[i, 0] = B[T.Select(k == 1, T.int64(0), i)]",
    "window": "for i, j in T.grid(n, m):\n                A[i, j] = B[i + j]",
    "below": "for i in range(n):\n                if i < m:\n                    A[i, i] = B[i]",
}


def touched(name: str, n: int, m: int, k: int) -> Iterator[Access]:
    """Yield what the program ``name`` touches: the extent of a dimension, and the place in it."""
    a, rows, columns = k, n, m
    match name:
        case "same" | "rows":
            for i in range(n if name == "same" else k):
                yield from ((rows, i), (columns, 0), (a, i))
        case "reversed":
            for i in range(n):
                yield from ((rows, n - 1 - i), (columns, 0), (a, k - 1 - i))
        case "flat":
            for i in range(k):
                yield from ((rows, i // m if m else -1), (columns, i % m if m else -1), (a, i))
        case "strided":
            for i in range(n):
                yield from ((rows, i), (columns, 0), (a, i * 2 + 1))
        case "first":
            yield from ((rows, 0), (columns, 0), (a, 0))
        case "guarded":
            for i in range(n):
                yield from ((rows, i), (columns, 0))
                if i < k:
                    yield a, i
        case "chosen":
            for i in range(n):
                yield from ((rows, i), (columns, 0), (a, 0 if k == 1 else i))
        case "window":
            for i, j in itertools.product(range(n), range(m)):
                yield from ((rows, i), (columns, j), (a, i + j))
        case "below":
            for i in range(min(n, m)):
                yield from ((rows, i), (columns, i), (a, i))


def program(body: str) -> PrimFunc:
    """Return a function of A and B with ``body``."""
    text = f"""
@I.ir_module
class Module:
    @T.prim_func
    def f(b: T.handle, a: T.handle):
        n, m, k = T.int64(), T.int64(), T.int64()
        B = T.match_buffer(b, (k,), "float32")
        A = T.match_buffer(a, (n, m), "float32")
        with T.block("root"):
            {body}
"""
    (func,) = (one for one in relax_ir.parse(text).functions.values() if isinstance(one, PrimFunc))
    return func


def named(func: PrimFunc, values: Mapping[str, int]) -> dict[Var, int]:
    """Return values for the variables of ``func`` of these names."""
    extents: list[PrimExpr] = [extent for buffer in func.buffers for extent in buffer.shape]
    return {one: values[one.name] for one in extents if isinstance(one, Var)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_relations_are_those_of_running_every_access(name: str) -> None:
    func = program(PROGRAMS[name])
    relations = extent_relations(func)
    for n, m, k in itertools.product(range(5), repeat=3):
        values = named(func, {"n": n, "m": m, "k": k})
        fits = all(integer(one.condition, values) for one in relations)
        expected = all(0 <= index < extent for extent, index in touched(name, n, m, k))
        assert fits == expected, (n, m, k, relations)


def test_what_is_proved_needs_nothing() -> None:
    func = program("for i, j in T.grid(n, m):\n                A[i, j] = A[n - 1 - i, j]")
    assert extent_relations(func) == ()


def test_a_place_that_data_decide_needs_something_to_read() -> None:
    func = program("for i in range(n):\n                A[i, 0] = B[T.max(T.min(T.Cast('int64', B[0]), k - 1), 0)]")
    texts = [one for one in extent_relations(func) if one.buffer == "B"]
    assert texts
    for n, k in itertools.product(range(3), repeat=2):
        values = named(func, {"n": n, "m": 1, "k": k})
        assert all(integer(one.condition, values) for one in texts) == (n == 0 or k > 0)


@pytest.mark.parametrize("count", [2, 40])
def test_a_join_of_many_open_tensors_needs_nothing(count: int) -> None:
    # The extent of the result is the sum of the extents, however many there are.
    fields = [f"%x{place}" for place in range(count)]
    params = ", ".join(f"{one}: Tensor[(?, 4), float32]" for one in fields)
    text = f'#[version = "0.0.5"] def @main({params}) {{ concatenate(({", ".join(fields)})) }}'
    lowered = translator.lower_to_tir(relay_ir.infer_type(relay_ir.parse(text)))
    (joined,) = [one for one in lowered.functions.values() if isinstance(one, PrimFunc)]
    assert extent_relations(joined) == ()
