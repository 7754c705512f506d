"""The names of a script: what they stand for in nested scopes, innermost last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from relay2relax.core.script_source import Poison, ScriptSource


class Scopes:
    """What names stand for.

    ``outermost`` is the scope around all others. ``outside`` is asked for names that no scope
    defines: what they mean in the program around the script.
    """

    def __init__(self, source: ScriptSource, outside: Mapping[str, object], outermost: Mapping[str, object]) -> None:
        self.source = source
        self.outside = outside
        self.levels: list[dict[str, object]] = [dict(outermost)]

    def define(self, name: str, item: object) -> None:
        """Let ``name`` stand for ``item`` in the innermost scope."""
        self.levels[-1][name] = item

    def find(self, name: str) -> object:
        """Return what ``name`` stands for, None where it is not defined."""
        for level in reversed(self.levels):
            if name in level:
                return level[name]
        return self.outside.get(name)

    def lookup(self, name: str) -> object:
        """Return what ``name`` stands for, None where it is not defined.

        Raises FollowsError for a mistaken one.
        """
        found = self.find(name)
        if isinstance(found, Poison):
            raise self.source.follows(name)
        return found

    def names(self) -> list[str]:
        """Return the names that can be seen."""
        return [name for level in self.levels for name in level]

    @contextmanager
    def inner(self, level: dict[str, object] | None = None) -> Iterator[dict[str, object]]:
        """Open a scope that begins with ``level``; its names are forgotten at its end."""
        opened = {} if level is None else level
        self.levels.append(opened)
        try:
            yield opened
        finally:
            self.levels.pop()
