"""Neighbouring regions for one external compiler as one region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass, note_rewritten
from relay2relax.relay_ir.analysis.scopes import Scope, Scopes
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions
from relay2relax.relay_ir.transform.partition.annotations import BEGIN, END, annotation, compiler, operand

# These belong to no region: whoever mentions them shares them.
_SHARED = (Op, GlobalVar, Constructor, Constant)
_COMPUTED = (Call, Tuple, TupleGetItem, RefCreate, RefRead, RefWrite)


@dataclass(frozen=True, slots=True)
class MergeCompilerRegions(Pass[IRModule]):
    """Join annotated regions of one compiler where one gives a value to the other.

    The annotations between them are left out.

    Two regions stay apart where a value goes from the first to the second through a region of
    another compiler as well, for neither could then be computed at once. So do regions of which
    one is computed only in a branch that calls functions: TVM joins them, and what another branch
    shares with it then calls without end.

    Raises UnsupportedError where a region takes a value that is not annotated. TVM 0.18
    src/relay/transforms/merge_compiler_regions.cc.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with fewer regions."""
        return map_functions(mod, lambda one: one if left_alone(one) else _Merging(one).rewritten())


@dataclass(eq=False, slots=True)
class _Region:
    """A region; ``within`` is the one that it became a part of.

    ``inputs`` are its annotations that something goes in by, ``apart`` regions that it cannot be
    joined with.
    """

    compiler: str
    inputs: list[Expr] = field(default_factory=list)
    apart: set[_Region] = field(default_factory=set)
    within: _Region | None = None

    def whole(self) -> _Region:
        """Return the region that this one is a part of, itself where it is none."""
        found = self
        while found.within is not None:
            found = found.within
        region = self
        while region.within is not None:
            region.within, region = found, region.within
        return found


class _Branches:
    """Where the nodes of a function have to be computed: in its body, or in a branch or an arm that
    calls functions, which may call this one again.
    """

    def __init__(self, root: Function) -> None:
        scopes = Scopes(root)
        self.home = scopes.home
        arms = {arm for node, opened in scopes.inner.items() if isinstance(node, (If, Match)) for arm in opened}
        calls = (node for node in self.home if isinstance(node, Call) and not isinstance(node.op, (Op, Constructor)))
        calling: set[Scope] = set()
        for call in calls:
            scope: Scope | None = self.home[call]
            while scope is not None and scope not in calling:
                calling.add(scope)
                scope = scope.parent
        # Of scopes, those around them that stand alone.
        self.alone = {scope: scope for scope in arms & calling}

    def of(self, node: Expr) -> Scope:
        """Return the scope that ``node`` has to be computed in."""
        scope, passed = self.home[node], list[Scope]()
        while scope not in self.alone and scope.parent is not None:
            passed.append(scope)
            scope = scope.parent
        found = self.alone.get(scope, scope)
        self.alone.update(dict.fromkeys(passed, found))
        return found


class _Merging:
    """One function."""

    def __init__(self, root: Function) -> None:
        self.root = root
        self.order = list(nodes(root))
        self.regions: dict[Expr, _Region] = {}
        self.branches = _Branches(root)
        self.done: set[_Region] = set()
        self.entered: set[_Region] = set()
        for node in self.order:
            self._enter(node)

    def region(self, node: Expr) -> _Region | None:
        found = self.regions.get(node)
        return None if found is None else found.whole()

    def rewritten(self) -> Function:
        """Return the function, joined regions without annotations between them."""
        for node in self.order:
            if annotation(node) == END:
                self._merge(node)
        made: dict[Expr, Expr] = {}
        for node in self.order:
            made[node] = with_children(node, [made[child] for child in children(node)])
            between = annotation(node) == BEGIN and annotation(operand(node)) == END
            if between and self.region(node) is self.region(operand(node)):
                made[node] = operand(made[operand(node)])
        note_rewritten(made)
        result = made[self.root]
        assert isinstance(result, Function)
        return result

    # Which region each node is in.

    def _enter(self, node: Expr) -> None:
        name = annotation(node)
        if name == BEGIN:
            self.regions[node] = _Region(compiler(node), [node])
        elif name == END:
            ended = operand(node)
            # A call of constants, or of nothing, begins where it ends.
            found = self.region(ended) or (_Region(compiler(node)) if isinstance(ended, _COMPUTED) else None)
            if found is None or found.compiler != compiler(node):
                raise UnsupportedError(f"a region for {compiler(node)} ends, and none begins before")
            self.regions[node] = self.regions[ended] = found
        elif isinstance(node, _COMPUTED):
            self._join_operands(node)

    def _join_operands(self, node: Expr) -> None:
        """Put ``node`` into the region of its operands, which becomes one."""
        parts = node.args if isinstance(node, Call) else children(node)
        given = [part for part in parts if annotation(part) != END and not isinstance(part, _SHARED)]
        found = [self.region(part) for part in given]
        first = next((one for one in found if one is not None), None)
        if first is None:
            return
        for one in found:
            if one is None:
                raise UnsupportedError(f"a region for {first.compiler} takes a value that is not annotated")
            self._absorb(one, first)
        self.regions[node] = first

    def _absorb(self, part: _Region, whole: _Region) -> None:
        """Make ``part`` a part of ``whole``; what goes between them is no input any more."""
        if part is whole:
            return
        whole.inputs += part.inputs
        whole.inputs = [one for one in whole.inputs if self.region(operand(one)) is not part]
        part.within = whole

    # Which regions become one.

    def _merge(self, end: Expr) -> None:
        """Join the region that ``end`` ends with those before it, which are joined first."""
        start = self.region(end)
        assert start is not None
        ahead = [start]
        while ahead:
            region = ahead[-1].whole()
            if region in self.done:
                ahead.pop()
            elif region not in self.entered:
                self.entered.add(region)
                before = [self.region(operand(one)) for one in region.inputs]
                ahead += [one for one in reversed(before) if one is not None and one not in self.entered]
            else:
                ahead.pop()
                self._join_with_those_before(region)
                self.done.add(region)

    def _join_with_those_before(self, region: _Region) -> None:
        direct: dict[_Region, bool] = {}
        related: dict[_Region, None] = {}
        for one in region.inputs:
            found = self.region(operand(one))
            if found is not None:
                # Each branch has an end of its own for what both need.
                same = self.branches.of(one) is self.branches.of(operand(operand(one)))
                direct[found], related[found] = same and direct.get(found, True), None
            else:
                related.update(dict.fromkeys(self._of_branches(operand(one))))
        for other in related:
            region.apart |= {one.whole() for one in other.apart}
        for other, same in direct.items():
            if other.compiler != region.compiler or not same:
                region.apart.add(other)
            elif other not in {one.whole() for one in region.apart}:
                self._absorb(other, region)

    def _of_branches(self, node: Expr) -> Iterator[_Region]:
        """Yield the regions of a condition and of the branches behind it."""
        ahead = [node]
        while ahead:
            match ahead.pop():
                case If() as choice:
                    for part in children(choice):
                        found = self.region(part)
                        if found is None:
                            ahead.append(part)
                        else:
                            yield found
                case _:
                    pass
