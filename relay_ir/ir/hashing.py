"""Numbers that are the same for programs that are built alike."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np

from relay2relax.core.source import Span
from relay2relax.relay_ir.ir import expr as ir
from relay2relax.relay_ir.ir import types as ty
from relay2relax.relay_ir.ir.module import IRModule, TypeData
from relay2relax.tir.ir import expr as tir

_VARIABLES = (ir.Var, ty.TypeVar, ty.IncompleteType, tir.Var)
# Parts that equality does not look at.
_IGNORED = ("span", "virtual_device", "tag", "serial")


def hash_of(root: object, map_free_vars: bool = False) -> int:
    """Return a hash that agrees with ``structural_equal``.

    Variables count by the order in which they are met; a free one by itself, unless
    ``map_free_vars``. Nodes that are shared are looked into once.
    """
    numbers: dict[object, int] = {}
    bound = None if map_free_vars else _bound(root)
    seen: dict[object, int] = {}
    found = 0
    stack: list[object] = [root]
    while stack:
        one = stack.pop()
        if isinstance(one, _VARIABLES) and bound is not None and one not in bound:
            word = f"free {id(one)}"
        elif isinstance(one, _VARIABLES):
            met = one in numbers
            word = f"var {numbers.setdefault(one, len(numbers))}"
            if not met and isinstance(one, ir.Var):
                stack.append(one.type_annotation)
        elif isinstance(one, np.ndarray):
            word = f"{one.dtype} {one.shape} {zlib.crc32(np.ascontiguousarray(one).tobytes())}"
        elif isinstance(one, Mapping):
            word = f"map {len(one)}"
            for key, value in sorted(one.items(), key=lambda item: _name(item[0])):
                stack += (value, key if isinstance(key, _VARIABLES) else _name(key))
        elif isinstance(one, (tuple, list)):
            word = f"list {len(one)}"
            stack += reversed(one)
        elif isinstance(one, (ir.Op, ir.GlobalVar, ty.GlobalTypeVar)):
            word = f"{type(one).__name__} {one.name}"
        elif isinstance(one, ir.RelayExpr) and one in seen:
            word = f"again {seen[one]}"
        elif isinstance(one, IRModule):
            word = "module"
            stack += (one.functions, one.type_definitions)
        elif is_dataclass(one) and not isinstance(one, (type, Span)):
            word = type(one).__name__
            if isinstance(one, ir.RelayExpr):
                seen[one] = len(seen)
            stack += [getattr(one, part.name) for part in reversed(fields(one)) if part.name not in _IGNORED]
        else:
            word = f"{type(one).__name__} {one}"
        found = zlib.crc32(word.encode("utf-8", "surrogatepass"), found)
    return found


def _bound(root: object) -> set[object]:
    """Return the variables that something in ``root`` binds."""
    found: set[object] = set()
    seen: set[int] = set()
    stack = [root]
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        match one:
            case ir.Function():
                found.update((*one.params, *one.type_params))
            case ir.Let() | ir.PatternVar():
                found.add(one.var)
            case TypeData():
                found.update(one.type_vars)
            case ty.FuncType():
                found.update(one.type_params)
        if isinstance(one, Mapping):
            stack += one.values()
        elif isinstance(one, (tuple, list)):
            stack += one
        elif isinstance(one, IRModule):
            stack += (one.functions, one.type_definitions)
        elif is_dataclass(one) and not isinstance(one, (type, Span)):
            stack += [getattr(one, part.name) for part in fields(one) if part.name not in _IGNORED]
    return found


def _name(key: object) -> str:
    return str(getattr(key, "name", key))
