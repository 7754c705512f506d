"""Something else in place of what matches a pattern, again and again until nothing changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from relay2relax.core.errors import mistake
from relay2relax.core.errors.extensions import ask, returned
from relay2relax.core.errors.table import patterns as kinds
from relay2relax.core.matching.patterns import DFPattern, unfit
from relay2relax.core.matching.view import PatternError
from relay2relax.core.passes import note_rewritten
from relay2relax.core.source import SourceRange, SourceText
from relay2relax.relay_ir.dataflow_pattern.groups import Group, Grouper
from relay2relax.relay_ir.dataflow_pattern.view import RelayView
from relay2relax.relay_ir.ir.equality import structural_equal
from relay2relax.relay_ir.ir.expr import Expr, RelayExpr, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.ir.types import Type

# TVM ends rewriting after so many rounds. A program that doubles in each would not fit anywhere by
# then: one that has grown by so many times, and by so many nodes besides, does not come to an end;
# nor does one that has grown by half a million nodes.
ROUNDS = 100
GROWTH = 20
NODES = 5_000
MOST = 500_000


class DFPatternCallback:
    """What to put in place of what ``pattern`` matches; a subclass says both.

    With ``require_type`` the types of the program are inferred before each round, so that
    ``type_of`` knows them. With ``rewrite_once`` the callback rests after the first round in which
    it changed anything.
    """

    pattern: DFPattern
    # What holds where a subclass does not call __init__.
    require_type = False
    rewrite_once = False
    _view: RelayView | None = None

    def __init__(self, require_type: bool = False, rewrite_once: bool = False) -> None:
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: Expr) -> Expr:
        """Return ``expr`` with what this makes of each part that matches."""
        return rewrite(self, expr)

    def callback(self, pre: Expr, post: Expr, node_map: Mapping[DFPattern, Sequence[Expr]]) -> Expr:
        """Return what takes the place of a part that matched.

        ``pre`` is its result as it was, ``post`` the same with what it is computed from already
        rewritten. ``node_map`` holds, rewritten, the nodes that each part of the pattern matched.
        """
        raise NotImplementedError(f"{type(self).__name__} has no callback")

    def place(self, node: Expr) -> tuple[SourceRange | None, SourceText | None]:
        """Return where a node of the program before this round stands in its text, if known."""
        mod = None if self._view is None else self._view.mod
        return (None, None) if mod is None else (mod.locations.get(node), mod.source)

    def type_of(self, node: Expr) -> Type:
        """Return the type of a node of the program before this round, such as ``pre``.

        Raises TypeInferenceError where it has none.
        """
        assert self._view is not None
        return self._view.type_of(node)


def rewrite(
    callbacks: DFPatternCallback | Sequence[DFPatternCallback], expr: Expr, mod: IRModule | None = None
) -> Expr:
    """Return ``expr`` rewritten by the callbacks in turn, until none of them changes anything.

    ``mod`` holds the functions and data types that ``expr`` refers to. Raises PatternError where it
    does not come to an end, ExtensionError where a callback raises or returns no expression.
    Semantics: TVM's ``PatternRewriter``.
    """
    given = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(_callbacks(callbacks))
    if not isinstance(expr, RelayExpr):
        raise unfit("what is rewritten", "an expression", expr)
    resting: set[DFPatternCallback] = set()
    grouper: Grouper | None = None
    rounds, size, bound = 0, 0, 0
    while True:
        before = expr
        for callback in given:
            if callback in resting:
                continue
            rounds += 1
            if grouper is None or grouper.view.expr is not expr:
                grouper = Grouper(RelayView(expr, mod))
                size = len(grouper.flow.order)
                bound = bound or min(GROWTH * size + NODES, size + MOST)
            if callback.require_type:
                grouper.view.type_of(expr)
            after = _round(callback, grouper)
            if callback.rewrite_once and not _same(expr, after):
                resting.add(callback)
            expr = after
        if _same(before, expr):
            return expr
        if rounds >= ROUNDS or size > bound:
            raise PatternError(mistake(kinds.ENDLESS, passes=rounds))


def _callbacks(given: object) -> Iterable[DFPatternCallback]:
    """Return callbacks; raises PatternError where it is something else."""
    if not isinstance(given, Iterable):
        raise unfit("what rewrites", "a callback, or several", given)
    for one in given:
        if not isinstance(one, DFPatternCallback):
            raise unfit("what rewrites", "a callback", one)
        yield one


def _same(one: Expr, other: Expr) -> bool:
    return one is other or structural_equal(one, other, map_free_vars=True)


def _round(callback: DFPatternCallback, grouper: Grouper) -> Expr:
    """Return the program with each part that matches rewritten once."""
    groups = grouper.groups(getattr(callback, "pattern", None))  # type: ignore[arg-type]
    root = grouper.view.expr
    if not groups:
        return root
    callback._view = grouper.view
    done: dict[Expr, Expr] = {}
    for node in nodes(root):
        done[node] = with_children(node, [done[child] for child in children(node)])
        if node in groups:
            done[node] = _replaced(callback, groups[node], done)
    note_rewritten(done)
    return done[root]


def _replaced(callback: DFPatternCallback, group: Group, done: Mapping[Expr, Expr]) -> Expr:
    found = {part: [done.get(node, node) for node in at] for part, at in group.found.items()}
    what = f"{type(callback).__name__}.callback"
    where, source = callback.place(group.root)
    result: object = ask(callback.callback, group.root, done[group.root], found, what=what, where=where, source=source)
    if not isinstance(result, RelayExpr):
        raise returned(what, "an expression", result, where, source)
    return cast(Expr, result)
