"""LiftTransformParams: what depends on weights alone becomes a function of its own, which runs
once.

Weights are the parameters behind the first ``num_input`` (``R.func_attr({"num_input": 1})``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import chain
from typing import Any

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.passes import Pass
from relay2relax.ops import relax_op
from relay2relax.relax_ir.inference.infer import unify
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallTIR,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import ShapeStructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.visit import all_sequences, operands, sequences, values, variables, with_values
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator
from relay2relax.relax_ir.transform.rewriting.rewriter import Rewriter
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir import expr as tir

_SUFFIX = "transform_params"


def transform_functions(mod: IRModule) -> frozenset[str]:
    """Return the names of the functions of ``mod`` that :class:`LiftTransformParams` makes."""
    names = (var.name for var, func in mod.functions.items() if isinstance(func, Function))
    return frozenset(name for name in names if name.endswith(_SUFFIX))


@dataclass(frozen=True, slots=True)
class LiftTransformParams(Pass[IRModule]):
    """Part every function ``f`` that has an attribute ``num_input`` in two.

    ``f_transform_params`` takes a tuple of the weights and returns a tuple of what ``f`` needs of
    them: those weights that it uses as they are, then every value, bound in a dataflow block, that
    depends on weights alone. ``f`` takes these, under their names, in place of the weights.
    Symbolic dimensions that nothing else tells are the tuple's first field, a shape. What depends
    on no parameter at all stays in ``f``. Applied again, the functions of the weights are put
    together. These are the conventions of TVM's pass of this name, with ``shared_transform=False``.

    Raises Relay2RelaxError where ``num_input`` is more than the function has parameters.
    """

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its functions in two."""
        parted: dict[GlobalVar, _Parts] = {}
        for var, func in mod.functions.items():
            count = func.attrs.get("num_input") if isinstance(func, Function) else None
            if isinstance(func, Function) and isinstance(count, int) and not var.name.endswith(_SUFFIX):
                if not 0 <= count <= len(func.params):
                    raise Relay2RelaxError(f"{var.name} has {len(func.params)} parameters; num_input is {count}")
                parted[var] = _part(mod, var, func, count)
        functions = {var: parted[var].running if var in parted else func for var, func in mod.functions.items()}
        by_name = {var.name: var for var in mod.functions}
        made: dict[str, dict[tir.Var, Extent]] = {}
        for var, parts in parted.items():
            name = f"{var.name}_{_SUFFIX}"
            own = by_name.get(name, GlobalVar(name))
            before = mod.functions.get(own)
            functions[own] = _transform(parts, before if isinstance(before, Function) else None)
            made[name] = {}
            if isinstance(before, Function):
                unify(TupleStructInfo(tuple(one.info for one in parts.weights)), before.ret, made[name])
        return _Apart(replace(mod, functions=functions), made).module()


@dataclass(frozen=True, slots=True)
class _Parts:
    """``running`` is a function without what is lifted, ``outputs`` what it needs of it and of the
    weights.

    ``bindings`` are all that need no input, in order; ``dimensions`` those that weights alone tell.
    """

    running: Function
    weights: tuple[Var, ...]
    bindings: tuple[Binding | MatchCast, ...]
    outputs: tuple[Var, ...]
    dimensions: tuple[tir.Var, ...]


class _Running(Mutator):
    """Rewrites a function without the bindings of ``gone``; ``given`` stands for what it took from
    them.
    """

    def __init__(self, mod: IRModule, gone: Set[Var], given: Mapping[Var, Expr]) -> None:
        super().__init__(mod)
        self.gone = gone
        self.values |= given

    def bind(self, binding: Binding | MatchCast) -> None:
        if binding.var in self.gone:
            return
        if _stops(binding.value):
            (self.values[binding.var],) = operands(binding.value)
            return
        self.keep(binding)


class _Apart(Rewriter):
    """Gives both functions variables of their own, and the functions ``made`` their own symbolic
    dimensions, too.

    ``made`` says what dimensions of the function that runs are in terms of those that the other one
    knows.
    """

    def __init__(self, mod: IRModule, made: Mapping[str, Mapping[tir.Var, Extent]]) -> None:
        super().__init__(mod)
        self.made = made

    def params(self, name: str, func: Function) -> tuple[Sequence[Var], dict[str, Any]]:
        if name not in self.made:
            return func.params, dict(func.attrs)
        dimensions = symbols.defined(param.info for param in func.params)
        fresh: dict[tir.Var, Extent] = {one: tir.Var(one.name, one.dtype) for one in dimensions}
        self.extents = fresh | {one: symbols.substitute_extent(e, fresh) for one, e in self.made[name].items()}
        params = [replace(param, info=symbols.substitute(param.info, self.extents)) for param in func.params]
        self.values.update(zip(func.params, params, strict=True))
        return params, dict(func.attrs)


def _part(mod: IRModule, name: GlobalVar, func: Function, count: int) -> _Parts:
    inputs, weights = func.params[:count], func.params[count:]
    liftable, held = _liftable(func, weights)
    gone = {binding.var for binding in liftable if binding.var in held}
    staying = [binding for binding, _ in _in_order(func.body) if binding.var not in gone]
    needed = {var for binding in staying for var in variables(binding.value)}
    needed |= {var for seq in all_sequences([func.body]) for var in variables(seq.body)}
    outputs = tuple(var for var in (*weights, *(b.var for b in liftable if b.var in gone)) if var in needed)
    told = symbols.defined(var.info for var in (*inputs, *outputs))
    untold = symbols.defined(var.info for var in weights) - told
    used = (one for binding in staying for one in _dimensions(binding))
    dimensions = tuple(dict.fromkeys(one for one in chain(_of_infos((*inputs, *outputs)), used) if one in untold))
    shape = (Var("vars_from_compile_time_params", ShapeStructInfo(dimensions)),) if dimensions else ()
    given = {var: replace(var, dataflow=False) for var in outputs}
    taken = replace(func, params=(*inputs, *shape, *given.values()))
    return _Parts(_Running(mod, gone, given).function(name, taken), weights, liftable, outputs, dimensions)


def _of_infos(found: Iterable[Var]) -> Iterator[tir.Var]:
    return (one for var in found for extent in symbols.extents(var.info) for one in symbols.variables(extent))


def _dimensions(binding: Binding | MatchCast) -> Iterator[tir.Var]:
    """Yield the symbolic dimensions that ``binding`` uses."""
    yield from _of_infos([binding.var])
    for one in (binding.value, *operands(binding.value)):
        match one:
            case ShapeExpr(shape):
                extents: Sequence[Any] = shape
            case PrimValue(value):
                extents = (value,)
            case CallTIR(_, _, _, scalars):
                extents = scalars
            case Call(_, _, attrs) if is_dataclass(attrs):
                extents = [getattr(attrs, field.name) for field in fields(attrs)]
            case _:
                continue
        for extent in extents:
            for part in extent if isinstance(extent, tuple) else (extent,):
                yield from symbols.variables(part)


def _transform(parts: _Parts, before: Function | None) -> Function:
    """Return the function of the weights; ``before`` made them of others."""
    blocks: tuple[BindingBlock, ...] = ()
    if before is None:
        infos = TupleStructInfo(tuple(var.info for var in parts.weights))
        params: tuple[Var, ...] = (Var("model_params", infos),)
        source: Expr = params[0]
    else:
        params, blocks, source = before.params, before.body.blocks, before.body.body
    wanted: set[Var] = set(parts.outputs)
    kept: list[Binding | MatchCast] = []
    for binding in reversed(parts.bindings):
        if binding.var in wanted:
            kept.append(binding)
            wanted.update(variables(binding.value))
    own: dict[Expr, Var] = {
        var: replace(var, dataflow=True) for var in (*parts.weights, *(binding.var for binding in kept))
    }
    made: list[Binding | MatchCast] = [
        Binding(own[var], TupleGetItem(source, place)) for place, var in enumerate(parts.weights) if var in wanted
    ]
    for binding in reversed(kept):
        moved = with_values(binding.value, [own.get(one, one) for one in values(binding.value)])
        made.append(replace(binding, var=own[binding.var], value=moved))
    results = (*((ShapeExpr(parts.dimensions),) if parts.dimensions else ()), *(own[var] for var in parts.outputs))
    shapes = (ShapeStructInfo(parts.dimensions),) if parts.dimensions else ()
    whole = Var("output_tuple", TupleStructInfo((*shapes, *(var.info for var in parts.outputs))))
    last = BindingBlock((*made, Binding(whole, Tuple(results))), dataflow=True)
    return Function(params, SeqExpr((*blocks, last), whole), whole.info, {"num_input": 0})


def _liftable(func: Function, weights: Sequence[Var]) -> tuple[tuple[Binding | MatchCast, ...], set[Var]]:
    """Return the bindings that no input is needed for, in order, and the variables that weights are
    needed for.
    """
    known = set(weights)
    held = set(weights)
    dimensions = symbols.defined(var.info for var in weights)
    found: list[Binding | MatchCast] = []
    for binding, dataflow in _in_order(func.body):
        value = binding.value
        if not dataflow or isinstance(value, (If, Function, ExternFunc)) or _stops(value):
            continue
        used = list(variables(value))
        if all(var in known for var in used) and symbols.used(binding.var.info) <= dimensions:
            found.append(binding)
            known.add(binding.var)
            if not held.isdisjoint(used):
                held.add(binding.var)
    return tuple(found), held


def _stops(value: Expr) -> bool:
    """Whether ``value`` is a mark that says: from here on nothing is lifted."""
    return isinstance(value, Call) and value.op is relax_op("builtin.stop_lift_params")


def _in_order(body: SeqExpr) -> Iterator[tuple[Binding | MatchCast, bool]]:
    """Yield the bindings of ``body``, those of nested sequences where they stand, and whether they
    are dataflow.
    """

    def of(seq: SeqExpr) -> Iterator[tuple[Binding | MatchCast, bool]]:
        return ((binding, block.dataflow) for block in seq.blocks for binding in block.bindings)

    stack = [of(body)]
    while stack:
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
            continue
        yield found
        stack += [of(seq) for seq in reversed(sequences(found[0].value))]
