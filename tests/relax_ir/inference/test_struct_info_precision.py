"""What we infer of each binding says at least what apache-tvm infers for the same script."""

from __future__ import annotations

from typing import Any

import pytest

from relay2relax import relax_ir as rx
from relay2relax import relay_ir, translator
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.struct_info import (
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.script import printer
from relay2relax.tir.extent import Extent, equal, static
from relay2relax.tir.ir.expr import Var

TRANSLATORS = [translator.lower_to_tir, translator.via_graph]


def inferred_by_tvm(mod: rx.IRModule, monkeypatch: pytest.MonkeyPatch) -> rx.IRModule:
    """Return ``mod`` with the struct info that TVM gives variables whose script says nothing of
    them.
    """
    with monkeypatch.context() as patch:
        patch.setattr(printer._FunctionPrinter, "annotation", lambda self, info, value: "")
        module = rx.to_tvm(mod)
    return rx.from_tvm(module, check_well_formed=False)


def variables(mod: rx.IRModule) -> list[rx.Var]:
    main = mod["main"]
    assert isinstance(main, rx.Function)
    bound = [binding.var for seq in all_sequences([main.body]) for binding in bindings(seq)]
    return [*main.params, *bound]


def lost(ours: StructInfo, theirs: StructInfo) -> str:
    """Return what ``theirs`` says and ``ours`` does not, "" where that is nothing.

    Both speak of the same variables.
    """
    match ours, theirs:
        case _, ObjectStructInfo():
            return ""
        case TensorStructInfo(), TensorStructInfo():
            if theirs.dtype and ours.dtype != theirs.dtype:
                return f"dtype {theirs.dtype}"
            if theirs.ndim >= 0 and ours.ndim != theirs.ndim:
                return f"rank {theirs.ndim}"
            return lost_extents(ours.shape, theirs.shape)
        case ShapeStructInfo(), ShapeStructInfo():
            return lost_extents(ours.values, theirs.values)
        case TupleStructInfo(fields), TupleStructInfo(others) if len(fields) == len(others):
            return next((found for one, other in zip(fields, others, strict=True) if (found := lost(one, other))), "")
        case PrimStructInfo(), PrimStructInfo() if ours.dtype == theirs.dtype:
            return ""
    return f"{theirs} instead of {ours}"


def lost_extents(ours: tuple[Extent, ...] | None, theirs: tuple[Extent, ...] | None) -> str:
    if theirs is None:
        return ""
    if ours is None:
        return f"the shape {theirs}"
    wrong = [(one, other) for one, other in zip(ours, theirs, strict=True) if not same_number(one, other)]
    return f"the extents {wrong}" if wrong else ""


def same_number(ours: Extent, theirs: Extent) -> bool:
    """Whether two extents are equal.

    What is not proved is tried, for they may be written in different ways.
    """
    if equal(ours, theirs):
        return True
    names = list(dict.fromkeys([*symbols.variables(ours), *symbols.variables(theirs)]))

    def value(extent: Extent, seed: int) -> Extent:
        return symbols.substitute_extent(extent, {var: (seed + 3 * i) % 17 for i, var in enumerate(names)})

    return bool(names) and all(static(value(ours, s)) == static(value(theirs, s)) is not None for s in range(17))


def assert_at_least_as_precise(mod: rx.IRModule, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = variables(inferred_by_tvm(mod, monkeypatch))
    ours = variables(mod)
    assert len(ours) == len(theirs)
    # Dimensions are the same where they stand at the same place of what defines them.
    same: dict[Var, Extent] = {}
    for one, other in zip(ours, theirs, strict=True):
        assert one.name == other.name or not one.name.isidentifier()
        pairs = zip(symbols.extents(one.info), symbols.extents(other.info), strict=False)
        for extent, named in pairs:
            if isinstance(named, Var):
                same.setdefault(named, extent)
        found = lost(one.info, symbols.substitute(other.info, same))
        assert not found, f"{one.name}: TVM knows {found}"


DYNAMIC = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(4, 6), float32], %i: Tensor[(?), int64]) {
  %0 = nn.dense(%x, transpose(%w, axes=[1, 0]), units=6);
  %1 = reshape(%0, newshape=[-1, 2, 3]);
  %2 = split(%1, indices_or_sections=[1], axis=2);
  %9 = (%2.0, %2.1, %2.0);
  %3 = concatenate(%9, axis=2);
  %4 = strided_slice(%3, begin=[1], end=[1000], strides=[2], axes=[0]);
  %5 = take(%4, %i, axis=0);
  %6 = nn.pad(%5, 0f, pad_width=[[1, 1], [0, 0], [2, 0]]);
  %7 = sum(%6, axis=[1], keepdims=True);
  %8 = topk(%7, k=2, axis=2, dtype="int64");
  (%8, repeat(%3, repeats=3, axis=0), tile(%1, reps=[2, 1, 1]), mean(%1, axis=[0]))
}
"""


@pytest.mark.tvm
@pytest.mark.parametrize("translate", TRANSLATORS)
def test_dynamic_shapes(translate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_at_least_as_precise(translate(relay_ir.parse(DYNAMIC)), monkeypatch)


@pytest.mark.tvm
@pytest.mark.golden
# TVM reads for seconds what lowering makes of a model.
@pytest.mark.parametrize(
    "translate",
    [
        pytest.param(translator.lower_to_tir, marks=pytest.mark.sweep(every=40)),
        pytest.param(translator.via_graph, marks=pytest.mark.sweep(every=3)),
    ],
)
def test_models(model_case: Any, translate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mod = translate(relay_ir.infer_type(relay_ir.parse(model_case.text, model_case.name)))
    assert_at_least_as_precise(mod, monkeypatch)


def test_what_is_lost() -> None:
    n, m = Var("n"), Var("m")
    known, ranked = TensorStructInfo((n, 4), "float32"), TensorStructInfo(None, "float32", 2)
    assert not lost(known, known)
    assert not lost(known, ranked)
    assert "shape" in lost(ranked, known)
    assert "extents" in lost(known, TensorStructInfo((m, 4), "float32"))
    assert "dtype" in lost(TensorStructInfo((n, 4)), known)
