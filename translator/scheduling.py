"""What both translators do last: schedules, where they are asked for."""

from __future__ import annotations

from relay2relax import backends, relax_ir
from relay2relax.core.errors import UnsupportedError


def scheduled(program: relax_ir.IRModule, schedule: str | None) -> relax_ir.IRModule:
    """Return ``program`` with the PrimFuncs of a schedule, ``"cpu"``; None leaves it alone."""
    if schedule is None:
        return program
    if schedule != "cpu":
        raise UnsupportedError(f"unknown schedule {schedule!r}; there is 'cpu'")
    return backends.schedule_module(program)
