"""Attention runs by blocks of rows: its scores are never in memory as a whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from typed import present

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c.codegen.plan import byte_size
from relay2relax.backends.c.loaded_module import compile_prim_funcs
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.schedule import schedule
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.tir import te
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.ir.expr import PrimExpr, Var
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import PrimFunc

RANDOM = np.random.default_rng(12)
# Heads, rows, columns, width of keys, width of values. 197 rows do not make blocks of one size.
SHAPES = {
    "even": (3, 64, 64, 16, 16),
    "across": (2, 40, 75, 24, 9),
    "prime": (1, 197, 50, 8, 33),
    "few": (2, 9, 33, 4, 5),
}


def attention(
    heads: int | PrimExpr, rows: int | PrimExpr, columns: int, width: int, values: int, name: str = "main"
) -> PrimFunc:
    """Softmax of scaled products and a mask, times values that are stored by columns."""
    q = te.placeholder((heads, rows, width), name="Q")
    k = te.placeholder((heads, columns, width), name="K")
    v = te.placeholder((heads, values, columns), name="V")
    mask = te.placeholder((rows, columns), name="M")
    d, top_of, sum_of, j = (te.reduce_axis(extent) for extent in (width, columns, columns, columns))
    product = te.compute(
        (heads, rows, columns), lambda h, i, j: te.sum(q[h, i, d.var] * k[h, j, d.var], axis=d), "product"
    )
    scores = te.compute(product.shape, lambda h, i, j: product[h, i, j] * 0.25 + mask[i, j], "scores")
    top = te.compute((heads, rows), lambda h, i: te.max(scores[h, i, top_of.var], axis=top_of), "top")
    raised = te.compute(product.shape, lambda h, i, j: call("exp", scores[h, i, j] - top[h, i]), "raised")
    total = te.compute((heads, rows), lambda h, i: te.sum(raised[h, i, sum_of.var], axis=sum_of), "total")
    soft = te.compute(product.shape, lambda h, i, j: raised[h, i, j] / total[h, i], "soft")
    out = te.compute((heads, rows, values), lambda h, i, o: te.sum(soft[h, i, j.var] * v[h, o, j.var], axis=j), "out")
    return te.create_prim_func([q, k, v, mask], [out], name=name)


def inputs_of(heads: int, rows: int, columns: int, width: int, values: int) -> list[np.ndarray]:
    shapes: Sequence[tuple[int, ...]] = (
        (heads, rows, width), (heads, columns, width), (heads, values, columns), (rows, columns)
    )  # fmt: skip
    return [RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes]


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    scores = q.astype(np.float64) @ k.transpose(0, 2, 1) * 0.25 + mask
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    result: np.ndarray = raised / raised.sum(-1, keepdims=True) @ v.transpose(0, 2, 1)
    return result


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_attention_is_one_stage_behind_its_packing(shape: tuple[int, int, int, int, int]) -> None:
    labels = [stage.label for stage in schedule(attention(*shape), Machine()).stages]
    assert all(label.endswith("packing") for label in labels[:-1])
    assert "6 stages by blocks of" in labels[-1]


@pytest.mark.compiler
@pytest.mark.parametrize("machine", [Machine(16, 16, 1), Machine(64, 32, 1)], ids=["sse", "avx512"])
@pytest.mark.sweep(every=2)
def test_values_do_not_depend_on_threads(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    # Compiled for another machine than this one: the schedules differ, the code runs here all the
    # same.
    monkeypatch.setattr(type(find_compiler()), "machine", machine)
    n, m = Var("n"), Var("m")
    funcs = [attention(*shape, name=name) for name, shape in SHAPES.items()]
    funcs += [attention(n, 64, 64, 16, 16, "heads"), attention(2, m, 75, 24, 9, "rows")]
    inputs = {name: inputs_of(*shape) for name, shape in SHAPES.items()}
    inputs |= {"heads": inputs_of(5, 64, 64, 16, 16), "rows": inputs_of(2, 7, 75, 24, 9)}
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("RELAY2RELAX_THREADS", threads)
        module = compile_prim_funcs(funcs)
        results = {
            name: np.full((*q.shape[:2], v.shape[1]), np.nan, np.float32) for name, (q, _, v, _) in inputs.items()
        }
        for name, given in inputs.items():
            module.call(name, *given, results[name])
        found.append(results)
    for name, given in inputs.items():
        np.testing.assert_allclose(found[0][name], attended(*given), rtol=1e-5, atol=1e-5)
        assert (found[0][name] == found[1][name]).all()


def test_symbolic_heads_are_blocks_too() -> None:
    labels = [stage.label for stage in schedule(attention(Var("n"), 64, 64, 16, 16), Machine()).stages]
    assert "6 stages by blocks of ?x2" in labels[-1]


def test_scores_that_somebody_wants_stay() -> None:
    q, k, v = (te.placeholder(shape, name="X") for shape in ((64, 16), (64, 16), (64, 8)))
    d, top_of, j = te.reduce_axis(16), te.reduce_axis(64), te.reduce_axis(64)
    scores = te.compute((64, 64), lambda i, j: te.sum(q[i, d.var] * k[j, d.var], axis=d), "scores")
    top = te.compute((64,), lambda i: te.max(scores[i, top_of.var], axis=top_of), "top")
    soft = te.compute((64, 64), lambda i, j: call("exp", scores[i, j] - top[i]), "soft")
    out = te.compute((64, 8), lambda i, o: te.sum(soft[i, j.var] * v[j.var, o], axis=j), "out")
    assert len(schedule(te.create_prim_func([q, k, v], [out]), Machine()).stages) == 1 + 1
    for wanted in (scores, soft):
        labels = [s.label for s in schedule(te.create_prim_func([q, k, v], [out, wanted]), Machine()).stages]
        assert not any("by blocks" in label for label in labels)


def test_a_product_that_sums_over_the_rows_stays_apart() -> None:
    """The second product wants all rows of a column: there are no rows that it shares with the
    first.
    """
    q, k, v = (te.placeholder(shape, name="X") for shape in ((64, 16), (64, 16), (64, 8)))
    d, top_of, j = te.reduce_axis(16), te.reduce_axis(64), te.reduce_axis(64)
    scores = te.compute((64, 64), lambda i, j: te.sum(q[i, d.var] * k[j, d.var], axis=d), "scores")
    top = te.compute((64,), lambda i: te.max(scores[i, top_of.var], axis=top_of), "top")
    soft = te.compute((64, 64), lambda i, j: call("exp", scores[i, j] - top[i]), "soft")
    out = te.compute((64, 8), lambda i, o: te.sum(soft[j.var, i] * v[j.var, o], axis=j), "out")
    labels = [s.label for s in schedule(te.create_prim_func([q, k, v], [out]), Machine()).stages]
    assert not any("by blocks" in label for label in labels)


@pytest.mark.compiler
def test_products_without_tiles() -> None:
    """Keys that are looked up row by row are no panels, and two columns of values no vector."""
    q, v = te.placeholder((48, 16), name="Q"), te.placeholder((40, 2), name="V")
    k, index = te.placeholder((9, 16), name="K"), te.placeholder((40,), "int64", name="I")
    d, top_of, j = te.reduce_axis(16), te.reduce_axis(40), te.reduce_axis(40)
    scores = te.compute((48, 40), lambda i, j: te.sum(q[i, d.var] * k[index[j], d.var], axis=d), "scores")
    top = te.compute((48,), lambda i: te.max(scores[i, top_of.var], axis=top_of), "top")
    soft = te.compute((48, 40), lambda i, j: call("exp", scores[i, j] - top[i]), "soft")
    out = te.compute((48, 2), lambda i, o: te.sum(soft[i, j.var] * v[j.var, o], axis=j), "out")
    func = te.create_prim_func([q, k, index, v], [out])
    assert "by blocks" in schedule(func, Machine()).stages[-1].label
    queries, keys, values = (RANDOM.standard_normal(shape).astype(np.float32) for shape in ((48, 16), (9, 16), (40, 2)))
    places, result = RANDOM.integers(0, 9, 40), np.empty((48, 2), np.float32)
    compile_prim_funcs([func]).call("main", queries, keys, places, values, result)
    wanted = queries.astype(np.float64) @ keys[places].T
    np.testing.assert_allclose(result, np.exp(wanted - wanted.max(1, keepdims=True)) @ values, rtol=1e-4, atol=1e-5)


@pytest.mark.compiler
def test_heads_in_one_axis_with_the_batch() -> None:
    """Products of 6 matrices around a softmax of 3 x 2: what BERT makes of its heads. Scores take
    1.5 MB in all.
    """
    text = """#[version = "0.0.5"]
def @main(%q: Tensor[(6, 256, 16), float32], %k: Tensor[(6, 256, 16), float32], %v: Tensor[(6, 16, 256), float32],
          %m: Tensor[(3, 1, 1, 256), float32]) {
  %0 = reshape(nn.batch_matmul(%q, %k, transpose_b=True), newshape=[3, 2, 256, 256]);
  %1 = nn.softmax(add(%0, %m));
  %2 = nn.batch_matmul(reshape(%1, newshape=[6, 256, 256]), %v, transpose_b=True);
  reshape(transpose(reshape(%2, newshape=[3, 2, 256, 16]), axes=[0, 2, 1, 3]), newshape=[3, 256, 32])
}"""
    executable = backends.build(translator.via_graph(relay_ir.infer_type(relay_ir.parse(text))), target="c")
    shapes = ((6, 256, 16), (6, 256, 16), (6, 16, 256), (3, 1, 1, 256))
    q, k, v, mask = (RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes)
    found = backends.VirtualMachine(executable)["main"](q, k, v, mask)
    scores = (q.astype(np.float64) @ k.transpose(0, 2, 1)).reshape(3, 2, 256, 256) + mask
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    soft = (raised / raised.sum(-1, keepdims=True)).reshape(6, 256, 256)
    expected = (soft @ v.transpose(0, 2, 1)).reshape(3, 2, 256, 16).transpose(0, 2, 1, 3).reshape(3, 256, 32)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    (entry,) = present(executable.native).entries.values()
    assert max(integer(byte_size(buffer), {}) for buffer in entry.arena.offsets) < 2**19
