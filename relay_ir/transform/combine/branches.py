"""Branches that begin with the same operator on the same input, and how they become one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

from relay2relax.core.walk import post_order
from relay2relax.ops.registry.table import fusion_of
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Op, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.relay_ir.transform.infrastructure import declared, left_alone, map_functions
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import static

# A product, and what is computed of it, of it alone and element by element.
Branch: TypeAlias = list[Call]
# These speak of axes or extents, which the larger product has otherwise.
_PLACED = frozenset({"broadcast_to", "broadcast_to_like", "dyn.broadcast_to", "expand_dims", "repeat", "tile"})


class Combiner(ABC):
    """How branches of one operator are combined."""

    def __init__(self, types: TypeTable) -> None:
        self.types = types

    name: str

    def supports(self, call: Call) -> bool:
        """Whether a branch may begin with ``call``."""
        return True

    @abstractmethod
    def same_kind(self, one: Call, other: Call) -> bool:
        """Whether branches that begin with these may be combined."""

    @abstractmethod
    def combined(self, calls: Sequence[Call]) -> Call:
        """Return the larger product of the branches' first calls."""

    def follows(self, call: Call) -> bool:
        """Whether ``call``, which is made of a branch element by element, may be a part of it."""
        assert isinstance(call.op, Op)
        return call.op.name not in _PLACED

    @abstractmethod
    def fits(self, one: Branch, other: Branch, depth: int, place: int) -> bool:
        """Whether the arguments at ``place`` of the branches' calls at ``depth`` may be
        combined.
        """

    @abstractmethod
    def combined_argument(self, branches: Sequence[Branch], depth: int, place: int) -> Expr:
        """Return the arguments at ``place`` of the branches' calls at ``depth`` as one."""

    @abstractmethod
    def outputs(self, whole: Expr, branches: Sequence[Branch], depth: int) -> list[Expr]:
        """Return each branch's share of ``whole``, which stands for its call number ``depth``."""

    def tensor(self, expr: Expr) -> TensorType:
        """Return the type of ``expr``, which is a tensor."""
        found = self.types.tensor(expr)
        assert found is not None
        return found

    def extent(self, expr: Expr, axis: int) -> int | None:
        """Return an extent of ``expr``, None where it is unknown."""
        return static(self.tensor(expr).shape[axis])


def combine_parallel(mod: IRModule, combiner: type[Combiner], min_num_branches: int) -> IRModule:
    """Return ``mod`` with groups of at least so many branches combined."""
    mod = declared(mod)
    types = TypeTable.inferred(mod)

    def change(root: Function) -> Function:
        if left_alone(root):
            return root
        one = combiner(types)
        groups = [group for group in _groups(root, one) if len(group) >= min_num_branches]
        return _with_shares(root, dict(share for group in groups for share in _shares(group, one)))

    return map_functions(mod, change)


def _groups(root: Function, one: Combiner) -> list[list[Branch]]:
    users: dict[Expr, list[Call]] = {}
    inputs: dict[Expr, None] = {}
    for node in nodes(root):
        if not isinstance(node, Call):
            continue
        begins = isinstance(node.op, Op) and node.op.name == one.name and one.supports(node)
        if begins:
            inputs[node.args[0]] = None
        # As in TVM: what a product is given beside its input does not count as used by it.
        for arg in node.args[:1] if begins else node.args:
            users.setdefault(arg, []).append(node)
    groups: list[list[Branch]] = []
    for shared in inputs:
        found: list[list[Branch]] = []
        for call in users[shared]:
            if not isinstance(call.op, Op) or call.op.name != one.name or call.args[0] is not shared:
                continue
            branch = _branch(call, users, one)
            group = next((group for group in found if one.same_kind(call, group[0][0])), None)
            if group is None:
                found.append([branch])
            else:
                group.append(branch)
        groups += found
    return groups


def _branch(first: Call, users: dict[Expr, list[Call]], one: Combiner) -> Branch:
    branch = [first]
    while len(users.get(branch[-1], ())) == 1:
        (call,) = users[branch[-1]]
        simple = isinstance(call.op, Op) and fusion_of(call.op.name).pattern <= OpPattern.BROADCAST
        if not simple or not one.follows(call):
            break
        branch.append(call)
    return branch


def _shares(group: list[Branch], one: Combiner) -> list[tuple[Expr, Expr]]:
    whole = one.combined([branch[0] for branch in group])
    depth = 1
    while depth < min(map(len, group)):
        calls = [branch[depth] for branch in group]
        parent = next(place for place, arg in enumerate(calls[0].args) if arg is group[0][depth - 1])
        if not all(_alike(group[0], branch, depth, parent, one) for branch in group[1:]):
            break
        args = [
            whole if place == parent else one.combined_argument(group, depth, place)
            for place in range(len(calls[0].args))
        ]
        whole = Call(calls[0].op, tuple(args), calls[0].attrs)
        depth += 1
    ends = [branch[depth - 1] for branch in group]
    return list(zip(ends, one.outputs(whole, group, depth - 1), strict=True))


def _alike(first: Branch, branch: Branch, depth: int, parent: int, one: Combiner) -> bool:
    """Whether the call of ``branch`` at ``depth`` is like that of the first branch."""
    model, call = first[depth], branch[depth]
    if call.op != model.op or call.attrs != model.attrs or len(call.args) != len(model.args):
        return False
    if call.args[parent] is not branch[depth - 1]:
        return False
    return all(place == parent or one.fits(first, branch, depth, place) for place in range(len(call.args)))


def _with_shares(root: Function, shares: dict[Expr, Expr]) -> Function:
    """Return ``root`` with the keys of ``shares`` replaced, also within what replaces others."""
    if not shares:
        return root
    roots: tuple[Expr, ...] = (root,)
    done: dict[Expr, Expr] = {}
    for node in post_order(roots, lambda one: children(shares.get(one, one))):
        new = shares.get(node, node)
        done[node] = with_children(new, [done[child] for child in children(new)])
    result = done[root]
    assert isinstance(result, Function)
    return result
