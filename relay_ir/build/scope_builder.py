"""Programs written down statement by statement.

sb = ScopeBuilder()
with sb.if_scope(condition):
    one = sb.let("one", relay_ir.const(1.0))
    sb.ret(one)
with sb.else_scope():
    sb.ret(x)
body = sb.get()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from relay2relax.relay_ir.ir.expr import BuildError, Expr, If, Let, Var, as_expr


@dataclass(slots=True)
class _Scope:
    bindings: list[tuple[Var, Expr]] = field(default_factory=list)
    result: Expr | None = None
    # A finished ``if`` that waits for its ``else``.
    branch: tuple[Expr, Expr] | None = None


class ScopeBuilder:
    """Collects lets and a result; :meth:`get` returns the expression that they make."""

    def __init__(self) -> None:
        self._scopes = [_Scope()]

    def let(self, var: Var | str, value: object) -> Var:
        """Bind ``value`` to ``var`` (a name makes a new variable, whose type is left to
        inference).
        """
        scope = self._open()
        bound = Var(var) if isinstance(var, str) else var
        scope.bindings.append((bound, as_expr(value)))
        return bound

    def ret(self, value: object) -> None:
        """State the result of the current scope, its last statement."""
        self._open().result = as_expr(value)

    @contextmanager
    def if_scope(self, condition: object) -> Iterator[None]:
        """Open the scope of what happens if ``condition`` is true.

        An :meth:`else_scope` must follow.
        """
        outer = self._open()
        self._scopes.append(_Scope())
        yield
        outer.branch = as_expr(condition), self._close()

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """Open the scope of what happens otherwise.

        The ``if`` is then the result of the scope around it.
        """
        outer = self._scopes[-1]
        if outer.branch is None:
            raise BuildError("else_scope has no if_scope before it")
        condition, then = outer.branch
        self._scopes.append(_Scope())
        yield
        outer.result, outer.branch = If(condition, then, self._close()), None

    def get(self) -> Expr:
        """Return what was built; raises BuildError where a scope has no result."""
        if len(self._scopes) > 1:
            raise BuildError("get is called within an open scope")
        return self._body(self._scopes[0])

    def _open(self) -> _Scope:
        scope = self._scopes[-1]
        _require_closed(scope)
        if scope.result is not None:
            raise BuildError("the scope already has its result")
        return scope

    def _close(self) -> Expr:
        return self._body(self._scopes.pop())

    def _body(self, scope: _Scope) -> Expr:
        _require_closed(scope)
        if scope.result is None:
            raise BuildError("the scope has no result: call ret")
        body = scope.result
        for var, value in reversed(scope.bindings):
            body = Let(var, value, body)
        return body


def _require_closed(scope: _Scope) -> None:
    if scope.branch is not None:
        raise BuildError("else_scope has to follow if_scope")
