"""What a migration found, as data; the forms of the report are made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, Optional

from relay2relax.core.schema import Form, field, read_json, to_lines
from relay2relax.migrate.verdict import Verdict


class Entry(Form):
    """How one model fared.

    ``name``  its path below the folder that was migrated. ``verdict``  a word of ``Verdict``.
    ``why``  why it did not fare better. ``params``  the name of the file of its weights, "" without
    any. ``calls``  how many operators Relay calls. ``as_tensorir``  operators that became TensorIR,
    with the reasons. ``receipt``  how many things were kept, moved, implied and dropped.
    ``compared``  backends on which the result was compared with Relay, and ``off``  by how much it
    was off at most, as a share of the largest value. ``files``  what was written.
    """

    name: str
    verdict: str
    why: tuple[str, ...] = ()
    params: str = ""
    calls: int = 0
    as_tensorir: tuple[str, ...] = ()
    receipt: dict[str, int] = field(default_factory=dict)
    compared: tuple[str, ...] = ()
    off: Optional[float] = None
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """How bad the verdict is, 0 being the best."""
        return Verdict(self.verdict).rank


class Report(Form):
    """All models of a migration, in the order of their names; ``options`` are those of ``convert``
    that all were converted with.

    Two runs over the same models give the same report, however often they were cut short.
    """

    version: str
    options: tuple[str, ...]
    models: tuple[Entry, ...]
    format: Literal["relay2relax migration"] = "relay2relax migration"
    format_version: Literal[1] = 1

    def counts(self) -> dict[Verdict, int]:
        """Return how many models have each verdict, the best first; those that none has are left
        out.
        """
        found = Counter(one.verdict for one in self.models)
        return {verdict: found[verdict.value] for verdict in Verdict if found[verdict.value]}

    def worse_than(self, limit: Verdict) -> Sequence[Entry]:
        """Return the models that fare as ``limit`` says, or worse."""
        return [one for one in self.models if one.rank >= limit.rank]


def report_to_json(report: Report) -> str:
    """Return ``report`` as a JSON document."""
    return to_lines(report)


def report_from_json(text: str | bytes, what: str = "the report") -> Report:
    """Return the report that ``text`` is; ``what`` names it in errors.

    Raises ParseError where it is none.
    """
    return read_json(text, Report, what)


def changes(old: Report, new: Report) -> list[str]:
    """Return in words what is otherwise in ``new``: models that came, went, or fare otherwise."""
    before = {one.name: one for one in old.models}
    after = {one.name: one for one in new.models}
    said = []
    for name in sorted({*before, *after}):
        if name not in before:
            said.append(f"{name}: new, {after[name].verdict}")
        elif name not in after:
            said.append(f"{name}: gone, was {before[name].verdict}")
        elif before[name].verdict != after[name].verdict:
            word = "worse" if after[name].rank > before[name].rank else "better"
            said.append(f"{name}: {word}, {before[name].verdict} became {after[name].verdict}")
    return said
