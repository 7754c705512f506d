"""Constants out of TVMScript: written out, given from outside, or in a table beside the text."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors.table import script
from relay2relax.relax_ir.ir.expr import Constant, Var
from relay2relax.relax_ir.ir.struct_info import TensorStructInfo
from relay2relax.relax_ir.script.calls.arguments import Arguments
from relay2relax.relax_ir.script.context import ModuleContext
from relay2relax.relax_ir.script.omitted import CONSTANTS, words_of
from relay2relax.relax_ir.script.types import TypeReader

_DEFAULT_DTYPES = {bool: "bool", int: "int32", float: "float32"}


class ConstantReader:
    """Reads constants."""

    def __init__(self, module: ModuleContext, types: TypeReader, arguments: Arguments) -> None:
        self.source = module.text.source
        self.module = module
        self.types = types
        self.arguments = arguments

    def constant(self, node: ast.Call) -> Constant:
        """Return ``R.const(value, dtype)``."""
        given = self.source.arguments(node, ("value", "dtype"))
        if "value" not in given:
            raise self.source.problem(node, "R.const is given no value", "expected R.const(value, dtype)")
        called = self.source.called(given["value"])
        if called in ("tvm.runtime.empty", "tvm.nd.empty"):
            return self.empty(given["value"])
        dtype = self.types.dtype(given["dtype"]) if "dtype" in given else ""
        if isinstance(given["value"], ast.Name) and given["value"].id in self.module.constants:
            array = np.asarray(self.module.constants[given["value"].id])
            return Constant(array.astype(numpy_dtype(dtype), copy=False) if dtype else array)
        value = self.source.literal(given["value"])
        if value is None:
            raise self.source.problem(given["value"], "a constant has a value", "expected numbers")
        if not dtype:
            first = value
            while isinstance(first, (list, tuple)) and first:
                first = first[0]
            dtype = _DEFAULT_DTYPES.get(type(first), "float32")
        if isinstance(value, str):
            with suppress(ValueError):
                value = float(value)
        return self.arguments.numbers(value, dtype, given["value"])

    def spread_constant(self, node: ast.Call) -> Constant:
        """Return ``R.dist.const(1.0, R.DTensor(…))``: a constant that is spread over a mesh of
        devices.
        """
        given = self.source.arguments(node, ("value", "struct_info", "ty"))
        said = given.get("struct_info", given.get("ty"))
        info = self.types.info(said) if said is not None else None
        if "value" not in given or not isinstance(info, TensorStructInfo) or info.sharding is None:
            raise self.source.problem(
                node, "R.dist.const takes a value and R.DTensor(…)", "expected 2 arguments", kind=script.ARGUMENTS
            )
        made = self.arguments.numbers(self.source.literal(given["value"]), info.dtype or "float32", given["value"])
        return Constant(made.data, sharding=info.sharding)

    def empty(self, node: ast.expr) -> Constant:
        """Return ``tvm.runtime.empty((0, 4), "float32")``: an array that has no elements, for it
        says none.
        """
        assert isinstance(node, ast.Call)
        given = self.source.arguments(node, ("shape", "dtype"))
        shape = self.source.literal(self.source.needed(node, given, "shape"))
        dtype = self.types.dtype(given["dtype"]) if "dtype" in given else "float32"
        extents = shape if isinstance(shape, (list, tuple)) else [shape]
        if not all(isinstance(extent, int) and extent >= 0 for extent in extents) or 0 not in extents:
            raise self.source.problem(node, "this array has elements, which nothing says", "expected an extent of 0")
        return self.arguments.numbers(np.empty(extents), dtype, node)

    def metadata(self, node: ast.AST, owner: ast.Subscript, index: ast.expr) -> Constant | Var:
        """Return ``metadata[key][index]``, which lies beside the text, or what stands for it."""
        table = self.module.constants.get("metadata")
        key = owner.slice.value if isinstance(owner.slice, ast.Constant) else self.source.dotted(owner.slice)
        place = self.source.literal(index)
        if table is None and key in CONSTANTS and isinstance(place, int):
            words = words_of((key, place))
            stand_in = self.module.omitted.find((key, place))
            if stand_in is not None:
                return stand_in
            example = json.dumps({words: {"shape": [2, 3], "dtype": "float32"}})
            raise self.source.problem(
                node, f"the text leaves out `{words}` and its type", "nothing else says what stands here",
                help=f"print it with show_meta=True, or say its type with --attrs FILE, as in {example}",
            )  # fmt: skip
        if not isinstance(table, Mapping) or key not in table:
            raise self.source.problem(
                node, "this constant is not in the text", "not printed with the script",
                help='print with show_meta=True, or pass the arrays: constants={"metadata": {…: [array, …]}}',
            )  # fmt: skip
        values = table[key]
        if not isinstance(place, int) or not 0 <= place < len(values):
            raise self.source.problem(index, f"there are {len(values)} constants", "no such constant", kind=script.NAME)
        if values[place] is None or isinstance(values[place], str):
            raise self.source.problem(node, "this entry of the table is no tensor", "expected a constant")
        return Constant(np.asarray(values[place]))
