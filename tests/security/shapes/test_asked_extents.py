"""What a shape rule refuses of known extents, it asks of open ones, or the accesses need it: no
call of compiled code is silent where the rule would say no.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import pytest
from opened_calls import SIZES, opened
from operator_calls import EXAMPLES, RECORDS
from operator_draws import Draw
from sweep import FULL
from typed import of_type

from relay2relax.core.errors import ExecutionError, Relay2RelaxError
from relay2relax.ops import TensorType, TupleType
from relay2relax.ops.registry.evaluate import with_values
from relay2relax.ops.registry.lower import Origin
from relay2relax.tir.analysis.relations import extent_relations
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.extent import as_prim, asked
from relay2relax.tir.ir.expr import PrimExpr, Var

CALLS = 20
# The ones that were silent come first, whatever else is drawn.
ALWAYS = ("R.scatter_nd", "scatter_nd", "nn.bitpack", "sliding_window", "stft", "strided_slice", "vision.roi_align")
NAMES = [name for name in sorted(RECORDS) if name in EXAMPLES]


def known(type_: Any, values: Mapping[Var, int]) -> Any:
    """Return ``type_`` with values for its variables."""
    match type_:
        case TensorType(shape, dtype):
            return TensorType(tuple(integer(as_prim(extent), values) for extent in shape), dtype)
        case TupleType(fields):
            return TupleType(tuple(known(one, values) for one in fields))
    return type_


def holds(conditions: list[PrimExpr], values: Mapping[Var, int]) -> bool:
    try:
        return all(integer(condition, values) for condition in conditions)
    except ExecutionError:  # What is divided by zero does not hold.
        return False


@pytest.mark.parametrize(
    "name", [name for name in NAMES if FULL or name in ALWAYS or zlib.crc32(name.encode()) % 8 == 0]
)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.sweep(every=2)
def test_what_a_rule_refuses_is_asked(name: str, seed: int) -> None:
    program = opened(name, seed)
    if program is None:
        pytest.skip("the rule needs every extent")
    func, given = program
    origin = of_type(func.origin, Origin)
    with asked() as conditions:
        origin.op.infer(origin.attrs, *origin.args)
    conditions += [one.condition for one in extent_relations(func)]
    first: dict[Var, int] = {}
    for buffer, array in zip(func.buffers, given, strict=False):
        first.update((e, size) for e, size in zip(buffer.shape, array.shape, strict=True) if isinstance(e, Var))
    draw = Draw(zlib.crc32(name.encode()) + seed)
    for _ in range(CALLS):
        values = first | {draw.pick(list(first)): draw.pick(SIZES) for _ in range(draw.number(1, 3))}
        if holds(conditions, values):
            try:
                origin.op.infer(with_values(origin.attrs, values), *(known(arg, values) for arg in origin.args))
            except Relay2RelaxError as problem:
                pytest.fail(f"not asked: {problem}, for {values}")
