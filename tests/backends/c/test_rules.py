"""The rules of fusion and the steps of a build as data: listed, left out one by one, and timed."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from c_programs import PROGRAMS, Program, c_program

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c.codegen.program import generate
from relay2relax.backends.c.loaded_module import compile_prim_funcs
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.schedule import RULES
from relay2relax.backends.c.step import steps_text
from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.backends.vm.native import STEPS
from relay2relax.core.passes import PassContext, PassInfo, PassInstrument, PassTimingInstrument
from relay2relax.core.tolerance import difference

OPTIONAL = [rule.name for rule in RULES if not rule.required]
DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 16), float32], %w: Tensor[(8, 16), float32]) { nn.relu(nn.dense(%x, %w, units=8)) }
"""


@lru_cache(maxsize=None)
def expected(name: str) -> tuple[Program, list[np.ndarray]]:
    """A program, and its results on numpy."""
    program = c_program(name)
    results = program.outputs()
    evaluate_prim_func(program.whole, list(program.arguments().values()), results)
    return program, results


@lru_cache(maxsize=None)
def text(name: str) -> str:
    """The C of a program after all rules."""
    program, _ = expected(name)
    with PassContext():
        units, _ = generate([program.func], Machine(), program.constants)
    return "".join(unit.text for unit in units)


def check(programs: list[Program]) -> None:
    """Compile programs together, run each, and compare with numpy."""
    constants = {b: a for program in programs for b, a in program.arguments().items() if b in program.constants}
    compiled = compile_prim_funcs([program.func for program in programs], constants)
    for program in programs:
        results = program.outputs()
        inputs = [array for buffer, array in program.arguments().items() if buffer not in program.constants]
        compiled.call(program.func.name, *inputs, *results)
        for result, right in zip(results, expected(program.func.name)[1], strict=True):
            found = difference(result, right, 288)
            assert found.agrees, (program.func.name, found)


@pytest.mark.compiler
@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("rule", OPTIONAL)
def test_results_are_right_without_a_rule(rule: str) -> None:
    """Of programs that the rule changes; the others are those of the next test."""
    with PassContext(disabled_pass=[rule]):
        changed = []
        for name in PROGRAMS:
            program, _ = expected(name)
            units, _ = generate([program.func], Machine(), program.constants)
            if "".join(unit.text for unit in units) != text(name):
                changed.append(program)
        assert changed, "the rule changes no program"
        check(changed)


@pytest.mark.compiler
@pytest.mark.sweep(every=2)
def test_results_are_right_with_all_rules() -> None:
    check([expected(name)[0] for name in PROGRAMS])


def test_rules_and_steps_are_listed() -> None:
    listed = steps_text(RULES).splitlines()
    assert listed[0].startswith(" 1. c.GuardAccesses (required, native): What is not proved")
    assert len(listed) == len(RULES)
    place = [rule.name for rule in RULES].index("c.ChooseMemory")
    assert f"{place + 1:2}. c.ChooseMemory (required): " in listed[place]
    assert [step.name for step in STEPS] == [line.split()[1].rstrip(":") for line in steps_text(STEPS).splitlines()]
    names = [*(rule.name for rule in RULES), *(step.name for step in STEPS)]
    assert len(set(names)) == len(names)


def test_what_is_required_is_not_left_out() -> None:
    class Refusing(PassInstrument):
        def should_run(self, mod: object, info: PassInfo) -> bool:
            return info.name != "c.ChooseMemory"

    program = c_program("dense_relu")
    with PassContext(disabled_pass=["c.ChooseMemory", "c.FindConstants"], instruments=[Refusing()]):
        units, _ = generate([program.func], Machine(), program.constants)
    assert "".join(unit.text for unit in units) == text("dense_relu")


@pytest.mark.compiler
def test_rules_and_steps_are_timed() -> None:
    module = translator.lower_to_tir(relay_ir.parse(DENSE))
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        backends.build(module, target="c")
        lines = [line.split(":")[0] for line in timing.render().splitlines()]
    assert lines[0] == "c.Build", lines
    assert [f"  {step.name}" for step in STEPS] == [line for line in lines if line.startswith("  c.")]
    assert [f"      {rule.name}" for rule in RULES] == [line for line in lines if line.startswith("      c.")]


@pytest.mark.compiler
def test_a_build_without_a_rule_is_right() -> None:
    module = translator.lower_to_tir(relay_ir.parse(DENSE))
    x, w = (np.random.default_rng(2).standard_normal(shape).astype(np.float32) for shape in ((4, 16), (8, 16)))
    with PassContext(disabled_pass=["c.FuseEpilogues", "c.CheckShapes"]):
        executable = backends.build(module, target="c")
    result = backends.VirtualMachine(executable)["main"](x, w)
    np.testing.assert_allclose(result, np.maximum(x @ w.T, 0), rtol=1e-5, atol=1e-6)
