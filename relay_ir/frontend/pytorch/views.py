"""Names of a TorchScript graph that share memory, so that what is written into one is seen in the
others.

A view is followed: what is written into it is put into what it is a view of, and other views are
made anew where they are read. Where it is not known whether memory is shared, or how, a write is
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from relay2relax.relay_ir.frontend.pytorch.context import Conversion
from relay2relax.relay_ir.frontend.pytorch.operators import aten_operators
from relay2relax.relay_ir.frontend.pytorch.torchscript import Node
from relay2relax.relay_ir.ir.expr import Expr

# Returns the whole in which a part, a view of it, has another value.
PutBack: TypeAlias = Callable[[Conversion, Expr], Expr]


@dataclass(eq=False)
class Views:
    """What is known of names that share memory.

    ``origins``: views by name, with what they are views of and the node that makes them.
    ``unfollowed`` are names whose sharing is not followed. ``stale`` views are made anew before
    they are read; ``_fresh`` has the others by what they are views of.
    """

    origins: dict[str, tuple[str, Node]] = field(default_factory=dict)
    unfollowed: set[str] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)
    _fresh: dict[str, dict[str, None]] = field(default_factory=dict)

    def add(self, name: str, whole: str, node: Node) -> None:
        """Note that ``node`` makes a view of ``whole``."""
        self.renew(name)
        if whole in self.unfollowed:
            self.unfollowed.add(name)
        self.origins[name] = (whole, node)
        self.refreshed(name)

    def refreshed(self, name: str) -> None:
        """Note that a view has the value of what it is a view of."""
        self.stale.discard(name)
        self._fresh.setdefault(self.origins[name][0], {})[name] = None

    def renew(self, name: str) -> None:
        """Note that a name stands for something else now, as it does in each turn of a loop."""
        self.stale.discard(name)
        self._fresh.pop(name, None)
        if name in self.origins:
            self._fresh.get(self.origins.pop(name)[0], {}).pop(name, None)

    def above(self, name: str) -> list[str]:
        """Return a name, and what it is a view of, up to what is none."""
        found = [name]
        while found[-1] in self.origins:
            found.append(self.origins[found[-1]][0])
        return found

    def below(self, path: Iterable[str]) -> list[str]:
        """Return the views of names, and views of those, but for the names themselves."""
        kept = set(path)
        found: list[str] = []
        stack = list(kept)
        while stack:
            views = [one for one in self._fresh.get(stack.pop(), ()) if one not in kept]
            found += views
            stack += views
        return found

    def written(self, path: Iterable[str]) -> None:
        """Note that the names of a path have new values; all other views of them are stale."""
        for view in self.below(path):
            self._fresh[self.origins[view][0]].pop(view)
            self.stale.add(view)


def _reshaped(at: Conversion, part: Expr) -> Expr:
    return at.call("reshape", part, list(at.shape(at.tensor(0))))


def _turned_back(at: Conversion, part: Expr) -> Expr:
    return _converted("aten::transpose" if len(at.args) > 1 else "aten::t", at.with_args([part, *at.args[1:]]))


def _permuted_back(at: Conversion, part: Expr) -> Expr:
    axes = np.array(at.sizes(1)) % max(at.rank(part), 1)
    return at.call("transpose", part, axes=[int(one) for one in np.argsort(axes)])


def _into_slice(at: Conversion, part: Expr) -> Expr:
    return _converted("aten::slice_scatter", at.with_args([at.args[0], part, *at.args[1:]]))


def _into_narrow(at: Conversion, part: Expr) -> Expr:
    start = at.integer(2) % max(at.extent(at.tensor(0), at.integer(1)), 1)
    given = [at.args[0], part, at.args[1], start, start + at.integer(3), 1]
    return _converted("aten::slice_scatter", at.with_args(given))


def _into_place(at: Conversion, part: Expr) -> Expr:
    return _converted("aten::select_scatter", at.with_args([at.args[0], part, *at.args[1:]]))


def _itself(at: Conversion, part: Expr) -> Expr:
    return part


def _converted(kind: str, at: Conversion) -> Expr:
    made = aten_operators()[kind].convert(at)
    return at.with_args([made]).tensor(0)


def is_itself(kind: str) -> bool:
    """Whether an operator gives the tensor that it is given, which it may have changed."""
    return PUT_BACK.get(kind) is _itself or writes(kind)


# What `|=` and its kin are called, and which operators they do in place.
LOGIC = {f"aten::__i{name}__": f"aten::__{name}__" for name in ("and", "or", "xor", "lshift", "rshift")}


def writes(kind: str) -> bool:
    """Whether an operator writes into its first argument."""
    return kind in LOGIC or (kind.endswith("_") and not kind.endswith("__"))


# Operators whose result always shares the memory of what they are given, and how it is put back.
PUT_BACK: Mapping[str, PutBack] = {
    "aten::view": _reshaped, "aten::squeeze": _reshaped, "aten::unsqueeze": _reshaped, "aten::t": _turned_back,
    "aten::transpose": _turned_back, "aten::permute": _permuted_back, "aten::slice": _into_slice,
    "aten::select": _into_place, "aten::narrow": _into_narrow, "aten::detach": _itself, "aten::alias": _itself,
    "aten::to": _itself, "prim::unchecked_cast": _itself,
}  # fmt: skip
