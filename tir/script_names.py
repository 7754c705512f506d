"""What the statements of a script do to names."""

from __future__ import annotations

import ast
from collections import Counter

from relay2relax.core.script_source import ScriptSource
from relay2relax.tir.script_expr import is_dtype


def assigned_counts(node: ast.FunctionDef) -> Counter[str]:
    """Return how often a function assigns each name; a change in place counts twice."""
    counts: Counter[str] = Counter()
    for one in ast.walk(node):
        match one:
            case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
                counts[name] += 1
            case ast.AugAssign(ast.Name(name)):
                counts[name] += 2
    return counts


def declared_symbols(source: ScriptSource, node: ast.FunctionDef) -> dict[str, str]:
    """Return the dtypes of the names that the body declares as variables."""
    found: dict[str, str] = {}
    for one in node.body:
        match one:
            case ast.Assign([ast.Name(name)], value):
                pairs = [(name, value)]
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
                pairs = [(t.id, v) for t, v in zip(targets, values, strict=False) if isinstance(t, ast.Name)]
            case _:
                continue
        for name, value in pairs:
            dotted = source.called(value) or ""
            if isinstance(value, ast.Call) and not value.args and dotted.startswith("T.") and is_dtype(dotted[2:]):
                found[name] = dotted[2:]
    return found
