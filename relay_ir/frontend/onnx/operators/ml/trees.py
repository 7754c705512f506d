"""Trees of decisions as products: a leaf is reached where as many decisions on the way to it hold
as there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.operators.ml.classes import (
    both,
    chosen,
    labels_of,
    of_two,
    positive,
    transformed,
)
from relay2relax.relay_ir.frontend.onnx.tensors import array_of
from relay2relax.relay_ir.ir.expr import Expr

_DECISIONS = {
    "BRANCH_LEQ": "less_equal", "BRANCH_LT": "less", "BRANCH_GTE": "greater_equal", "BRANCH_GT": "greater",
    "BRANCH_EQ": "equal", "BRANCH_NEQ": "not_equal",
}  # fmt: skip
_MEMBER = "BRANCH_MEMBER"
# By the numbers of ``ai.onnx.ml`` 5.
_MODES = (*_DECISIONS, _MEMBER)
_JOINED = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
# A decision on the way to a leaf, and whether it holds there.
_Way = list[tuple[int, bool]]


@dataclass(frozen=True, slots=True)
class _Forest:
    """Decisions by number, and of each leaf its tree, the way to it, and what it gives to which
    target.
    """

    features: Sequence[int]
    limits: Sequence[float]
    modes: Sequence[str]
    missing: Sequence[int]
    members: Mapping[int, Sequence[float]]
    trees: Sequence[int]
    ways: Sequence[_Way]
    gives: Sequence[Sequence[tuple[int, float]]]

    def used(self) -> list[int]:
        """Return the decisions that are on some way."""
        return sorted({place for way in self.ways for place, _ in way})


def _numbers(at: Conversion, name: str) -> Array:
    """Return an attribute of numbers: floats, or a tensor of them."""
    stated = next((one for one in (f"{name}_as_tensor", name) if one in at.node.attrs), None)
    found = at.wanted(stated or name)
    return np.array(found, np.float32) if isinstance(found, (list, tuple)) else array_of(found, at.importer.folder)


def _by_nodes(at: Conversion, kind: str) -> _Forest:
    """Return the trees of older operators, whose leaves are nodes, and give to a ``kind``."""
    trees, nodes = at.wanted("nodes_treeids"), at.wanted("nodes_nodeids")
    places = {pair: place for place, pair in enumerate(zip(trees, nodes, strict=True))}
    modes, yes, no = (at.wanted(f"nodes_{one}") for one in ("modes", "truenodeids", "falsenodeids"))
    if not len(trees) == len(modes) == len(yes) == len(no):
        at.refuse("its lists of nodes have several lengths")
    children = {
        (tree, side[place]) for (tree, _), place in places.items() if modes[place] != "LEAF" for side in (yes, no)
    }
    found: dict[tuple[int, int], _Way] = {}
    stack: list[tuple[tuple[int, int], _Way]] = [(pair, []) for pair in places if pair not in children]
    while stack:
        pair, way = stack.pop()
        if pair not in places or len(way) > len(places):
            at.refuse(f"its tree {pair[0]} has no node {pair[1]}, or goes round")
        place = places[pair]
        if modes[place] == "LEAF":
            found[pair] = way
            continue
        stack += [((pair[0], yes[place]), [*way, (place, True)]), ((pair[0], no[place]), [*way, (place, False)])]
    gives: dict[tuple[int, int], list[tuple[int, float]]] = {pair: [] for pair in found}
    given = (at.wanted(f"{kind}_{one}") for one in ("treeids", "nodeids", "ids"))
    for tree, node, target, weight in zip(*given, _numbers(at, f"{kind}_weights").tolist(), strict=True):
        if (tree, node) not in gives:
            at.refuse(f"its tree {tree} has no leaf {node}")
        gives[tree, node].append((target, weight))
    missing = at.attr("nodes_missing_value_tracks_true") or [0] * len(modes)
    limits = _numbers(at, "nodes_values").tolist()
    ways, names = list(found.values()), [tree for tree, _ in found]
    return _Forest(at.wanted("nodes_featureids"), limits, modes, missing, {}, names, ways, list(gives.values()))


def _by_leaves(at: Conversion) -> _Forest:
    """Return the trees of ``ai.onnx.ml`` 5, which have lists of nodes and of leaves."""
    modes = [_MODES[one] if one < len(_MODES) else str(one) for one in _numbers(at, "nodes_modes").tolist()]
    sides = [
        list(zip(at.wanted(f"nodes_{side}nodeids"), at.wanted(f"nodes_{side}leafs"), strict=True))
        for side in ("true", "false")
    ]
    trees: list[int] = []
    ways: list[_Way] = []
    leaves: list[int] = []
    stack: list[tuple[int, int, bool, _Way]] = [
        (tree, root, False, []) for tree, root in enumerate(at.wanted("tree_roots"))
    ]
    targets, weights = at.wanted("leaf_targetids"), _numbers(at, "leaf_weights").tolist()
    while stack:
        tree, place, leaf, way = stack.pop()
        if not 0 <= place < len(targets if leaf else modes) or len(way) > len(modes):
            at.refuse(f"its tree {tree} has no {'leaf' if leaf else 'node'} {place}, or goes round")
        if leaf:
            trees.append(tree)
            ways.append(way)
            leaves.append(place)
            continue
        for side, holds in zip(sides, (True, False), strict=True):
            child, ends = side[place]
            stack.append((tree, child, bool(ends), [*way, (place, holds)]))
    members: dict[int, Sequence[float]] = {}
    if "membership_values" in at.node.attrs:
        values = _numbers(at, "membership_values")
        cuts = np.flatnonzero(np.isnan(values))
        sets = [part[~np.isnan(part)].tolist() for part in np.split(values, cuts)]
        members = dict(zip((place for place, mode in enumerate(modes) if mode == _MEMBER), sets, strict=False))
    missing = at.attr("nodes_missing_value_tracks_true") or [0] * len(modes)
    gives = [[(targets[one], weights[one])] for one in leaves]
    limits = _numbers(at, "nodes_splits").tolist()
    return _Forest(at.wanted("nodes_featureids"), limits, modes, missing, members, trees, ways, gives)


def _decided(at: Conversion, x: Expr, forest: _Forest, used: Sequence[int]) -> Expr:
    """Return whether each decision holds for each row, as numbers."""
    features = [forest.features[one] for one in used]
    if min(features) < 0 or max(features) >= at.shape(x)[1]:
        at.refuse(f"it asks for feature {max(features)} of {at.shape(x)[1]}")
    columns = at.call("take", x, at.const(features, "int64"), axis=1)
    limits = at.like([forest.limits[one] for one in used], x)
    made: Expr | None = None
    for mode in dict.fromkeys(forest.modes[one] for one in used):
        if mode == _MEMBER:
            held = _is_member(at, columns, [forest.members.get(one, ()) for one in used])
        elif mode in _DECISIONS:
            held = at.call(_DECISIONS[mode], columns, limits)
        else:
            at.refuse(f"it decides by {mode}")
        here = at.const([forest.modes[one] == mode for one in used], "bool")
        made = held if made is None else at.call("where", here, held, made)
    assert made is not None
    if any(forest.missing[one] for one in used):
        kept = at.const([bool(forest.missing[one]) for one in used], "bool")
        made = at.call("logical_or", made, at.call("logical_and", at.call("isnan", columns), kept))
    return at.cast(made, "float32")


def _is_member(at: Conversion, columns: Expr, sets: Sequence[Sequence[float]]) -> Expr:
    """Return whether each column is in its set."""
    # What is not a number is equal to nothing.
    table = np.full((len(sets), max(map(len, sets)) or 1), np.nan)
    for row, one in enumerate(sets):
        table[row, : len(one)] = one
    same = at.call("equal", at.unsqueeze(columns, [2]), at.like(table, columns))
    return at.call("any", same, axis=[2])


def _reached(at: Conversion, x: Expr, forest: _Forest) -> Expr:
    """Return for each row which leaves it reaches, as numbers."""
    used = forest.used()
    if not used:
        return at.call("ones", (at.shape(x)[0], len(forest.ways)), "float32")
    signs = np.zeros((len(forest.ways), len(used)), np.float32)
    needed = np.zeros(len(forest.ways), np.float32)
    columns = {one: place for place, one in enumerate(used)}
    for leaf, way in enumerate(forest.ways):
        for place, holds in way:
            signs[leaf, columns[place]] += 1 if holds else -1
            needed[leaf] += holds
    counted = at.call("nn.dense", _decided(at, x, forest, used), at.const(signs, "float32"), units=None)
    return at.cast(at.call("equal", counted, at.const(needed, "float32")), "float32")


def _given(at: Conversion, reached: Expr, forest: _Forest, targets: int, dtype: str, joined: str) -> Expr:
    """Return what the leaves that are reached give to each target."""
    trees = {tree: place for place, tree in enumerate(dict.fromkeys(forest.trees))}
    apart = joined in ("MIN", "MAX")
    weights = np.zeros((len(forest.ways), len(trees) if apart else 1, targets))
    present = np.zeros_like(weights)
    for leaf, (tree, gives) in enumerate(zip(forest.trees, forest.gives, strict=True)):
        for target, weight in gives:
            if not 0 <= target < targets:
                at.refuse(f"a leaf gives to target {target} of {targets}")
            weights[leaf, trees[tree] if apart else 0, target] += weight
            present[leaf, trees[tree] if apart else 0, target] = 1
    if joined == "AVERAGE":
        weights /= len(trees)

    def product(matrix: Array, of: str) -> Expr:
        turned = at.const(matrix.reshape(len(forest.ways), -1).T, of)
        return at.call("nn.dense", at.cast(reached, of), turned, units=None)

    made = product(weights, dtype)
    if not apart:
        return made
    rows = at.shape(made)[0]
    every, here = (at.reshape(one, [rows, len(trees), targets]) for one in (made, product(present, "float32")))
    some = at.call("greater", here, at.like(0, here))
    far = at.like(np.inf if joined == "MIN" else -np.inf, every)
    least = at.call(joined.lower(), at.call("where", some, every, far), axis=[1])
    return at.call("where", at.call("any", some, axis=[1]), least, at.like(0, least))


def _refuse_form(at: Conversion, joined: object, transform: object) -> NoReturn:
    at.refuse(f"its trees are joined by {joined}, and transformed by {transform}")


def _tree_regressor(at: Conversion) -> Expr:
    joined, transform = at.attr("aggregate_function", "SUM"), at.attr("post_transform", "NONE")
    if joined not in _JOINED or transform != "NONE":
        _refuse_form(at, joined, transform)
    wide = "nodes_values_as_tensor" in at.node.attrs and _numbers(at, "nodes_values").dtype == np.float64
    x, targets = at.cast(at.arg(), "float64" if wide else "float32"), int(at.attr("n_targets", 1))
    forest = _by_nodes(at, "target")
    made = _given(at, _reached(at, x, forest), forest, targets, "float32", joined)
    stated = any(one in at.node.attrs for one in ("base_values", "base_values_as_tensor"))
    base = _numbers(at, "base_values") if stated else np.zeros(targets)
    return at.call("add", made, at.const(base.astype(np.float32), "float32"))


def _tree_classifier(at: Conversion) -> tuple[Expr, Expr]:
    labels = labels_of(at, "classlabels_int64s")
    if labels is None or len(labels) < 2:
        at.refuse("it has fewer than two labels")
    wide = "nodes_values_as_tensor" in at.node.attrs and _numbers(at, "nodes_values").dtype == np.float64
    x, forest = at.cast(at.arg(), "float64" if wide else "float32"), _by_nodes(at, "class")
    reached, ids = _reached(at, x, forest), set(at.wanted("class_ids"))
    stated = any(one in at.node.attrs for one in ("base_values", "base_values_as_tensor"))
    base = _numbers(at, "base_values").astype(np.float32) if stated else np.zeros(1, np.float32)
    if len(labels) == 2 and len(ids) == 1:
        if ids != {0} or len(base) != 1:
            at.refuse("its leaves give to the second of two classes alone, or it has two base values")
        score = at.call("add", _given(at, reached, forest, 1, "float32", "SUM"), at.const(base, "float32"))
        shares = all(weight >= 0 for gives in forest.gives for _, weight in gives)
        second = positive(at, score, 0.5 if shares else 0.0)
        return of_two(at, second, labels), both(at, score, complement=shares)
    scores = at.call("add", _given(at, reached, forest, len(labels), "float32", "SUM"), at.const(base, "float32"))
    best = scores
    if len(labels) > 2 and not stated:
        # A class to which no leaf gives anything is not chosen.
        counts = [[1.0 if any(to == one for to, _ in gives) else 0.0 for gives in forest.gives]
                  for one in range(len(labels))]  # fmt: skip
        some = at.call("nn.dense", reached, at.const(counts, "float32"), units=None)
        best = at.call("where", at.call("greater", some, at.like(0, some)), scores, at.like(-np.inf, scores))
    return chosen(at, best, labels), transformed(at, scores)


def _tree_ensemble(at: Conversion) -> Expr:
    joined, transform = at.attr("aggregate_function", 1), at.attr("post_transform", 0)
    if not 0 <= joined < len(_JOINED) or transform:
        _refuse_form(at, joined, _TRANSFORMS[transform] if 0 <= transform < len(_TRANSFORMS) else transform)
    x, forest = at.arg(), _by_leaves(at)
    return _given(at, _reached(at, x, forest), forest, int(at.wanted("n_targets")), at.dtype(x), _JOINED[joined])


_TABLE: dict[str, Convert] = {
    "TreeEnsembleRegressor": _tree_regressor,
    "TreeEnsembleClassifier": _tree_classifier,
    "TreeEnsemble": _tree_ensemble,
}
OPERATORS: dict[str, Convert] = {f"ai.onnx.ml.{name}": convert for name, convert in _TABLE.items()}
