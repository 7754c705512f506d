"""What a comparison found, as data: rows, what was drawn, what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from typing import TypeAlias, Union

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import ErrorKind, ExitCode, Relay2RelaxError, UnsupportedError
from relay2relax.core.tolerance import Difference, Tolerance, difference
from relay2relax.translator.arguments import flatten
from relay2relax.translator.drawing import Drawn
from relay2relax.translator.expected import Recorded

# Who looks on while outputs are compared: takes program, backend, number of the output, the array
# that there is and the one that was expected.
OutputObserver = Callable[[str, str, int, Array, Array], None]
# What judges two arrays: what there is, what was expected, how long the sums are, what is allowed.
Comparer = Callable[[Array, Array, Union[int, None], Union[Tolerance, None]], Difference]
# What all outputs may be off by, or single ones by their number.
Tolerances: TypeAlias = Union[Tolerance, Mapping[int, Tolerance]]
_LOOKING_ON: ContextVar[tuple[OutputObserver, ...]] = ContextVar("looking on", default=())


@contextmanager
def outputs_shown(to: OutputObserver) -> Iterator[None]:
    """Show every output that is compared while the block runs; blocks may stand within others."""
    token = _LOOKING_ON.set((*_LOOKING_ON.get(), to))
    try:
        yield
    finally:
        _LOOKING_ON.reset(token)


@dataclass(frozen=True, slots=True)
class Row:
    """One output of one program on one backend, against the reference.

    ``failure`` is the kind of the error that a program ended in, which gave nothing to compare.
    """

    program: str
    backend: str
    output: int
    difference: Difference
    failure: ErrorKind | None = None

    @property
    def verdict(self) -> str:
        """The judgement in a word or two: that of the difference, or ``fails``."""
        return self.difference.verdict if self.failure is None else "fails"

    def to_json(self) -> dict[str, object]:
        """Return the row as plain values; what is not finite is None."""
        found = self.difference
        values = {
            **asdict(found), "verdict": self.verdict, "of_scale": found.of_scale, "allowed": found.allowed,
        }  # fmt: skip
        plain = {k: (None if isinstance(v, float) and not np.isfinite(v) else v) for k, v in values.items()}
        return {"program": self.program, "backend": self.backend, "output": self.output, **plain}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A program that was not run on a backend, and why."""

    program: str
    backend: str
    why: str

    def __str__(self) -> str:
        return f"{self.program} is not compared on {self.backend}: {self.why}"


@dataclass(frozen=True, slots=True)
class Report:
    """All rows of a comparison, and what else there is to say.

    ``notes`` name what was drawn, the calls that have no Relax form, the first node that differs,
    and outputs that prove little. ``drawn`` has what was drawn as data, ``recorded`` the outputs
    that were the reference where they came from elsewhere.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    drawn: Drawn | None = None
    left_out: tuple[LeftOut, ...] = ()
    recorded: Recorded | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether every output of every program agrees within the tolerance; None where nothing was
        compared.
        """
        return all(row.difference.agrees for row in self.rows) if self.rows else None

    @property
    def exit(self) -> ExitCode:
        """What a command ends with that found this: an output that differs counts more than a
        program that fails.
        """
        wrong = [row for row in self.rows if not row.difference.agrees]
        failed = [row.failure.exit for row in wrong if row.failure is not None]
        if not self.rows:
            return ExitCode.UNSUPPORTED
        return ExitCode.DIFFERS if len(failed) < len(wrong) else next(iter(failed), ExitCode.FINE)

    def to_json(self) -> dict[str, object]:
        """Return the report as plain values."""
        return {
            "agrees": self.agrees,
            "rows": [row.to_json() for row in self.rows],
            "drawn": self.drawn and self.drawn.to_json(),
            "expected": self.recorded and self.recorded.to_json(),
            "left_out": [asdict(one) for one in self.left_out],
            "notes": list(self.notes),
        }


def joined(reports: Sequence[Report]) -> Report:
    """Return one report of several functions, with what was drawn for all of them."""
    if len(reports) == 1:
        return reports[0]
    drawn = [one.drawn for one in reports if one.drawn is not None]
    return Report(
        tuple(row for one in reports for row in one.rows),
        tuple(dict.fromkeys(note for one in reports for note in one.notes)),
        Drawn(drawn[0].seed, tuple(value for one in drawn for value in one.values)) if drawn else None,
        tuple(left for one in reports for left in one.left_out),
    )


@dataclass(slots=True)
class Sheet:
    """What is expected, and the rows so far.

    What is judged may be off by the ``tolerance``; where there is none, by what sums of ``length``
    terms in a row may be, None where it is not known how long they are. ``comparer`` judges.
    """

    expected: Sequence[Array]
    tolerance: Tolerances | None
    length: int | None = None
    comparer: Comparer = difference
    rows: list[Row] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, program: str, backend: str, result: object) -> None:
        """Add a row for each output of a program."""
        actual = flatten(result)
        if len(actual) != len(self.expected):
            self.add_failure(program, backend, f"{len(actual)} outputs, expected {len(self.expected)}")
            return
        for index, (one, other) in enumerate(zip(actual, self.expected, strict=True)):
            for look in _LOOKING_ON.get():
                look(program, backend, index, one, other)
            limit = self.tolerance.get(index) if isinstance(self.tolerance, Mapping) else self.tolerance
            found = self.comparer(one, other, self.length, limit)
            self.rows.append(Row(program, backend, index, found))

    def attempt(self, program: str, backend: str, result: Callable[[], object]) -> None:
        """Add the rows of a program that may fail: one that cannot be expressed on the backend is
        left out, an error is a row.

        Raises LimitError, since a limit says nothing of the program.
        """
        try:
            found = result()
        except UnsupportedError as error:
            self.left_out.append(LeftOut(program, backend, error.diagnostics[0].title))
        except Relay2RelaxError as error:
            if error.first_kind.exit is ExitCode.LIMIT:
                raise
            first = error.diagnostics[0]
            self.add_failure(program, backend, " ".join(f"{first.title} {first.label}".split()), error.first_kind)
        else:
            self.add(program, backend, found)

    def add_failure(self, program: str, backend: str, reason: str, failure: ErrorKind | None = None) -> None:
        """Add a row for a program that gave nothing to compare, or ended in an error of a kind."""
        self.rows.append(Row(program, backend, 0, Difference(np.inf, np.inf, np.inf, False, reason), failure))
