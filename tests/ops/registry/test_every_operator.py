"""Every operator of the table on random calls: types, values on numpy and in C, static and symbolic
inference.

The calls come from the tables of examples in tests/support. A record that nobody draws calls for
fails a test, unless it says itself why it cannot be run. What fails is reported with the seed of
the call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_calls import EXAMPLES, RECORDS, arrays, tensors, type_of
from operator_draws import Draw
from sweep import FULL
from typed import present

from relay2relax.backends.c import compile_prim_funcs
from relay2relax.core.dtype import numpy_dtype, of_array
from relay2relax.core.tolerance import difference
from relay2relax.ops import OpDef, TensorType, TupleType, Type
from relay2relax.ops.registry.lower import lower_call
from relay2relax.ops.registry.record import OpError
from relay2relax.ops.registry.table import families
from relay2relax.tir.extent import ANY, as_prim, canonical, static
from relay2relax.tir.ir.expr import AnyExtent, Var
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.visit import substitute

# Sums in the examples have at most so many terms.
TERMS = 256


def changed(type_: Any, extents: dict[int, Any]) -> Any:
    """Return a type with other extents."""
    match type_:
        case TensorType(shape, dtype):
            sizes = [(e, static(e)) for e in shape]
            return TensorType(tuple(e if n is None else extents.get(n, e) for e, n in sizes), dtype)
        case TupleType(fields):
            return TupleType(tuple(changed(one, extents) for one in fields))
    return tuple(extents.get(e, e) for e in type_)


def extents_of(type_: Any) -> set[int]:
    match type_:
        case TensorType(shape):
            return {present(static(e)) for e in shape}
        case TupleType(fields):
            return set().union(*map(extents_of, fields))
    return set(type_)


def check_symbols(op: OpDef, attrs: Any, types: list[Any], out: Type) -> None:
    """Infer over variables and over ``?``: what comes out is the static type in other words."""
    sizes = set().union(*map(extents_of, types)) - {0, 1} if types else set()
    variables = {size: Var(f"n{size}") for size in sizes}
    values = {var: as_prim(size) for size, var in variables.items()}
    for extents in (variables, dict.fromkeys(sizes, ANY)):
        try:
            found = op.infer(attrs, *(changed(one, extents) for one in types))
        except OpError:
            continue  # Some rules need to know extents; they say so.
        for one, wanted in zip(tensors(found), tensors(out), strict=True):
            assert one.dtype == wanted.dtype
            assert one.rank == wanted.rank
            for extent, expected in zip(one.shape, wanted.shape, strict=True):
                if isinstance(extent, AnyExtent) or isinstance(expected, AnyExtent):
                    continue
                assert static(canonical(substitute(as_prim(extent), values))) == static(expected), (one, wanted)


def check_value(op: OpDef, attrs: Any, args: list[Any], out: Type) -> Any:
    """Compute on numpy: the value has the inferred type, and the arguments are what they were."""
    before = [one.copy() for one in arrays(args)]
    with np.errstate(all="ignore"):
        value = op.numpy(attrs, *args)
    for one, wanted in zip(arrays(value), tensors(out), strict=True):
        assert isinstance(one, np.ndarray)
        assert of_array(one) == wanted.dtype
        expected = tuple(static(extent) for extent in wanted.shape)
        assert len(one.shape) == len(expected)
        assert all(e is None or e == size for e, size in zip(expected, one.shape, strict=True)), (one.shape, wanted)
    for one, old in zip(arrays(args), before, strict=True):
        assert one.tobytes() == old.tobytes(), "an argument was changed"
    return value


def test_every_example_is_of_a_record() -> None:
    assert sorted(set(EXAMPLES) - set(RECORDS)) == []


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.sweep(every=2)
def test_types_and_values(name: str) -> None:
    op = RECORDS[name]

    @settings(max_examples=100 if FULL else 8)
    @given(st.integers(0, 1 << 32))
    def check(seed: int) -> None:
        given_attrs, args = EXAMPLES[name](Draw(seed))
        attrs = op.attrs(**given_attrs)
        types = [type_of(arg) for arg in args]
        out = op.infer(attrs, *types)
        check_value(op, attrs, args, out)
        check_symbols(op, attrs, types, out)

    check()


def family_of(name: str) -> str:
    return RECORDS[name].infer.__module__.rsplit(".", 1)[-1]


def compare_in_c(names: list[str], seeds: range) -> list[str]:
    """Return what is wrong with the values of C, which is compiled once for all calls."""
    functions: list[PrimFunc] = []
    calls: list[tuple[str, list[np.ndarray], list[TensorType], list[np.ndarray]]] = []
    for name in names:
        for seed in seeds:
            op = RECORDS[name]
            given_attrs, args = EXAMPLES[name](Draw(seed))
            attrs = op.attrs(**given_attrs)
            types = [type_of(arg) for arg in args]
            out = op.infer(attrs, *types)
            if not tensors(out) or any(static(extent) is None for one in tensors(out) for extent in one.shape):
                continue
            functions.append(lower_call(op, attrs, types, out, f"call_{len(functions)}"))
            calls.append(
                (f"{name} with seed {seed}", arrays(args), tensors(out), arrays(check_value(op, attrs, args, out)))
            )
    if not functions:
        return []
    module = compile_prim_funcs(functions)
    wrong = []
    for function, (what, inputs, types, values) in zip(functions, calls, strict=True):
        # Whatever is not written stays 7.
        results = [np.full([present(static(e)) for e in one.shape], 7).astype(numpy_dtype(one.dtype)) for one in types]
        module.call(function.name, *inputs, *results)
        for actual, expected in zip(results, values, strict=True):
            found = difference(actual, expected, TERMS)
            if not found.agrees:
                wrong.append(f"{what}: {found}")
    return wrong


@pytest.mark.compiler
@pytest.mark.parametrize("family", families())
def test_values_in_c(family: str) -> None:
    names = [name for name in RECORDS if family_of(name) == family]
    wrong = compare_in_c(names, range(100, 110 if FULL else 102))
    assert not wrong, "\n".join(wrong)
