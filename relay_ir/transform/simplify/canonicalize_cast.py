"""Casts to wider types, one for each user, so that fusion need not keep the wide value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.dtype import bits
from relay2relax.core.passes import Pass
from relay2relax.ops.registry.table import fusion_of
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Op, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import with_children
from relay2relax.relay_ir.transform.infrastructure import declared, left_alone, map_functions
from relay2relax.relay_ir.transform.parts import is_call
from relay2relax.tir.analysis.pattern import OpPattern


@dataclass(frozen=True, slots=True)
class CanonicalizeCast(Pass[IRModule]):
    """Give each element-wise or broadcasting user of a shared widening ``cast`` a cast of its own.

    Each user can then be fused with its cast, and what crosses between kernels is narrow.
    """

    opt_level: ClassVar[int] = 3

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with such casts copied; infers types where ``mod`` has none."""
        mod = declared(mod)
        types = TypeTable.inferred(mod)
        return map_functions(mod, lambda one: one if left_alone(one) else _unshared(one, types))


def _unshared(root: Function, types: TypeTable) -> Function:
    uses: Counter[Expr] = Counter()
    copied: dict[tuple[Expr, int], bool] = {}
    done: dict[Expr, Expr] = {}
    for node, place in _visited(root):
        if place is None:
            given = [
                replace(done[part]) if copied.get((node, index)) else done[part]
                for index, part in enumerate(children(node))
            ]
            done[node] = with_children(node, given)
            continue
        part = children(node)[place]
        if _fusible(node) and _widens(part, types):
            uses[part] += 1
            copied[node, place] = uses[part] > 1
    result = done[root]
    assert isinstance(result, Function)
    return result


def _visited(root: Expr) -> Iterator[tuple[Expr, int | None]]:
    """Yield each (node, place) when the part at that place has been visited, and (node, None) when
    the node is complete.

    The first user in this order keeps what is shared.
    """
    seen: set[Expr] = {root}
    stack = [(root, 0)]
    while stack:
        node, place = stack.pop()
        parts = children(node)
        if place > 0:
            yield node, place - 1
        if place == len(parts):
            yield node, None
            continue
        stack.append((node, place + 1))
        if parts[place] not in seen:
            seen.add(parts[place])
            stack.append((parts[place], 0))


def _fusible(node: Expr) -> bool:
    return isinstance(node, Call) and isinstance(node.op, Op) and fusion_of(node.op.name).pattern <= OpPattern.BROADCAST


def _widens(node: Expr, types: TypeTable) -> bool:
    if not isinstance(node, Call) or not is_call(node, "cast"):
        return False
    before = types.tensor(node.args[0])
    return before is not None and bits(before.dtype) < bits(node.attrs.dtype)
