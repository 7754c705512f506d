"""FuseTIR: a function of fused calls becomes one PrimFunc."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias, Union

from relay2relax.relax_ir.ir.expr import (
    Binding,
    Call,
    CallTIR,
    Expr,
    Function,
    GlobalVar,
    IRModule,
    MatchCast,
    PrimValue,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from relay2relax.relax_ir.ir.visit import bindings
from relay2relax.relax_ir.transform.canonicalize_bindings import CanonicalizeBindings
from relay2relax.relax_ir.transform.dead_code import DeadCodeElimination
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass
from relay2relax.tir.extent import as_prim
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.expr import Buffer, PrimExpr
from relay2relax.tir.ir.stmt import PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import free_variables
from relay2relax.tir.te.inline import copied_with_own_names, instantiate

# What a variable of a fused function is made of: tensors, or the expression of a scalar.
Buffers: TypeAlias = Union[Buffer, PrimExpr, tuple["Buffers", ...]]


@dataclass(frozen=True, slots=True)
class FuseTIR(RelaxPass):
    """Make one PrimFunc of every function marked ``Primitive``, and ``call_tir`` of its calls.

    Values between the calls become buffers of the new PrimFunc. PrimFuncs that nothing calls any
    more go. Functions that do more than call PrimFuncs stay as they are.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its fused functions merged."""
        merged: dict[GlobalVar, _Merged] = {}
        for var, func in mod.functions.items():
            if isinstance(func, Function) and func.attrs.get("Primitive"):
                found = _merge(mod, var.name, func)
                if found is not None:
                    merged[var] = found
        if merged:
            mod = CanonicalizeBindings().transform(_Caller(mod, merged).module())
        return DeadCodeElimination().transform(mod)


@dataclass(frozen=True, slots=True)
class _Merged:
    """A fused function as a PrimFunc.

    ``scalars`` say which dimension of which shape argument each trailing scalar is, ``kept`` which
    of the arguments, tuples taken apart, it has a parameter for: those that it uses.
    """

    func: PrimFunc
    scalars: tuple[tuple[int, int], ...]
    kept: frozenset[int]


def _merge(mod: IRModule, name: str, func: Function) -> _Merged | None:
    values: dict[Expr, Buffers] = {}
    shapes: dict[tir.Var, tuple[int, int]] = {}
    inputs: list[Buffer | PrimExpr] = []
    read: set[Buffer | PrimExpr] = set()
    for place, param in enumerate(func.params):
        if isinstance(param.info, ShapeStructInfo) and param.info.values is not None:
            for index, extent in enumerate(param.info.values):
                if isinstance(extent, tir.Var):
                    shapes.setdefault(extent, (place, index))
            continue
        made = _buffers(param.info, param.name)
        if made is None:
            return None
        values[param] = made
        inputs += _flat(made)
    stages: list[Stmt] = []
    temporaries: list[Buffer] = []
    names = NameSupply()
    for binding in bindings(func.body):
        match binding:
            case Binding(var, CallTIR(callee, args, out, scalars)):
                called = mod.functions[callee]
                given = [_known(arg, values) for arg in args]
                if not isinstance(called, PrimFunc) or any(one is None for one in given):
                    return None
                results = _results(called, out)
                flat = [part for one in given if one is not None for part in _flat(one)]
                read.update(flat)
                tensors = [part for part in flat if isinstance(part, Buffer)]
                numbers = [part for part in flat if not isinstance(part, Buffer)]
                body, own = instantiate(called, tensors, results, [*numbers, *scalars])
                whole = copied_with_own_names(Seq(body), lambda hint: names.fresh(hint, "_"))
                stages += whole.stmts if isinstance(whole, Seq) else (whole,)
                temporaries += own
                values[var] = results[0] if len(results) == 1 else tuple(results)
            case Binding(var, (Var() | Tuple() | TupleGetItem()) as value):
                known = _known(value, values)
                if known is None:
                    return None
                values[var] = known
            case _:
                return None
    result = _known(func.body.body, values)
    outputs = _flat(result) if result is not None else []
    if isinstance(result, tuple) and any(isinstance(one, tuple) for one in result):
        return None
    if not outputs or len(set(outputs)) != len(outputs) or set(outputs) & set(inputs):
        return None
    tensors = [one for one in outputs if isinstance(one, Buffer)]
    if len(tensors) != len(outputs):
        return None
    made_here = [part for binding in bindings(func.body) for part in _flat(values[binding.var])]
    between = [b for b in dict.fromkeys(made_here) if isinstance(b, Buffer) and b not in {*inputs, *outputs}]
    kept = frozenset(index for index, one in enumerate(inputs) if one in read)
    used = [one for one in inputs if one in read]
    merged = _prim_func(name, used, tensors, [*temporaries, *between], stages, shapes)
    return None if merged is None else _Merged(*merged, kept)


def _prim_func(
    name: str,
    inputs: Sequence[Buffer | PrimExpr],
    outputs: Sequence[Buffer],
    temporaries: Sequence[Buffer],
    stages: Sequence[Stmt],
    shapes: dict[tir.Var, tuple[int, int]],
) -> tuple[PrimFunc, tuple[tuple[int, int], ...]] | None:
    handles: dict[tir.Var, Buffer] = {}
    order: list[tir.Var] = []
    for one in (*inputs, *outputs):
        if isinstance(one, Buffer):
            order.append(tir.Var(f"{one.name}_handle", "handle"))
            handles[order[-1]] = one
        elif isinstance(one, tir.Var):
            order.append(one)
    func = PrimFunc(name, tuple(order), handles, Seq(tuple(stages)), tuple(temporaries), len(outputs))
    free = [var for var in free_variables(func) if var not in order]
    if any(var not in shapes for var in free):
        return None
    params = (*order[: len(inputs)], *free, *order[len(inputs) :])
    return replace(func, params=params), tuple(shapes[var] for var in free)


def _buffers(info: StructInfo, name: str) -> Buffers | None:
    match info:
        case TensorStructInfo(shape, dtype) if shape is not None and dtype:
            return Buffer(name, tuple(as_prim(extent) for extent in shape), dtype)
        case TupleStructInfo(fields):
            made = [_buffers(field, f"{name}_{index}") for index, field in enumerate(fields)]
            return None if any(one is None for one in made) else tuple(one for one in made if one is not None)
        case PrimStructInfo(_, tir.Var() as scalar):
            return scalar
        case PrimStructInfo(dtype, None):
            return tir.Var(name, dtype)
    return None


def _known(expr: Expr, values: dict[Expr, Buffers]) -> Buffers | None:
    match expr:
        case Tuple(fields):
            found = [_known(field, values) for field in fields]
            return None if any(one is None for one in found) else tuple(one for one in found if one is not None)
        case TupleGetItem(source, index):
            whole = values.get(source)
            return whole[index] if isinstance(whole, tuple) else None
        case PrimValue(value):
            return value
    return values.get(expr)


def _flat(value: Buffers) -> list[Buffer | PrimExpr]:
    return [part for one in value for part in _flat(one)] if isinstance(value, tuple) else [value]


def _results(func: PrimFunc, out: Sequence[TensorStructInfo]) -> list[Buffer]:
    """Return buffers for the results of a call."""
    own = func.buffers[len(func.buffers) - len(out) :]
    return [
        Buffer(buffer.name, tuple(as_prim(extent) for extent in info.shape or ()), info.dtype)
        for buffer, info in zip(own, out, strict=True)
    ]


class _Caller(Mutator):
    """Changes the calls of merged functions."""

    def __init__(self, mod: IRModule, merged: dict[GlobalVar, _Merged]) -> None:
        functions = {var: merged[var].func if var in merged else func for var, func in mod.functions.items()}
        super().__init__(replace(mod, functions=functions))
        self.merged = merged

    def bind(self, binding: Binding | MatchCast) -> None:
        match binding:
            case Binding(var, Call(GlobalVar() as callee, args, _, span)) if callee in self.merged:
                merged = self.merged[callee]
                tensors = tuple(self.leaves(args, merged.kept))
                scalars = tuple(as_prim(_extent(args[place], index)) for place, index in merged.scalars)
                results = tuple(_tensors(var.info))
                self.keep(Binding(var, CallTIR(callee, tensors, results, scalars, span)))
            case _:
                self.keep(binding)

    def leaves(self, args: Sequence[Expr], kept: frozenset[int]) -> Iterator[Expr]:
        """Yield the tensors and scalars among arguments that are ``kept``, as they are counted with
        tuples taken apart.

        Only those fields of a tuple are taken out of it; a shape counts for nothing.
        """
        count = 0
        stack = list(reversed(args))
        while stack:
            match arg := stack.pop():
                case ShapeExpr() | Var(_, ShapeStructInfo()):
                    continue
                case Tuple(fields):
                    stack += reversed(fields)
                case Var(name, TupleStructInfo(infos)):
                    parts: list[Expr] = []
                    first = count
                    for index, info in enumerate(infos):
                        size = _leaf_count(info)
                        field_var = Var(f"{name}_{index}", info, self.dataflow)
                        if not kept.isdisjoint(range(first, first + size)):
                            self.keep(Binding(field_var, TupleGetItem(arg, index)))
                        parts.append(field_var)
                        first += size
                    stack += reversed(parts)
                case _:
                    if count in kept:
                        yield arg
                    count += 1


def _leaf_count(info: StructInfo) -> int:
    return sum(map(_leaf_count, info.fields)) if isinstance(info, TupleStructInfo) else 1


def _extent(arg: Expr, index: int) -> tir.PrimExpr | int:
    match arg:
        case ShapeExpr(values):
            return values[index]
        case Var(_, ShapeStructInfo(values)) if values is not None:
            return values[index]
    raise TypeError(f"{type(arg).__name__} is no shape")


def _tensors(info: StructInfo) -> Iterator[TensorStructInfo]:
    match info:
        case TensorStructInfo():
            yield info
        case TupleStructInfo(fields):
            for one in fields:
                yield from _tensors(one)
