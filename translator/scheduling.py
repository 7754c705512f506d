"""What both translators do last: weights stand behind inputs, and schedules, where they are asked
for.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from relay2relax import backends, relax_ir
from relay2relax.core.errors import UnsupportedError
from relay2relax.relax_ir.ir import symbols


def weights_last(program: relax_ir.IRModule, weights: Collection[str]) -> relax_ir.IRModule:
    """Return ``program`` whose ``main`` takes the parameters ``weights`` last, and counts the
    others as ``num_input``.

    That is how Relax tells weights from inputs. A parameter with extents that are not known stays
    an input.
    """
    if not weights:
        return program
    var, main = program.get_global_var("main"), program["main"]
    assert isinstance(main, relax_ir.Function)
    later = [param for param in main.params if param.name in weights and not symbols.used(param.info)]
    first = [param for param in main.params if param not in later]
    marked = replace(main, params=(*first, *later), attrs={**main.attrs, "num_input": len(first)})
    return replace(program, functions={**program.functions, var: marked})


def scheduled(program: relax_ir.IRModule, schedule: str | None) -> relax_ir.IRModule:
    """Return ``program`` with the PrimFuncs of a schedule, ``"cpu"``; None leaves it alone."""
    if schedule is None:
        return program
    if schedule != "cpu":
        raise UnsupportedError(f"unknown schedule {schedule!r}; there is 'cpu'")
    return backends.schedule_module(program)
