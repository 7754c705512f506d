"""Attributes of functions and modules out of TVMScript."""

from __future__ import annotations

import ast

from relay2relax.core.errors.table import script
from relay2relax.core.script_source import ScriptSource
from relay2relax.tir.script.context import Scalars

# How to part a module from objects that its attributes hold.
_TAKE_OUT = {
    "ffi.Tensor": "take weights out first: `mod, params = tvm.relax.frontend.detach_params(mod)`",
    "ffi.Module": 'take compiled code out first: `mod = mod.without_attr("external_mods")`',
}


class AttributeReader:
    """Reads dictionaries of attributes."""

    def __init__(self, source: ScriptSource, exprs: Scalars) -> None:
        self.source = source
        self.exprs = exprs

    def function_attributes(self, call: ast.Call, known: dict[str, object]) -> None:
        """Read ``R.func_attr`` and add what it says to what is ``known``."""
        if len(call.args) != 1 or not isinstance(call.args[0], ast.Dict):
            raise self.source.problem(
                call, "R.func_attr takes a dictionary", "expected one dictionary", kind=script.ARGUMENTS
            )
        self.source.once(known, self.dictionary(call.args[0]), call)

    def dictionary(self, node: ast.Dict) -> dict[str, object]:
        """Return a dictionary of attributes."""
        return {
            self.source.string(key or node, "a key"): self.attribute(value)
            for key, value in zip(node.keys, node.values, strict=True)
        }

    def attribute(self, node: ast.expr) -> object:
        """Return the value of an attribute: literals, and expressions over dimensions."""
        match node:
            case ast.Dict():
                return self.dictionary(node)
            case ast.List(items) | ast.Tuple(items):
                return [self.attribute(item) for item in items]
            case ast.Name() | ast.BinOp():
                return self.exprs.value(node)
            case ast.Subscript(ast.Subscript(ast.Name("metadata" | "meta"), ast.Constant(str() as kind)), _):
                raise self.source.problem(node, f"an attribute holds an object of apache-tvm, {kind}",
                                          "no script can hold it", help=_TAKE_OUT.get(kind, ""))  # fmt: skip
        return self.source.literal(node)
