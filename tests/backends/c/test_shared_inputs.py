"""Products that share an input are one product over the columns of all.

The parts are read where they are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.merge_calls import merge_blocks
from relay2relax.backends.c.schedule.schedule import schedule
from relay2relax.relax_ir.transform import LegalizeOps
from relay2relax.tir.ir.stmt import PrimFunc

RANDOM = np.random.default_rng(14)
HEAD = '#[version = "0.0.5"]\n'
# Queries, keys and values of two heads, each with a bias, as BERT has them.
ATTENTION = (
    HEAD
    + """def @main(%x: Tensor[(40, 32), float32], %wq: Tensor[(32, 32), float32], %wk: Tensor[(32, 32), float32],
          %wv: Tensor[(32, 32), float32], %bq: Tensor[(32), float32], %bk: Tensor[(32), float32],
          %bv: Tensor[(32), float32]) {
  %0 = transpose(reshape(nn.bias_add(nn.dense(%x, %wq, units=32), %bq), newshape=[40, 2, 16]), axes=[1, 0, 2]);
  %1 = transpose(reshape(nn.bias_add(nn.dense(%x, %wk, units=32), %bk), newshape=[40, 2, 16]), axes=[1, 0, 2]);
  %2 = nn.softmax(nn.batch_matmul(%0, %1, transpose_b=True));
  %3 = transpose(reshape(nn.bias_add(nn.dense(%x, %wv, units=32), %bv), newshape=[40, 2, 16]), axes=[1, 2, 0]);
  nn.batch_matmul(%2, %3, transpose_b=True)
}"""
)
# Three narrow heads that end differently; the last one has a single column.
HEADS = (
    HEAD
    + """def @main(%x: Tensor[(3, 40), float32], %w1: Tensor[(10, 40), float32], %w2: Tensor[(5, 40), float32],
          %w3: Tensor[(1, 40), float32]) {
  (nn.softmax(nn.dense(%x, %w1, units=10)), sigmoid(nn.dense(%x, %w2, units=5)), nn.dense(%x, %w3, units=1))
}"""
)
# Two gates are finished alike, but each adds columns of a tensor of its own.
GATES = (
    HEAD
    + """def @main(%x: Tensor[(1, 24), float32], %h: Tensor[(1, 20), float32], %wr: Tensor[(20, 24), float32],
          %wz: Tensor[(20, 24), float32], %ur: Tensor[(20, 20), float32], %uz: Tensor[(20, 20), float32]) {
  %0 = sigmoid(add(nn.dense(%x, %wr, units=20), nn.dense(%h, %ur, units=20)));
  %1 = sigmoid(add(nn.dense(%x, %wz, units=20), nn.dense(%h, %uz, units=20)));
  add(multiply(%1, %h), subtract(%1, %0))
}"""
)
RESIDUAL = (
    HEAD
    + """def @main(%x: Tensor[(40, 24), float32], %a: Tensor[(40, 20), float32], %wr: Tensor[(20, 24), float32],
          %wz: Tensor[(20, 24), float32]) {
  %0 = nn.relu(add(nn.dense(%x, %wr, units=20), %a));
  %1 = nn.relu(add(nn.dense(%x, %wz, units=20), %a));
  %2 = exp(add(%0, %1));
  (sum(%2, axis=[1]), multiply(%2, %1), nn.relu(%0))
}"""
)
ANY_BATCH = (
    HEAD
    + """def @main(%x: Tensor[(?, 24), float32], %wr: Tensor[(20, 24), float32], %wz: Tensor[(12, 24), float32]) {
  %0 = nn.relu(nn.dense(%x, %wr, units=20));
  %1 = nn.relu(nn.dense(%x, %wz, units=12));
  (sum(%0, axis=[1]), sum(%1, axis=[1]))
}"""
)
# What is joined anyway is made where it is wanted.
CONCATENATED = (
    HEAD
    + """def @main(%x: Tensor[(40, 24), float32], %wr: Tensor[(20, 24), float32], %wz: Tensor[(12, 24), float32]) {
  concatenate((nn.relu(nn.dense(%x, %wr, units=20)), nn.relu(nn.dense(%x, %wz, units=12))), axis=1)
}"""
)
# By program: how many products are left.
PROGRAMS = {
    "attention": (ATTENTION, 2),
    "heads": (HEADS, 1),
    "gates": (GATES, 3),
    "residual": (RESIDUAL, 2),
    "any batch": (ANY_BATCH, 1),
    "concatenated": (CONCATENATED, 2),
}


def typed(text: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(text))


def drawn(mod: relay_ir.IRModule) -> dict[str, np.ndarray]:
    shapes = {param.name: of_type(mod.types[param], relay_ir.TensorType).shape for param in mod["main"].params}
    drawn_shapes = {name: [n if isinstance(n, int) else 7 for n in shape] for name, shape in shapes.items()}
    return {name: RANDOM.standard_normal(shape).astype(np.float32) / 4 for name, shape in drawn_shapes.items()}


def weights_of(values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: value for name, value in values.items() if name[0] in "wub"}


def products(mod: relay_ir.IRModule, weights: Mapping[str, np.ndarray]) -> list[str]:
    merged = merge_blocks(LegalizeOps()(translator.via_graph(mod, weights)))
    (func,) = (func for func in merged.module.functions.values() if isinstance(func, PrimFunc))
    labels = [stage.label for stage in schedule(func, Machine(), frozenset(merged.constants)).stages]
    return [label for label in labels if label.endswith("product")]


@pytest.mark.parametrize(("text", "count"), PROGRAMS.values(), ids=PROGRAMS)
def test_products_of_one_input_are_one(text: str, count: int) -> None:
    mod = typed(text)
    assert len(products(mod, weights_of(drawn(mod)))) == count


def test_matrices_that_are_arguments_stay_apart() -> None:
    assert len(products(typed(HEADS), {})) == 3


@pytest.mark.compiler
@pytest.mark.parametrize("text", [text for text, _ in PROGRAMS.values()], ids=PROGRAMS)
@pytest.mark.sweep(every=2)
def test_values(text: str) -> None:
    mod = typed(text)
    values = drawn(mod)
    weights = weights_of(values)
    expected = backends.create_executor("debug", mod, backend="numpy").evaluate("main")(*values.values())
    executable = backends.build(translator.via_graph(mod, weights), target="c")
    given = [value for name, value in values.items() if name not in weights]
    found = backends.VirtualMachine(executable)["main"](*given)
    pairs: list[tuple[np.ndarray, np.ndarray]] = list(
        zip(translator.flatten(found), translator.flatten(expected), strict=True)
    )
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
