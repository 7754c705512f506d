"""Whether a program gives the same bits twice, and on one thread as on two."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from relay2relax.backends.threads import threads
from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.parity.programs.program import Program
from relay2relax.translator.arguments import flatten
from relay2relax.translator.comparison import Trial


@dataclass(frozen=True, slots=True)
class Repeat:
    """Whether a second run gave the same bits, and one built for two threads those of one.

    ``threads`` is None where the backend has no threads of ours.
    """

    program: str
    backend: str
    again: bool
    threads: bool | None

    @property
    def same(self) -> bool:
        """Whether all bits were the same."""
        return self.again and self.threads is not False

    def __str__(self) -> str:
        said = "the same bits twice" if self.again else "OTHER bits the second time"
        if self.threads is not None:
            said += ", and on one thread and two" if self.threads else ", and OTHER bits on one thread and on two"
        return f"{self.program} on {self.backend}: {said}"

    def to_json(self) -> dict[str, object]:
        """Return the same as plain values."""
        return asdict(self)


def repeat(program: Program, trial: Trial) -> Repeat | None:
    """Run ``program`` twice, and in C on one thread and on two; None where it ends in an error,
    which its rows say.
    """
    try:
        runner = program.prepare(trial.module)
        first, second = (flatten(runner(trial)) for _ in range(2))
        by_threads: bool | None = None
        if program.backend == "c":
            made = []
            for count in (1, 2):
                with threads(count):
                    made.append(flatten(program.prepare(trial.module)(trial)))
            by_threads = _same(*made)
    except Relay2RelaxError:
        return None
    return Repeat(program.name, program.backend, _same(first, second), by_threads)


def _same(one: list[Array], other: list[Array]) -> bool:
    """Whether arrays have the same bits."""
    return len(one) == len(other) and all(
        a.shape == b.shape and of_array(a) == of_array(b) and a.tobytes() == b.tobytes()
        for a, b in zip(one, other, strict=True)
    )
