"""A step of a build as data: its name, what it does, and the function that does it.

Steps are passes over whatever is being built, so what holds for passes of modules holds for them: a
``PassContext`` leaves out those in ``disabled_pass``, and its instruments see and time each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relay2relax.core.passes import M, Pass, PassInfo


@dataclass(frozen=True, slots=True)
class Step(Pass[M]):
    """A step: ``does`` is a sentence that says what it does and why it stands where it stands.

    What is ``required`` makes what later steps ask for, and is not left out. ``native`` steps are
    for the C backend alone; loops that are handed to apache-tvm do without.
    """

    name: str
    does: str
    apply: Callable[[M], M]
    required: bool = False
    native: bool = False

    @property
    def info(self) -> PassInfo:
        """The name, level 0, and whether it can be left out."""
        return PassInfo(self.name, 0, self.required)

    def transform(self, mod: M) -> M:
        """Return what is being built after the step."""
        return self.apply(mod)


def steps_text(steps: Sequence[Step[Any]]) -> str:
    """Return ``steps`` as text: a numbered line for each."""
    lines = []
    for number, step in enumerate(steps, 1):
        notes = [word for word, holds in (("required", step.required), ("native", step.native)) if holds]
        noted = f" ({', '.join(notes)})" if notes else ""
        lines.append(f"{number:2}. {step.name}{noted}: {step.does}\n")
    return "".join(lines)
