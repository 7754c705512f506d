"""Spans that say where nodes stand in the order of their evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.core.source import Span
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import Constructor, Expr, Function, GlobalVar, Let, Match, Op, Var, children
from relay2relax.relay_ir.ir.functor import ExprMutator
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import binders
from relay2relax.relay_ir.transform.graph_normal_form import recursive_lets
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions


@dataclass(frozen=True, slots=True)
class CapturePostDfsIndexInSpans(Pass[IRModule]):
    """Let the span of each node say its place: ``index:LINE:COLUMN``.

    The line is the node's number in post-order, the column that of the node which everything made
    of it leads to, its post-dominator, -1 where there is none. Global variables, operators and
    constructors keep what they have.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with such spans."""
        return map_functions(mod, lambda one: one if left_alone(one) else _numbered(one))


def _numbered(root: Function) -> Function:
    recursive = recursive_lets(root)
    roots: tuple[Expr, ...] = (root,)
    order = list(post_order(roots, lambda node: _below(node, recursive)))
    index = {node: place for place, node in enumerate(order)}
    dominators = _dominators(order, index, recursive)
    spans = {
        node: Span("index", place, dominator, place, dominator)
        for node, place, dominator in zip(order, range(len(order)), dominators, strict=True)
    }
    result = _Spanned(spans).visit(root)
    assert isinstance(result, Function)
    return result


def _below(node: Expr, recursive: set[Var]) -> Sequence[Expr]:
    """Return what comes before ``node``: its parts and what it binds."""
    match node:
        case Let(var, value, body):
            return value, var, body
        case Function() | Match():
            return *binders(node), *children(node)
    # A function that calls itself is bound where its let is.
    return [part for part in children(node) if part not in recursive]


def _dominators(order: Sequence[Expr], index: dict[Expr, int], recursive: set[Var]) -> list[int]:
    """Return the number of each node's post-dominator, -1 where there is none."""
    users: list[list[int]] = [[] for _ in order]
    for place, node in enumerate(order):
        if isinstance(node, Let):
            users[index[node.value]].append(index[node.var])
            users[index[node.body]].append(place)
            continue
        for part in children(node):
            if part not in recursive:
                users[index[part]].append(place)
    parents, depths = [-1] * len(order), [1] * len(order)

    def common(first: int, second: int) -> int:
        while first != second and -1 not in (first, second):
            near, far = depths[first], depths[second]
            first = parents[first] if near >= far else first
            second = parents[second] if far >= near else second
        return first if first == second else -1

    for place in range(len(order) - 2, -1, -1):
        found = users[place]
        parent = found[0] if found else -1
        for user in found[1:]:
            parent = common(parent, user)
        parents[place] = parent
        depths[place] = depths[parent] + 1 if parent >= 0 else 1
    return parents


class _Spanned(ExprMutator):
    """Gives nodes the spans of a table."""

    def __init__(self, spans: dict[Expr, Span]) -> None:
        super().__init__()
        self.spans = spans

    def visit_default(self, expr: Expr) -> Expr:
        made = super().visit_default(expr)
        if isinstance(made, (Op, Constructor, GlobalVar)):
            return made
        return replace(made, span=self.spans[expr])

    def visit_var(self, var: Var) -> Expr:
        return replace(var, span=self.spans[var])
