"""What becomes of a name of TVM in a script, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from relay2relax.cli.modernize.equivalents import Equivalent, equivalent, is_module
from relay2relax.cli.modernize.today import DEVICES, Today, today

RENAMED, REPLACED, BY_HAND = "renamed", "replaced", "needs a person"
PACKAGE, TVM = "relay2relax", "tvm"
ROOTS = ("tvm", "nnvm", "topi")
_OURS = ("relay_ir", "relax_ir", "backends", "graph", "translator", "core")


@dataclass(frozen=True, slots=True, order=True)
class Remark:
    """What became of a place in a script, or in the cell of a notebook (the first is 1)."""

    line: int
    kind: str
    theirs: str
    ours: str = ""
    why: str = ""
    cell: int = 0

    def __str__(self) -> str:
        place = f"cell {self.cell}, {self.line}" if self.cell else str(self.line)
        became = f" -> {self.ours}" if self.ours else ""
        return f"{place}: {self.kind}: {self.theirs}{became}{': ' + self.why if self.why else ''}"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a name becomes, "" where it stays; what is imported for it, and what is said of it."""

    ours: str = ""
    imported: tuple[str, str | None] | None = None
    remark: Remark | None = None


def decide(dotted: str, line: int, shown: str, to: str = PACKAGE) -> Decision | None:
    """Return what becomes of a dotted name of TVM; None where it is another's, or a module.

    Names go to this package, or to today's TVM where ``to`` says so, and to the other where the
    first has no such name.
    """
    if dotted.partition(".")[0] not in ROOTS or is_module(dotted):
        return None
    found = equivalent(dotted)
    what, rest = found if found is not None else (Equivalent("", why="this module of TVM has no place here"), "")
    known = today(dotted, programs=to == TVM)
    # Devices mean nothing here: only a script for TVM keeps them.
    if known is not None and (to == TVM or not (what.ours or dotted.rpartition(".")[2] in DEVICES)):
        return _today(dotted, *known, line, shown)
    if not what.ours:
        return Decision(remark=Remark(line, BY_HAND, shown, why=what.why))
    ours = f"{what.ours}.{rest}" if rest else what.ours
    return Decision(ours, room_of(ours), Remark(line, RENAMED if what.same else REPLACED, shown, ours))


def _today(dotted: str, known: Today, rest: str, line: int, shown: str) -> Decision:
    ours = f"{known}.{rest}" if rest else str(known)
    if ours == dotted:
        return Decision()
    kind = REPLACED if known.by_hand else RENAMED
    return Decision(ours, (known.module, None), Remark(line, kind, shown, ours, known.by_hand))


def room_of(ours: str) -> tuple[str, str | None]:
    """Return what is imported for a dotted name: a module, and the name in it or None."""
    root = ours.partition(".")[0]
    return ("relay2relax", root) if root in _OURS else (root, None)


@lru_cache(maxsize=1)
def words_of_nodes() -> frozenset[str]:
    """Return the names that only TVM's nodes, types and modules answer to."""
    from relay2relax.compat.vocabulary import lessons

    return frozenset(one.name for one in lessons() if not one.name.startswith("_") and one.name not in vars(one.cls))
