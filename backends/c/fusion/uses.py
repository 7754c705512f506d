"""Where each buffer is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relay2relax.backends.c.stages import (
    AnyStage,
    Opaque,
)
from relay2relax.tir.ir.expr import Buffer
from relay2relax.tir.ir.visit import loads


@dataclass(slots=True)
class Use:
    """Where a buffer is read: by which stages, and how often in all."""

    stages: list[int] = field(default_factory=list)
    loads: int = 0


def find_uses(stages: Sequence[AnyStage | None]) -> dict[Buffer, Use]:
    uses: dict[Buffer, Use] = {}
    for number, stage in enumerate(stages):
        if stage is None:
            continue
        if isinstance(stage, Opaque):
            for buffer in stage.reads():
                uses.setdefault(buffer, Use()).stages.append(number)
            continue
        found = [load.buffer for expr in stage.expressions() for load in loads(expr)]
        for buffer in dict.fromkeys(found):
            uses.setdefault(buffer, Use()).stages.append(number)
        for buffer in found:
            uses[buffer].loads += 1
    return uses
