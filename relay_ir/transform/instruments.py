"""Instruments: how long passes take, and what modules look like around them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relay2relax.relay_ir.module import IRModule
from relay2relax.relay_ir.transform.infrastructure import PassInfo, PassInstrument


@dataclass(slots=True)
class _Timed:
    name: str
    seconds: float = 0.0
    inner: list[_Timed] = field(default_factory=list)


class PassTimingInstrument(PassInstrument):
    """Measures every pass, passes within passes included; ``render()`` says what was measured."""

    def __init__(self) -> None:
        self._root = _Timed("")
        self._open: list[tuple[_Timed, float]] = []

    def enter_pass_ctx(self) -> None:
        """Forget earlier measurements."""
        self._root = _Timed("")
        self._open = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Start the clock of a pass."""
        entry = _Timed(info.name)
        (self._open[-1][0] if self._open else self._root).inner.append(entry)
        self._open.append((entry, time.perf_counter()))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Stop the clock of a pass."""
        entry, start = self._open.pop()
        entry.seconds = time.perf_counter() - start

    def render(self) -> str:
        """Return a line per pass, indented under the pass that ran it: time, time of its own, share of the whole."""
        whole = sum(entry.seconds for entry in self._root.inner) or 1.0
        lines: list[str] = []
        stack = [(entry, 0) for entry in reversed(self._root.inner)]
        while stack:
            entry, depth = stack.pop()
            own = entry.seconds - sum(one.seconds for one in entry.inner)
            share = 100 * entry.seconds / whole
            lines.append(f"{'  ' * depth}{entry.name}: {entry.seconds * 1e6:.0f}us [{own * 1e6:.0f}us] ({share:.2f}%)")
            stack += [(one, depth + 1) for one in reversed(entry.inner)]
        return "".join(line + "\n" for line in lines)


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after passes.

    ``before`` and ``after`` name the passes; None stands for all. ``write`` gets the text, by default it is printed.
    """

    def __init__(
        self,
        before: Sequence[str] | None = (),
        after: Sequence[str] | None = (),
        write: Callable[[str], object] = print,
    ) -> None:
        self._before = before
        self._after = after
        self._write = write

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Print the module if the pass is among those of ``before``."""
        if self._before is None or info.name in self._before:
            self._write(f"Before running pass {info.name}:\n{mod}")

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Print the module if the pass is among those of ``after``."""
        if self._after is None or info.name in self._after:
            self._write(f"After running pass {info.name}:\n{mod}")
