"""Scripts of tensor programs."""

from __future__ import annotations

from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.script.printer import print_prim_func


def module_text(*funcs: PrimFunc, dialect: str = "tvm") -> str:
    """Return the script of a module that holds ``funcs``."""
    lines = ["@I.ir_module", "class Module:"]
    for func in funcs:
        lines += [*print_prim_func(func, dialect=dialect, indent=1), ""]
    return "\n".join(lines)
