"""Every operator with extents that types leave open, called with extents that do not fit.

A draw of an operator's call is opened: each extent of each argument becomes a variable of its own,
as far as the operator's rule allows. The tensor programs are compiled as they are, without the
rule's own conditions, and called with the drawn extents changed here and there. A call is either
refused, or stays within its arrays, which sanitizers see.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from operator_calls import EXAMPLES, RECORDS, arrays, tensors, type_of
from operator_draws import Draw
from sanitizers import Action

from relay2relax.backends.c import CompiledModule, compile_prim_funcs
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.ops import TensorType, TupleType
from relay2relax.ops.registry.lower import lower_call, unknown_extents
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.extent import as_prim
from relay2relax.tir.ir.expr import Var
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.visit import variables

# An opened program, and the arrays of the call that it was drawn from.
Opened = tuple[PrimFunc, list[np.ndarray]]
SIZES = (0, 1, 2, 3, 5, 8)


def opened_type(type_: Any, known: frozenset[int]) -> Any:
    """Return ``type_`` with a variable for each extent that is not ``known``."""
    match type_:
        case TensorType(shape, dtype):
            return TensorType(tuple(e if e in known else Var(f"d{i}") for i, e in enumerate(shape)), dtype)
        case TupleType(fields):
            return TupleType(tuple(opened_type(one, known) for one in fields))
    return type_


def opened(name: str, seed: int) -> Opened | None:
    """Return the program of a call of ``name``, opened; None where its rule needs every extent."""
    op = RECORDS[name]
    given, args = EXAMPLES[name](Draw(seed))
    attrs = op.attrs(**given)
    types = [type_of(arg) for arg in args]
    every = frozenset(extent for arg in arrays(args) for extent in arg.shape)
    for known in (frozenset[int](), frozenset({1}), *(every - {one} for one in sorted(every))):
        mine = [opened_type(one, known) for one in types]
        try:
            out = op.infer(attrs, *mine)
            if unknown_extents(out):
                continue
            func = lower_call(op, attrs, mine, out, f"f{zlib.crc32(f'{name}{seed}'.encode())}")
        except (Relay2RelaxError, TypeError, LookupError, AssertionError):
            continue
        if tensors(out) and any(variables(as_prim(e)) for buffer in func.buffers for e in buffer.shape):
            return func, arrays(args)
    return None


def changed_call(module: CompiledModule, program: Opened, draw: Draw) -> Callable[[], None]:
    """Return a call of ``program`` with some extents changed."""
    func, given = program
    shapes = [list(array.shape) for array in given]
    places = [
        (n, d) for n, shape in enumerate(shapes) for d in range(len(shape)) if isinstance(func.buffers[n].shape[d], Var)
    ]
    for _ in range(draw.number(1, 3)):
        number, dimension = draw.pick(places) if places else (0, 0)
        if places:
            shapes[number][dimension] = draw.pick(SIZES)

    def call() -> None:
        values: dict[Var, int] = {}
        inputs = []
        for shape, array, buffer in zip(shapes, given, func.buffers, strict=False):
            values.update((e, size) for e, size in zip(buffer.shape, shape, strict=True) if isinstance(e, Var))
            inputs.append(np.resize(array, shape) if array.size else np.zeros(shape, array.dtype))
        outputs = []
        for buffer in func.buffers[len(inputs) :]:
            extents = [integer(extent, values) for extent in buffer.shape]
            outputs.append(np.empty([max(extent, 0) for extent in extents], numpy_dtype(buffer.dtype)))
        module.call(func.name, *inputs, *outputs)

    return call


def actions(first: str, step: str, seeds: str, calls: str) -> Iterator[Action]:
    """Yield calls of every ``step``-th operator from ``first`` on."""
    programs = {
        f"{name} {seed}": found
        for name in sorted(RECORDS)[int(first) :: int(step)]
        if name in EXAMPLES
        for seed in range(int(seeds))
        if (found := opened(name, seed)) is not None
    }
    module = compile_prim_funcs([func for func, _ in programs.values()])
    for name, program in programs.items():
        draw = Draw(zlib.crc32(name.encode()))
        for number in range(int(calls)):
            yield f"{name} {number}", changed_call(module, program, draw)
