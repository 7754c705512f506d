"""What the statements of a script do to names."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from relay2relax.core.script_source import ScriptSource
from relay2relax.tir.script.expr import is_dtype


def declared_symbols(source: ScriptSource, body: Sequence[ast.stmt]) -> dict[str, str]:
    """Return the dtypes of the names that the statements ``body`` declare as variables."""
    found: dict[str, str] = {}
    for one in body:
        match one:
            case ast.Assign([ast.Name(name)], value):
                pairs = [(name, value)]
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
                pairs = [(t.id, v) for t, v in zip(targets, values, strict=False) if isinstance(t, ast.Name)]
            case _:
                continue
        for name, value in pairs:
            dtype = declared_dtype(source, value)
            if dtype is not None:
                found[name] = dtype
    return found


def declared_dtype(source: ScriptSource, node: ast.AST) -> str | None:
    """Return the dtype of the variable that ``T.int64()`` declares; None for what declares none.

    Until 0.19 there was ``T.var("int64")`` as well, and ``T.Var("n", "int64")``, whose name the
    assignment gives again.
    """
    called = source.called(node) or ""
    if not isinstance(node, ast.Call) or not called.startswith("T."):
        return None
    if called in ("T.var", "T.Var"):
        said = node.args[0 if called == "T.var" else -1] if node.args else None
        dtype = said.value if isinstance(said, ast.Constant) else None
    else:
        dtype = None if node.args else called[2:]
    return dtype if isinstance(dtype, str) and is_dtype(dtype) else None
