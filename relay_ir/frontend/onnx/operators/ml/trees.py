"""Trees of decisions as products: a leaf is reached where as many decisions on the way to it hold
as there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.ir.expr import Expr

_DECISIONS = {
    "BRANCH_LEQ": "less_equal", "BRANCH_LT": "less", "BRANCH_GTE": "greater_equal", "BRANCH_GT": "greater",
    "BRANCH_EQ": "equal", "BRANCH_NEQ": "not_equal",
}  # fmt: skip


def _paths(at: Conversion) -> dict[tuple[int, int], list[tuple[int, bool]]]:
    """Return the decisions on the way to each leaf, by its tree and node: which, and how."""
    trees, nodes = at.wanted("nodes_treeids"), at.wanted("nodes_nodeids")
    places = {pair: place for place, pair in enumerate(zip(trees, nodes, strict=True))}
    modes, yes, no = (at.wanted(f"nodes_{one}") for one in ("modes", "truenodeids", "falsenodeids"))
    children = {
        (tree, side[place]) for (tree, _), place in places.items() if modes[place] != "LEAF" for side in (yes, no)
    }
    found: dict[tuple[int, int], list[tuple[int, bool]]] = {}
    stack: list[tuple[tuple[int, int], list[tuple[int, bool]]]] = [
        (pair, []) for pair in places if pair not in children
    ]
    while stack:
        pair, way = stack.pop()
        if pair not in places or len(way) > len(places):
            at.refuse(f"its tree {pair[0]} has no node {pair[1]}, or goes round")
        place = places[pair]
        if modes[place] == "LEAF":
            found[pair] = way
            continue
        stack += [((pair[0], yes[place]), [*way, (place, True)]), ((pair[0], no[place]), [*way, (place, False)])]
    return found


def _decided(at: Conversion, x: Expr, used: Sequence[int]) -> Expr:
    """Return whether each decision holds for each row, as numbers."""
    features, values = at.wanted("nodes_featureids"), at.wanted("nodes_values")
    modes, missing = at.wanted("nodes_modes"), at.attr("nodes_missing_value_tracks_true")
    columns = at.call("take", x, at.const([features[one] for one in used], "int64"), axis=1)
    limits = at.const([values[one] for one in used], "float32")
    made: Expr | None = None
    for mode in dict.fromkeys(modes[one] for one in used):
        if mode not in _DECISIONS:
            at.refuse(f"it decides by {mode}")
        held = at.call(_DECISIONS[mode], columns, limits)
        here = at.const([modes[one] == mode for one in used], "bool")
        made = held if made is None else at.call("where", here, held, made)
    assert made is not None
    if missing:
        kept = at.const([bool(missing[one]) for one in used], "bool")
        made = at.call("logical_or", made, at.call("logical_and", at.call("isnan", columns), kept))
    return at.cast(made, "float32")


def _tree_regressor(at: Conversion) -> Expr:
    kind = at.attr("aggregate_function", "SUM")
    if kind not in ("SUM", "AVERAGE") or at.attr("post_transform", "NONE") != "NONE":
        at.refuse(f"its trees are joined by {kind}, and transformed by {at.attr('post_transform', 'NONE')}")
    x, targets, paths = at.cast(at.arg(), "float32"), at.attr("n_targets", 1), _paths(at)
    leaves = {pair: place for place, pair in enumerate(paths)}
    used = sorted({place for way in paths.values() for place, _ in way})
    weights = np.zeros((len(leaves), targets), np.float32)
    given = (at.wanted(f"target_{one}") for one in ("treeids", "nodeids", "ids", "weights"))
    for tree, node, target, weight in zip(*given, strict=True):
        weights[leaves[tree, node], target] += weight
    if kind == "AVERAGE":
        weights /= len({tree for tree, _ in paths})
    base = np.array(at.attr("base_values") or [0.0] * targets, np.float32)
    if not used:
        rows = at.call("zeros", (at.shape(x)[0], targets), "float32")
        return at.call("add", rows, at.const(weights.sum(axis=0) + base, "float32"))
    signs = np.zeros((len(leaves), len(used)), np.float32)
    needed = np.zeros(len(leaves), np.float32)
    for leaf, way in enumerate(paths.values()):
        for place, holds in way:
            signs[leaf, used.index(place)] = 1 if holds else -1
            needed[leaf] += holds
    counted = at.call("nn.dense", _decided(at, x, used), at.const(signs, "float32"), units=None)
    reached = at.cast(at.call("equal", counted, at.const(needed, "float32")), "float32")
    made = at.call("nn.dense", reached, at.const(weights.T, "float32"), units=None)
    return at.call("add", made, at.const(base, "float32"))


OPERATORS: dict[str, Convert] = {"ai.onnx.ml.TreeEnsembleRegressor": _tree_regressor}
