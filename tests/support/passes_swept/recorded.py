"""Running a recorded pass of TVM 0.18 here, and comparing what both make."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from typed import of_type

from relay2relax import relay_ir
from relay2relax.core import Relay2RelaxError
from relay2relax.relay_ir import Expr, Function, GlobalVar, IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, substitute


def comparable(mod: IRModule) -> IRModule:
    """Return ``mod`` with its types where they can be inferred, and lifted functions numbered."""
    names: dict[str, str] = {}
    for node in nodes(*(mod[name] for name in sorted(var.name for var in mod.functions))):
        if isinstance(node, GlobalVar) and re.match(r"lifted_name\d+", node.name):
            names.setdefault(node.name, f"lifted_{len(names)}")
    renamed: dict[Expr, Expr] = {
        node: GlobalVar(names[node.name])
        for node in (*nodes(*mod.functions.values()), *mod.functions)
        if isinstance(node, GlobalVar) and node.name in names
    }
    functions = {
        of_type(renamed.get(var, var), GlobalVar): of_type(substitute(function, renamed), Function)
        for var, function in mod.functions.items()
    }
    mod = replace(mod, functions=functions, types={})
    try:
        return relay_ir.infer_type(mod)
    except relay_ir.TypeInferenceError:
        return mod


def failures(
    cases: list[Mapping[str, Any]], make: Callable[[Mapping[str, Any]], Callable[[IRModule], IRModule]]
) -> list[str]:
    """Return the cases in which the pass ``make(case)`` does not make what TVM's pass made."""
    found = []
    for case in cases:
        try:
            after = make(case)(relay_ir.load_json(case["json"]))
            expected = relay_ir.load_json(case["after_json"])
            difference = relay_ir.first_difference(comparable(after), comparable(expected))
        except Relay2RelaxError as error:
            difference = str(error)
        if difference is not None:
            found.append(f"{case['id']} {case['origin']}: {difference}")
    return found
