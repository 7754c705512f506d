"""What scripts say apart from their words: syntax trees in which every free word is alike."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

# What a script says in TVM's words; other names are the script's own.
_SPACES = {"T", "R", "I", "tvm", "cls", "Module"}


@lru_cache(maxsize=1024)
def skeleton(script: str) -> str:
    """Return the syntax tree of ``script`` without the text of strings and names of its own.

    Entries of dictionaries and members of the class are told apart by what they are, since their
    order is that of their names. Raises SyntaxError where the script is not Python.
    """
    return _skeleton(ast.parse(script))


def _skeleton(node: Any) -> str:
    match node:
        case list():
            return f"[{','.join(map(_skeleton, node))}]"
        case ast.Constant(str()):
            return "text"
        case ast.Constant(value):
            return repr(value)
        case ast.Dict(keys, values):
            return (
                f"{{{','.join(sorted(f'{_skeleton(k)}:{_skeleton(v)}' for k, v in zip(keys, values, strict=True)))}}}"
            )
        case ast.ClassDef(body=body):
            return f"class({','.join(sorted(map(_skeleton, body)))})"
        case ast.FunctionDef(_, args, body, decorators, returns):
            return f"def({','.join(map(_skeleton, (args, body, decorators, returns)))})"
        case ast.Name(name):
            return name if name in _SPACES else "name"
        case ast.arg(_, annotation):
            return f"arg:{_skeleton(annotation)}"
        case ast.Attribute(ast.Name("cls" | "Module"), _):
            return "function"
        case ast.Attribute(owner, name):
            return f"{_skeleton(owner)}.{name}"
        case ast.AST():
            inner = ",".join(f"{name}={_skeleton(value)}" for name, value in ast.iter_fields(node))
            return f"{type(node).__name__}({inner})"
    return repr(node)
