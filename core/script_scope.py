"""The names of a script: what they stand for in nested scopes, innermost last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relay2relax.core.script_source import Poison, ScriptSource


class Names:
    """What the names of ``source`` stand for.

    Readers of tensor programs and of Relax derive from it.
    """

    def __init__(self, source: ScriptSource) -> None:
        self.source = source
        self.scopes: list[dict[str, Any]] = [{}]

    def define(self, name: str, item: Any) -> None:
        """Let ``name`` stand for ``item`` in the innermost scope."""
        self.scopes[-1][name] = item

    def find(self, name: str) -> Any:
        """Return what ``name`` stands for, None where it is not defined."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return self.source.values.get(name)

    def lookup(self, name: str) -> Any:
        """Return what ``name`` stands for, None where it is not defined.

        Raises FollowsError for a mistaken one.
        """
        found = self.find(name)
        if isinstance(found, Poison):
            raise self.source.follows(name)
        return found

    def names(self) -> list[str]:
        """Return the names that can be seen."""
        return [name for scope in self.scopes for name in scope]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Open a scope, whose names are forgotten at its end."""
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()
