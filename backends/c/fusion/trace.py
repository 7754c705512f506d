"""What each rule makes of a program, to be read: an instrument that looks on and keeps texts.

trace = StageTrace()
with PassContext(instruments=[trace]):
    fused(func, Machine())
print(trace.text())
"""

from __future__ import annotations

from typing import Any

from relay2relax.backends.c.fusion.rule import Fusion
from relay2relax.backends.c.stage_printer import StagePrinter
from relay2relax.core.passes import PassInfo, PassInstrument


class StageTrace(PassInstrument):
    """Keeps the stages of a program as it was written, and after every rule that changed it."""

    def __init__(self) -> None:
        self._printer = StagePrinter()
        self._stages: list[tuple[str, str]] = []

    @property
    def changed(self) -> list[str]:
        """The names of the rules that changed something, in order."""
        return [name for name, _ in self._stages[1:]]

    def text(self) -> str:
        """Return the stages as they were written, then after each rule that changed them."""
        return "\n".join(f"== {name}\n{text}" for name, text in self._stages)

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Keep the program before the first rule."""
        if isinstance(mod, Fusion) and not self._stages:
            self._stages.append(("as it is written", self._shown(mod)))

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Keep the program after a rule."""
        if isinstance(mod, Fusion):
            text = self._shown(mod)
            if text != self._stages[-1][1]:
                self._stages.append((info.name, text))

    def _shown(self, fusion: Fusion) -> str:
        return "".join(f"{line}\n" for line in self._printer.program(fusion.program))
