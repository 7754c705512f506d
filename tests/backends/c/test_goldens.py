"""What the C backend makes of small programs, as text: a change of a rule, a schedule or of codegen
is a diff.

For each program ``goldens/NAME`` has the stages after each rule that changed something, and for two
machines the scheduled loops and the C. No file depends on the machine that the tests run on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from c_programs import PROGRAMS, c_program

from relay2relax.backends.c.codegen.dots import DOTS
from relay2relax.backends.c.codegen.header import HEADER
from relay2relax.backends.c.codegen.program import CLOCK, write_units
from relay2relax.backends.c.codegen.threads import DECLARATION, POOL
from relay2relax.backends.c.fusion.trace import StageTrace
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.schedule import RULES, fused, scheduled
from relay2relax.core.passes import PassContext

# Bytes of a vector and number of registers, as the compiler says for -march=x86-64-v4 and -v3.
MACHINES: Mapping[str, Machine] = {"avx512": Machine(64, 32), "avx2": Machine(32, 16)}
COMMON = (HEADER, DOTS, DECLARATION, CLOCK, POOL)


def without_common(text: str) -> str:
    """The text of a C file without what all files have."""
    for part in COMMON:
        text = text.replace(part, "")
    return text.strip("\n") + "\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, golden_text: Callable[..., None]) -> None:
    made = c_program(name)
    func, constants = made.func, frozenset(made.constants)
    for machine_name, machine in MACHINES.items():
        trace = StageTrace()
        with PassContext(instruments=[trace]):
            program = fused(func, machine, constants, native=True)
        if machine_name == "avx512":
            golden_text(f"{name}/stages.txt", trace.text(), "goldens")
        plan = scheduled(program, machine)
        golden_text(f"{name}/{machine_name}.txt", str(plan), "goldens")
        units, _ = write_units([(func, plan)], constants)
        text = "\n// The next file.\n".join(without_common(unit.text) for unit in units)
        golden_text(f"{name}/{machine_name}.c", text, "goldens")


def test_common_text(golden_text: Callable[..., None]) -> None:
    golden_text("common.c", "\n".join(COMMON), "goldens")


def test_every_rule_changes_some_program() -> None:
    changed: set[str] = set()
    for name in PROGRAMS:
        made, trace = c_program(name), StageTrace()
        with PassContext(instruments=[trace]):
            fused(made.func, Machine(), frozenset(made.constants), native=True)
        changed.update(trace.changed)
    assert {rule.name for rule in RULES if not rule.required} <= changed
