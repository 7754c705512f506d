"""How much memory is in use where a kernel is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from relay2relax.core.dtype import bits
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relay_ir.analysis.variables import free_vars
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Let, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.memory.blocks import blocks, lets
from relay2relax.tir.extent import static


@dataclass(frozen=True, slots=True)
class AnnotateUsedMemory(Pass[IRModule]):
    """Write into each primitive function of ``@main`` how many bytes are alive where it is called,
    inputs and results included: ``used_memory``, a number for each call in the order of the calls.

    ``@main`` is in A-normal form. Its parameters and its result are ``io_used_memory``.

    Raises UnsupportedError where a shape is not known.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with the attributes."""
        mod = typed_module(mod)
        main = mod["main"]
        walk = _Walk(mod.types)
        io = sum(walk.size(part) for part in (*main.params, main.body))
        body = walk.annotated(main.body, walk.measured(main.body))
        attrs = {**main.attrs, "io_used_memory": io}
        return mod.with_function(mod.get_global_var("main"), replace(main, body=body, attrs=attrs))


@dataclass(frozen=True, slots=True)
class _Walk:
    types: Mapping[Expr, Type]

    def size(self, expr: Expr) -> int:
        """Return how many bytes a value has; functions have none."""
        total, ahead = 0, [self.types[expr]]
        while ahead:
            match ahead.pop():
                case TupleType(fields):
                    ahead.extend(fields)
                case TensorType(shape, dtype) as type_:
                    extents = [static(extent) for extent in shape]
                    if None in extents:
                        raise UnsupportedError(f"AnnotateUsedMemory does not support dynamic shapes, found {type_}")
                    total += prod(extent for extent in extents if extent is not None) * ((bits(dtype) + 7) // 8)
        return total

    def measured(self, body: Expr) -> Mapping[Var, Sequence[int]]:
        """Return what is alive at the calls of each primitive function, in the order of the run."""
        order = _in_order(body)
        primitive = {let.var for let in order if isinstance(let.value, Function) and let.value.attrs.get("Primitive")}
        around = self._alive(body)
        found: dict[Var, list[int]] = {}
        for let in order:
            if isinstance(let.value, Call) and isinstance(let.value.op, Var) and let.value.op in primitive:
                used = sum(self.size(var) for var in around[let] - {let.value.op})
                found.setdefault(let.value.op, []).append(used)
        return found

    def _alive(self, body: Expr) -> Mapping[Let, frozenset[Var]]:
        """Return what is alive before or after each let."""
        found: dict[Let, frozenset[Var]] = {}
        # A block that is still to be walked, with what is alive after it.
        ahead: list[tuple[Expr, frozenset[Var]]] = [(body, frozenset())]
        while ahead:
            block, after = ahead.pop()
            chain = lets(block)
            last = chain[-1].body if chain else block
            alive = after.union(free_vars(last))
            ahead.extend((one, after) for one in blocks(last))
            for let in reversed(chain):
                ahead.extend((one, alive.difference((let.var,))) for one in blocks(let.value))
                before = alive.difference((let.var,)).union(free_vars(let.value))
                found[let] = before | alive
                alive = before
        return found

    def annotated(self, body: Expr, measured: Mapping[Var, Sequence[int]]) -> Expr:
        """Return ``body`` with the numbers in its functions."""
        chain = lets(body)
        made = chain[-1].body if chain else body
        for let in reversed(chain):
            value = let.value
            if isinstance(value, Function) and let.var in measured:
                value = replace(value, attrs={**value.attrs, "used_memory": tuple(measured[let.var])})
            made = replace(let, value=value, body=made)
        return made


def _in_order(body: Expr) -> list[Let]:
    """Return all lets in the order of the run, those of branches before what follows."""
    found: list[Let] = []
    ahead = [body]
    while ahead:
        block = ahead.pop()
        if isinstance(block, Let):
            found.append(block)
            ahead += [block.body, *reversed(blocks(block.value))]
        else:
            ahead.extend(reversed(blocks(block)))
    return found
