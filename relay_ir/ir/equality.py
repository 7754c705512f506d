"""Equality of programs, up to the names of what they bind.

Variables, type variables and symbolic extents correspond one to one; sharing counts, so a graph and
the tree it unfolds to differ; constants, operators, constructors and globals are atoms, compared by
content or name. Spans, name hints, inferred types and the numbering of constructors do not take
part. Attributes of floating point are equal where TVM takes them to be: within 1e-9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TypeAlias, Union

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.source import Span
from relay2relax.relay_ir.ir import expr as ir
from relay2relax.relay_ir.ir import types as ty
from relay2relax.relay_ir.ir.device import Target
from relay2relax.relay_ir.ir.module import IRModule, TypeData
from relay2relax.relay_ir.ir.opaque import OpaqueNode
from relay2relax.tir.ir import expr as tir


def structural_equal(a: object, b: object, map_free_vars: bool = False) -> bool:
    """Whether two modules, expressions, types or attribute objects are built alike.

    With ``map_free_vars`` variables that nothing binds correspond like bound ones; without it a
    free variable is equal to itself only. Where both are modules whose types are inferred, these
    are compared instead of what variables and functions declare.
    """
    return first_difference(a, b, map_free_vars) is None


def first_difference(
    a: object, b: object, map_free_vars: bool = False, types: Mapping[ir.Expr, ty.Type] | None = None
) -> str | None:
    """Return the path to the first place where two objects differ, and what stands there.

    None if none. ``types`` are those that inference found of both, where these are expressions.
    """
    comparison = _Comparison(map_free_vars)
    if types is not None:
        comparison.types = types, types
    return comparison.run(a, b)


@dataclass(frozen=True, slots=True)
class _Path:
    """A place, as the step from another place; text is made of it only when it is needed."""

    parent: _Path | None
    step: str

    def __str__(self) -> str:
        steps: list[str] = []
        here: _Path | None = self
        while here is not None:
            steps.append(here.step)
            here = here.parent
        text = "".join(reversed(steps)).lstrip(".")
        return text if len(text) <= 400 else text[:180] + " … " + text[-180:]


_Pair: TypeAlias = tuple[object, object, Union[_Path, None]]
# Parts to compare, with the steps to them.
_Steps: TypeAlias = Iterator[tuple[object, object, str]]


class _Differ(Exception):
    """What differs; the place is known to the loop."""


# What a variable stands for is looked up, never looked into.
_VARIABLES = (ir.Var, ty.TypeVar, ty.GlobalTypeVar, ty.IncompleteType, tir.Var)
# What TVM 0.18 allows between two attributes of type double.
_NEAR = 1e-9
_ATOMS = (ir.Op, ir.GlobalVar, ir.Constructor, ir.Constant)


class _Comparison:
    def __init__(self, map_free_vars: bool) -> None:
        self.map_free_vars = map_free_vars
        self.forth: dict[object, object] = {}
        self.back: dict[object, object] = {}
        # What inference found, where both sides were inferred.
        self.types: tuple[Mapping[ir.Expr, ty.Type], Mapping[ir.Expr, ty.Type]] = ({}, {})

    def run(self, a: object, b: object) -> str | None:
        stack: list[_Pair] = [(a, b, None)]
        while stack:
            one, other, path = stack.pop()
            try:
                below = list(self.compare(one, other))
            except _Differ as difference:
                where = str(path) if path is not None else ""
                return f"{where or 'the whole'}: {difference}"
            stack += [(x, y, _Path(path, step)) for x, y, step in reversed(below)]
        return None

    def pair(self, a: object, b: object) -> None:
        """Let ``a`` correspond to ``b`` from here on."""
        if self.forth.setdefault(a, b) is not b or self.back.setdefault(b, a) is not a:
            raise _Differ("one binds a variable twice, the other binds two")

    def compare(self, a: object, b: object) -> _Steps:
        """Compare two objects without looking into their parts.

        Yield those, with their steps, to compare.
        """
        if isinstance(a, _VARIABLES) and type(a) is type(b):
            yield from self.variable(a, b)
            return
        if a is None or b is None or isinstance(a, (str, int, float, bool)):
            same = a == b or (a != a and b != b) or _close(a, b)
            if not same or isinstance(a, bool) != isinstance(b, bool):
                raise _Differ(f"{_shown(a)} and {_shown(b)} differ")
            return
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            _compare_arrays(a, b)
        elif isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from self.entries(a, b)
        elif isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
            if len(a) != len(b):
                raise _Differ(f"{len(a)} and {len(b)} elements")
            yield from ((x, y, f"[{index}]") for index, (x, y) in enumerate(zip(a, b, strict=True)))
        elif type(a) is not type(b):
            raise _Differ(f"{_shown(a)} and {_shown(b)} differ")
        elif isinstance(a, IRModule) and isinstance(b, IRModule):
            yield from self.module(a, b)
        elif isinstance(a, ir.RelayExpr) and isinstance(b, ir.RelayExpr):
            yield from self.expression(a, b)
        elif isinstance(a, ir.PatternVar) and isinstance(b, ir.PatternVar):
            yield from self.binders((a.var,), (b.var,))
        elif is_dataclass(a) and not isinstance(a, OpaqueNode):
            if isinstance(a, ty.FuncType) and isinstance(b, ty.FuncType):
                yield from self.binders(a.type_params, b.type_params)
            elif isinstance(a, TypeData) and isinstance(b, TypeData):
                yield from self.binders(a.type_vars, b.type_vars)
            yield from _parts(a, b)
        elif a != b:
            raise _Differ(f"{_shown(a)} and {_shown(b)} differ")

    def entries(self, a: Mapping[object, object], b: Mapping[object, object]) -> _Steps:
        """Yield the values of two mappings; keys that are variables correspond as elsewhere."""
        keys = {key: self.forth.get(key, key) if isinstance(key, _VARIABLES) else key for key in a}
        if set(keys.values()) != set(b):
            odd = ", ".join(sorted(str(key) for key in set(keys.values()) ^ set(b)))
            raise _Differ(f"only one of them has {odd}")
        for key, value in a.items():
            yield value, b[keys[key]], f"[{key!r}]"

    def variable(self, a: object, b: object) -> _Steps:
        if a in self.forth or b in self.back:
            if self.forth.get(a) is not b or self.back.get(b) is not a:
                raise _Differ(f"the variables {getattr(a, 'name', a)} and {_shown(b)} do not correspond")
        elif isinstance(a, ir.Var) and isinstance(b, ir.Var) and not self.map_free_vars:
            if a is not b:
                raise _Differ(f"%{a.name} and %{b.name} are free variables")
        elif isinstance(a, ty.TypeVar) and isinstance(b, ty.TypeVar) and not self.map_free_vars:
            if a is not b:
                raise _Differ(f"{a.name} and {b.name} are free type variables")
        else:
            self.pair(a, b)
            yield from self.binding(a, b)

    def binding(self, a: object, b: object) -> _Steps:
        """Yield what a variable brings along."""
        if isinstance(a, ir.Var) and isinstance(b, ir.Var):
            mine, other = (_type_of(var, types) for types, var in zip(self.types, (a, b), strict=True))
            yield mine, other, f".type(%{a.name})"
            yield a.virtual_device, b.virtual_device, f".device(%{a.name})"
        elif isinstance(a, ty.GlobalTypeVar) and isinstance(b, ty.GlobalTypeVar):
            yield a.name, b.name, ".name"
        elif not isinstance(a, ir.RelayExpr):
            yield getattr(a, "kind", None), getattr(b, "kind", None), ".kind"
            yield getattr(a, "dtype", None), getattr(b, "dtype", None), ".dtype"

    def binders(self, a: tuple[object, ...], b: tuple[object, ...]) -> _Steps:
        """Let two lists of binders correspond, and yield what they bring along."""
        if len(a) != len(b):
            raise _Differ(f"{len(a)} and {len(b)} variables are bound")
        for x, y in zip(a, b, strict=True):
            self.pair(x, y)
            yield from self.binding(x, y)

    def expression(self, a: ir.RelayExpr, b: ir.RelayExpr) -> _Steps:
        # The empty tuple is a value, not a computation that could be shared.
        shared = not isinstance(a, _ATOMS) and not (isinstance(a, ir.Tuple) and not a.fields)
        if shared:
            if a in self.forth or b in self.back:
                if self.forth.get(a) is not b or self.back.get(b) is not a:
                    raise _Differ("one shares a node that the other computes anew")
                return
            self.forth[a], self.back[b] = b, a
        match a, b:
            case (ir.Op(name), ir.Op(other)) | (ir.GlobalVar(name), ir.GlobalVar(other)):
                if name != other:
                    raise _Differ(f"{name} and {other} differ")
            case ir.Constructor() as one, ir.Constructor() as two:
                yield one.name, two.name, ".name"
                yield one.belong_to, two.belong_to, ".belong_to"
            case ir.Let(var, value, body), ir.Let(other_var, other_value, other_body):
                yield from self.binders((var,), (other_var,))
                yield value, other_value, f".let(%{var.name})"
                yield body, other_body, ".body"
            case ir.Function() as func, ir.Function() as other_func:
                yield from self.binders(func.type_params, other_func.type_params)
                yield from self.binders(func.params, other_func.params)
                inferred = func in self.types[0] and other_func in self.types[1]
                without = ("params", "type_params", "ret_type") if inferred else ("params", "type_params")
                yield from _parts(a, b, without)
            case ir.Match() as match, ir.Match() as other_match:
                yield match.data, other_match.data, ".data"
                yield match.complete, other_match.complete, ".complete"
                yield match.clauses, other_match.clauses, ".clauses"
            case ir.Call() as call, ir.Call() as other_call:
                # Type arguments of operators, and those that one side leaves to inference, say
                # nothing new.
                ignored = isinstance(call.op, ir.Op) or not (call.type_args and other_call.type_args)
                yield from _parts(a, b, without=("type_args",) if ignored else ())
            case _:
                yield from _parts(a, b)

    def module(self, a: IRModule, b: IRModule) -> _Steps:
        yield (
            {v.name: d for v, d in a.type_definitions.items()},
            {v.name: d for v, d in b.type_definitions.items()},
            ".type_definitions",
        )
        yield a.attrs, b.attrs, ".attrs"
        if a.types and b.types:
            self.types = (a.types, b.types)
        mine, functions = ({v.name: f for v, f in (*m.functions.items(), *m.opaque_functions.items())} for m in (a, b))
        if set(mine) != set(functions):
            odd = ", ".join(f"@{name}" for name in sorted(set(mine) ^ set(functions)))
            raise _Differ(f"only one of the modules has {odd}")
        for name, function in sorted(mine.items()):
            yield function, functions[name], f"@{name}"


def _parts(a: object, b: object, without: tuple[str, ...] = ()) -> _Steps:
    """Yield the fields of two dataclasses of one class.

    Spans and numbers of constructors are left out.
    """
    assert is_dataclass(a)
    for part in fields(a):
        if part.name in ("span", "tag") and not isinstance(a, (Span, Target)):
            continue
        if part.name not in without:
            yield getattr(a, part.name), getattr(b, part.name), f".{part.name}"


def _compare_arrays(a: Array, b: Array) -> None:
    """Compare two tensors bit for bit (a NaN equals itself), without a copy where they are
    contiguous.
    """
    if a is b:
        return
    if a.dtype != b.dtype or a.shape != b.shape:
        raise _Differ(f"tensors {a.shape} of {a.dtype} and {b.shape} of {b.dtype} differ")
    first, second = (np.ascontiguousarray(one).reshape(-1).view(np.uint8) for one in (a, b))
    if not np.array_equal(first, second):
        raise _Differ(f"tensors {a.shape} of {a.dtype} have different elements")


def _close(a: object, b: object) -> bool:
    """Whether two numbers are as near as TVM's comparison of attributes takes for equal."""
    return isinstance(a, float) and isinstance(b, float) and abs(a - b) < _NEAR


def _type_of(var: ir.Var, types: Mapping[ir.Expr, ty.Type]) -> ty.Type | None:
    """Return what inference found of a variable, else its annotation, where that is complete.

    Documents may name a type variable there that nothing binds; then the annotation is meant.
    """
    found = types.get(var, var.type_annotation)
    if isinstance(found, ty.TypeVar) and var.type_annotation is not None:
        found = var.type_annotation
    return None if isinstance(found, ty.IncompleteType) else found


def _shown(value: object) -> str:
    if isinstance(value, ir.RelayExpr):
        return f"a {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= 80 else f"a {type(value).__name__}"
