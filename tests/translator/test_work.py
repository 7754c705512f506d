"""How much work a program is said to be, counted by hand."""

from __future__ import annotations

import pytest

from relay2relax import relax_ir, relay_ir, translator
from relay2relax.translator.work import in_words, work_of

DENSE = """#[version = "0.0.5"]
def @main(%data: Tensor[(5, 4), float32], %w: Tensor[(3, 4), float32]) { nn.relu(nn.dense(%data, %w, units=3)) }"""
OPEN = DENSE.replace("(5, 4)", "(?, 4)")


def test_steps_are_turns_of_the_innermost_loop() -> None:
    # Transposing 12 weights, 5 * 3 * 4 products, 15 values of the activation.
    assert work_of(translator.via_graph(relay_ir.parse(DENSE))).operators == 12 + 60 + 15
    # An extent that is not known is 3.
    assert work_of(translator.via_graph(relay_ir.parse(OPEN))).operators == 12 + 36 + 9


def test_whose_loops_they_are() -> None:
    tensors = work_of(relax_ir.parse(translator.lower_to_tir(relay_ir.parse(DENSE)).script()))
    assert (tensors.operators, tensors.loops) == (0, 0)
    assert (tensors.kernels, tensors.blocks) == (2, 75)
    scheduled = work_of(translator.via_graph(relay_ir.parse(DENSE), schedule="cpu"))
    assert (scheduled.operators, scheduled.blocks) == (0, 0)
    assert scheduled.loops > 0


def test_bare_loops_are_slow_on_numpy_alone() -> None:
    big = DENSE.replace("5, 4", "500, 4000").replace("3, 4", "3000, 4000").replace("units=3", "units=3000")
    scheduled = work_of(translator.via_graph(relay_ir.parse(big), schedule="cpu"))
    assert scheduled.seconds("numpy") > 3600
    assert scheduled.seconds("c") < 60
    assert work_of(translator.via_graph(relay_ir.parse(big))).seconds("numpy") < 60


def test_threads_of_gpus_are_run_together() -> None:
    threads = work_of(translator.via_graph(relay_ir.parse(DENSE), schedule="cuda"))
    assert (threads.operators, threads.blocks, threads.loops) == (0, 0, 0)
    # A block of 128 threads with a step for each of four terms, and more around them.
    assert threads.threads >= 128 * 4


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "1 s"), (89, "89 s"), (100, "2 min"), (7300, "3 h")])
def test_times_in_words(seconds: float, said: str) -> None:
    assert in_words(seconds) == said
