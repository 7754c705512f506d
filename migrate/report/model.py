"""What a migration found, as data; the forms of the report are made of it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Optional

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from relay2relax.core.schema import Form, field, read_json, to_lines, to_plain
from relay2relax.migrate.verdict import Verdict
from relay2relax.parity.tables import data_frame, html_table


class Entry(Form):
    """How one model fared.

    ``name``  its path below the folder that was migrated, and ``path``  where that is, as seen from
    the folder in which it was migrated. ``verdict``  a word of ``Verdict``.
    ``why``  why it did not fare better. ``params``  the name of the file of its weights, "" without
    any. ``calls``  how many operators Relay calls. ``as_tensorir``  operators that became TensorIR,
    with the reasons. ``receipt``  how many things were kept, moved, implied and dropped.
    ``compared``  backends on which the result was compared with Relay, and ``off``  by how much it
    was off at most, as a share of the largest value. ``where``  of an output that differs: the node
    at which that begins, and which results are nearest to float64. ``files``  what was written, and
    ``folder``  where, below that of the report. ``page``  the name of a page among them that shows
    the model, "" without one.
    """

    name: str
    verdict: Annotated[str, Meta(extra_json_schema={"enum": [one.value for one in Verdict]})]
    why: tuple[str, ...] = ()
    params: str = ""
    calls: int = 0
    as_tensorir: tuple[str, ...] = ()
    receipt: dict[str, int] = field(default_factory=dict)
    compared: tuple[str, ...] = ()
    off: Optional[float] = None
    where: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    folder: str = ""
    page: str = ""
    path: str = ""

    def answers(self) -> dict[str, tuple[str, ...]]:
        """Return what somebody asks of a model whose results differ, and the answers; nothing for
        others.
        """
        if self.verdict != Verdict.DIFFERENCE.value:
            return {}
        model = shlex.quote(self.name)
        given = f" --params {shlex.quote(str(PurePosixPath(self.name).with_name(self.params)))}" if self.params else ""
        off = f": off by {self.off:.2g} of the largest value" if self.off is not None else ""
        commands = [f"In the folder of the models, relay2relax reduce {model}{given} makes a small model that differs."]
        if self.where[:1] and self.where[0].startswith("it agrees on numpy"):
            commands.append(f"relay2relax bisect {model}{given} --over rules says which rule of C is to blame.")
        else:
            commands.append("Convert it by another way, --via tir or --via graph: that may agree.")
        commands.append("Report it, with what reduce wrote: the same fault may be in other models.")
        return {
            "Is it safe?": (f"No. What was converted computes something else than Relay{off}.",),
            "What changed?": self.why,
            "Where, and which side is right?": self.where
            or ("It was not searched: compare --per-node --float64 does.",),
            "What to do?": ("Keep the old model in use until this is understood.", *commands),
        }

    def __post_init__(self) -> None:
        Verdict(self.verdict)  # ValueError, which is a mistake of the document that it is read from

    @property
    def rank(self) -> int:
        """How bad the verdict is, 0 being the best."""
        return Verdict(self.verdict).rank


class Change(Form):
    """A model that fares otherwise than in an earlier report.

    ``what``  whether it is new or gone, fares worse or better. ``before``, ``after``  the verdicts,
    "" where there is none.
    """

    name: str
    what: Literal["new", "gone", "worse", "better"]
    before: str
    after: str

    def __str__(self) -> str:
        match self.what:
            case "new":
                return f"{self.name}: new, {self.after}"
            case "gone":
                return f"{self.name}: gone, was {self.before}"
        return f"{self.name}: {self.what}, {self.before} became {self.after}"


class Report(Form):
    """All models of a migration, in the order of their names; ``options`` are those of ``convert``
    that all were converted with. ``changed``  what is otherwise than in an earlier report, where
    that is compared with one.

    Two runs over the same models give the same report, however often they were cut short.
    """

    version: str
    options: tuple[str, ...]
    models: tuple[Entry, ...]
    changed: tuple[Change, ...] = ()
    format: Literal["relay2relax migration"] = "relay2relax migration"
    format_version: Literal[1] = 1

    def counts(self) -> dict[Verdict, int]:
        """Return how many models have each verdict, the best first; those that none has are left
        out.
        """
        found = Counter(one.verdict for one in self.models)
        return {verdict: found[verdict.value] for verdict in Verdict if found[verdict.value]}

    def to_json(self) -> dict[str, object]:
        """Return the report as plain values, as report.json has them."""
        found: dict[str, object] = to_plain(self)
        return found

    def to_dataframe(self) -> Any:
        """Return a row for each model as a frame of pandas.

        Raises UnsupportedError where that is not installed.
        """
        return data_frame([to_plain(one) for one in self.models])

    def _repr_html_(self) -> str:
        counts = ", ".join(f"{count} {verdict.value}" for verdict, count in self.counts().items())
        rows = [{"model": one.name, "verdict": one.verdict, "why": "; ".join(one.why)} for one in self.models]
        return html_table(("model", "verdict", "why"), rows, counts or "no models")

    def worse_than(self, limit: Verdict) -> Sequence[Entry]:
        """Return the models that fare as ``limit`` says, or worse."""
        return [one for one in self.models if one.rank >= limit.rank]

    def worsened(self) -> Sequence[Entry]:
        """Return the models that fare worse than in the earlier report."""
        names = {one.name for one in self.changed if one.what == "worse"}
        return [one for one in self.models if one.name in names]


def report_to_json(report: Report) -> str:
    """Return ``report`` as a JSON document."""
    return to_lines(report)


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema of report.json, as ``docs/reference/report.schema.json`` has it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Report)}


def report_from_json(text: str | bytes, what: str = "the report") -> Report:
    """Return the report that ``text`` is; ``what`` names it in errors.

    Raises ParseError where it is none.
    """
    return read_json(text, Report, what)


def compared(old: Report, new: Report) -> Report:
    """Return ``new`` with what is otherwise than in ``old``: models that came, went, or have
    another verdict.
    """
    return replace(new, changed=tuple(_changes(old, new)))


def _changes(old: Report, new: Report) -> Iterator[Change]:
    before = {one.name: one for one in old.models}
    after = {one.name: one for one in new.models}
    for name in sorted({*before, *after}):
        if name not in before:
            yield Change(name, "new", "", after[name].verdict)
        elif name not in after:
            yield Change(name, "gone", before[name].verdict, "")
        elif before[name].verdict != after[name].verdict:
            what: Literal["worse", "better"] = "worse" if after[name].rank > before[name].rank else "better"
            yield Change(name, what, before[name].verdict, after[name].verdict)
