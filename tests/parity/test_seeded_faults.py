"""Faults that are made on purpose are found, placed at their node, and reduced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
import pytest
from seeded.faults import HOST, RELAX, TENSORIR, C, CFault, Fault

from relay2relax import ops, parity, relay_ir, translator
from relay2relax.backends.c.schedule import schedule
from relay2relax.core.dtype import Array
from relay2relax.core.passes import PassContext
from relay2relax.parity import search
from relay2relax.relay_ir.analysis import list_op_freqs
from relay2relax.translator.arguments import Argument

MOST = 5


def host() -> tuple[relay_ir.IRModule, Sequence[Argument]]:
    mod = relay_ir.infer_type(relay_ir.parse(HOST))
    return mod, translator.make_arguments(mod, {}, 7)


def names(mod: relay_ir.IRModule) -> Mapping[str, int]:
    return list_op_freqs(mod)


def found(fault: Fault | CFault, via: translator.Via, backend: str) -> None:
    """Hold a fault that is there now against all that looks for one."""
    mod, arguments = host()
    given = dict(zip((param.name for param in mod["main"].params), map(np.asarray, arguments), strict=True))
    program = {"graph": "via_graph", "tir": "lower_to_tir"}[via]
    matrix = parity.compare(mod, programs=[program], backends=[backend], batches=[parity.Batch(values=given)])
    assert matrix.agrees is False, f"{fault} is not seen"
    placed = parity.bisect(mod, arguments, backend=backend, via=via)
    assert f", {fault.operator}" in placed.culprit, placed

    def check(part: relay_ir.IRModule, inputs: Mapping[str, Array]) -> str:
        one = parity.compare(part, programs=[program], backends=[backend], batches=[parity.Batch(values=inputs)])
        return "" if one.agrees else "differs"

    smallest = parity.reduce(mod, arguments, check)
    assert smallest.calls <= MOST < smallest.of_calls
    assert fault.operator in names(smallest.module)


@pytest.mark.sweep(every=17)
@pytest.mark.parametrize("fault", RELAX, ids=str)
def test_of_the_translation_to_relax_operators(fault: Fault) -> None:
    with ops.handlers(relax={fault.operator: fault.handler}):
        found(fault, "graph", "numpy")


@pytest.mark.sweep(every=8)
@pytest.mark.parametrize("fault", TENSORIR, ids=str)
def test_of_the_translation_to_tensorir(fault: Fault) -> None:
    with ops.handlers(tensorir={fault.operator: fault.handler}):
        found(fault, "tir", "numpy")


def with_fault(monkeypatch: pytest.MonkeyPatch, fault: CFault) -> AbstractContextManager[PassContext]:
    """Let C be written with a fault, and kept in no cache."""
    place = next(number for number, rule in enumerate(schedule.RULES) if rule.name == "c.FuseEpilogues")
    rules = (*schedule.RULES[:place], fault.rule(), *schedule.RULES[place:])
    for module in (schedule, search):
        monkeypatch.setattr(module, "RULES", rules)
    return PassContext()


@pytest.mark.compiler
@pytest.mark.sweep(every=8)
def test_of_a_rule_in_c() -> None:
    # One test: an example of each kind of fault would take longer than a sample has.
    mod, arguments = host()
    for fault in C:
        with pytest.MonkeyPatch.context() as patched, with_fault(patched, fault):
            found(fault, "graph", "c")
            assert parity.bisect(mod, arguments, "rules").culprit == "c.Faulty", fault


def test_there_are_more_than_thirty() -> None:
    assert len({str(one) for one in RELAX} | {f"tir {one}" for one in TENSORIR} | {f"c {one}" for one in C}) > 30


@pytest.mark.compiler
@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_without_a_fault_there_is_nothing_to_find(backend: str) -> None:
    mod, arguments = host()
    matrix = parity.compare(mod, backends=[backend])
    assert matrix.agrees
    assert parity.bisect(mod, arguments, backend=backend).culprit == ""
