"""What becomes of a name of TVM in a script, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from relay2relax.cli.modernize.equivalents import equivalent, is_module

RENAMED, REPLACED, BY_HAND = "renamed", "replaced", "needs a person"
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


def decide(dotted: str, line: int, shown: str) -> tuple[str, Remark] | None:
    """Return what a dotted name of TVM becomes, "" where it stays, and the remark on it.

    None where nothing is to be said of it: it is another's, or a module.
    """
    if dotted.partition(".")[0] not in ROOTS or is_module(dotted):
        return None
    found = equivalent(dotted)
    if found is None:
        return "", Remark(line, BY_HAND, shown, why="this module of TVM has no place here")
    what, rest = found
    if not what.ours:
        return "", Remark(line, BY_HAND, shown, why=what.why)
    ours = f"{what.ours}.{rest}" if rest else what.ours
    return ours, Remark(line, RENAMED if what.same else REPLACED, shown, ours)


def room_of(ours: str) -> tuple[str, str | None]:
    """Return what is imported for a dotted name: a module, and the name in it or None."""
    root = ours.partition(".")[0]
    return ("relay2relax", root) if root in _OURS else (root, None)


@lru_cache(maxsize=1)
def words_of_nodes() -> frozenset[str]:
    """Return the names that only TVM's nodes, types and modules answer to."""
    from relay2relax.compat.vocabulary import lessons

    return frozenset(one.name for one in lessons() if not one.name.startswith("_") and one.name not in vars(one.cls))
