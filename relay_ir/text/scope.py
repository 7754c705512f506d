"""What local names mean while a text is read, and where nodes stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relay2relax.core.source import SourceRange, SourceText
from relay2relax.relay_ir.ir.expr import Expr, Var


class Locations(Mapping[Expr, SourceRange]):
    """Where nodes stand, kept as offsets until somebody asks."""

    def __init__(self, source: SourceText, offsets: dict[Expr, tuple[int, int]]) -> None:
        self._source = source
        self._offsets = offsets

    def __getitem__(self, node: Expr) -> SourceRange:
        return self._source.range(*self._offsets[node])

    def __iter__(self) -> Iterator[Expr]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, node: object) -> bool:
        return node in self._offsets


Mark = tuple[int, set[str]]


class Scope:
    """Local variables in reach, by name.

    As in TVM's reader a name is bound once in a scope, a second time it changes nothing; and every
    ``let`` opens a scope for what follows it. So a ``let`` that stands first does not hide a
    parameter of its name, later ones do.
    """

    def __init__(self) -> None:
        self._bound: dict[str, list[Var]] = {}  # innermost last
        self._order: list[str] = []
        self._names: set[str] = set()  # bound in the innermost scope

    def bind(self, var: Var) -> None:
        """Bring a variable into reach, unless the innermost scope has its name already."""
        if var.name in self._names:
            return
        self._names.add(var.name)
        self._order.append(var.name)
        self._bound.setdefault(var.name, []).append(var)

    def find(self, name: str) -> Var | None:
        """Return the variable that ``name`` means here, None if there is none."""
        found = self._bound.get(name)
        return found[-1] if found else None

    def names(self) -> list[str]:
        """Return the names in reach."""
        return [name for name, found in self._bound.items() if found]

    def open(self) -> Mark:
        """Open a scope; the result is for :meth:`close`."""
        mark = self.mark()
        self._names = set()
        return mark

    def mark(self) -> Mark:
        """Return the present state, for :meth:`close`, and open no scope."""
        return len(self._order), self._names

    def close(self, mark: Mark) -> None:
        """Return to the state that ``mark`` is of."""
        length, self._names = mark
        while len(self._order) > length:
            self._bound[self._order.pop()].pop()
