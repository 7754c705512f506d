"""Dtypes out of TVMScript, types of variables, and declarations of variables."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from relay2relax.core.dtype import check_dtype, dtype_help
from relay2relax.core.script_source import ScriptSource
from relay2relax.core.words import check_scope, shown
from relay2relax.tir.ir.expr import Pointer, Var

_DTYPE = re.compile(
    r"(u?int(1|2|4|8|16|32|64)|float(8|16|32|64)|float[468]_e\w+?|bfloat16|bool)(x\d+|xvscalex\d+)?\Z"
    r"|(boolean|handle|void)\Z"
)
# What TVM until 0.19 called today's dtypes.
OLDER = {"e4m3_float8": "float8_e4m3fn", "e5m2_float8": "float8_e5m2"}


def is_dtype(name: str) -> bool:
    """Whether ``name`` is a dtype of scripts, e.g. ``float32``."""
    return name in OLDER or _DTYPE.match(name) is not None


def read_dtype(source: ScriptSource, node: ast.AST) -> str:
    """Return the dtype that ``node`` is: a string, or ``T.float32``, or the type of
    ``T.handle()``.
    """
    if read_pointer(source, node) is not None or (isinstance(node, ast.Constant) and node.value == ""):
        return "handle" if not isinstance(node, ast.Constant) else "void"
    dotted = source.dotted(node)
    name = dotted[2:] if dotted is not None and dotted.startswith("T.") else source.string(node, "a dtype")
    if not is_dtype(name):
        help = dtype_help(name, otherwise="")
        raise source.problem(node, f"there is no dtype {shown(name)}", 'expected a dtype such as "float32"', help)
    return OLDER.get(name, name)


def read_pointer(source: ScriptSource, node: ast.AST) -> tuple[str, str] | None:
    """Return the element and the scope of ``T.handle("float32", "shared").ty``; None for other
    nodes.
    """
    if isinstance(node, ast.Attribute) and node.attr == "ty":
        node = node.value
        if isinstance(node, ast.Call) and source.called(node) == "T.handle":
            checks = (check_dtype, check_scope)
            parts = zip(node.args, checks, strict=False)
            given = [source.word(arg, "a part of a type", check) for arg, check in parts]
            element, scope = [*given, *("void", "")[len(given) :]][:2]
            return element, scope
    return None


def pointer_type(source: ScriptSource, node: ast.expr) -> tuple[str, str] | None:
    """Return the element and the scope of ``T.handle("float32", "shared")``; None where ``node`` is
    no such type.
    """
    if source.dotted(node) == "T.handle":
        return "void", ""
    if source.called(node) != "T.handle" or not isinstance(node, ast.Call):
        return None
    given = source.arguments(node, ("dtype", "storage_scope", "is_size_var"))
    element = read_dtype(source, given["dtype"]) if "dtype" in given else "void"
    scope = source.word(given["storage_scope"], "a scope", check_scope) if "storage_scope" in given else ""
    return element, scope


def variable(name: str, dtype: str) -> Var:
    """Return a new variable; one of dtype handle is an address of which nothing more is known."""
    return Pointer(name, dtype) if dtype == "handle" else Var(name, dtype)


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
