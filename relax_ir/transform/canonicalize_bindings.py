"""CanonicalizeBindings: names for names, casts that say nothing, and tuples taken apart again go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from relay2relax.relax_ir import symbols
from relay2relax.relax_ir.expr import (
    Binding,
    BindingBlock,
    Constant,
    Expr,
    Function,
    IRModule,
    MatchCast,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.infer import unify
from relay2relax.relax_ir.struct_info import TupleStructInfo
from relay2relax.relax_ir.transform.mutator import Mutator, RelaxPass
from relay2relax.relax_ir.transform.rewriter import Rewriter
from relay2relax.relax_ir.visit import all_sequences, bindings, variables
from relay2relax.tir import expr as tir
from relay2relax.tir.extent import Extent, is_any
from relay2relax.tir.stmt import PrimFunc


@dataclass(frozen=True, slots=True)
class CanonicalizeBindings(RelaxPass):
    """Remove bindings that only give another name, and let a block show only what is used outside of it.

    * ``y = x`` and ``y = constant`` go; so does a ``match_cast`` to what is known of the value anyway.
    * A dimension that a ``match_cast`` introduces is what is known of it beforehand: ``k`` of ``match_cast(x, [k])`` is
      ``n`` where ``x`` has ``n`` elements.
    * ``(a, b)[1]`` is ``b``, and ``(t[0], t[1])`` is ``t`` where ``t`` has these two fields.
    * An output of a dataflow block that nothing outside uses becomes a variable of the block; where it is only another
      name of one, that one becomes the output itself.
    """

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with canonical bindings."""
        renamed = {var.name: found for var, func in mod.functions.items() if (found := _known_dimensions(func))}
        if renamed:
            mod = _Dimensions(mod, renamed).module()
        return _Outputs(_Aliases(mod).module()).module()


def _known_dimensions(func: Function | PrimFunc) -> dict[tir.Var, Extent]:
    """Return what the dimensions are that casts of known values introduce; those that casts disagree about stay."""
    if not isinstance(func, Function):
        return {}
    own = symbols.defined(param.info for param in func.params)
    found: dict[tir.Var, Extent] = {}
    open_dimensions: set[tir.Var] = set()
    for seq in all_sequences([func.body]):
        for binding in bindings(seq):
            if isinstance(binding, MatchCast) and isinstance(binding.value, Var):
                values: dict[tir.Var, Extent] = {}
                unify(binding.info, symbols.substitute(binding.value.info, found), values)
                for dimension, extent in values.items():
                    if dimension in own or is_any(extent) or found.get(dimension, extent) != extent:
                        open_dimensions.add(dimension)
                    elif extent is not dimension:
                        found[dimension] = extent
    wrong = {one for one, extent in found.items() if open_dimensions.intersection((one, *symbols.variables(extent)))}
    return {dimension: extent for dimension, extent in found.items() if dimension not in wrong | open_dimensions}


class _Dimensions(Rewriter):
    """Writes extents for dimensions; ``renamed`` says which, by the names of functions."""

    def __init__(self, mod: IRModule, renamed: Mapping[str, Mapping[tir.Var, Extent]]) -> None:
        super().__init__(mod)
        self.renamed = renamed

    def params(self, name: str, func: Function) -> tuple[Sequence[Var], dict[str, Any]]:
        self.extents = dict(self.renamed.get(name, {}))
        return func.params, dict(func.attrs)


class _Aliases(Mutator):
    """Removes bindings that are names of something else."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.tuples: dict[Var, Tuple] = {}
        self.fields: dict[Expr, tuple[Var, int]] = {}

    def bind(self, binding: Binding | MatchCast) -> None:
        var = binding.var
        value = self.simple(binding.value)
        known = isinstance(value, (Var, Constant)) and value.info == var.info
        if known and (isinstance(value, Constant) or var.dataflow or not _is_inner(value)):
            self.values[var] = value
            return
        match value:
            case Tuple():
                self.tuples[var] = value
            case TupleGetItem(Var() as source, index):
                self.fields[var] = source, index
        if value is not binding.value or (known and isinstance(binding, MatchCast)):
            binding = Binding(var, value)
        self.keep(binding)

    def simple(self, value: Expr) -> Expr:
        match value:
            case TupleGetItem(Var() as source, index) if source in self.tuples:
                return self.tuples[source].fields[index]
            case Tuple((first, *_)) if first in self.fields:
                whole, _ = self.fields[first]
                size = len(whole.info.fields) if isinstance(whole.info, TupleStructInfo) else 0
                taken = [self.fields.get(one) for one in value.fields]
                return whole if taken == [(whole, index) for index in range(size)] else value
        return value


def _is_inner(value: Expr) -> bool:
    return isinstance(value, Var) and value.dataflow


class _Outputs(Mutator):
    """Changes which variables of a dataflow block are seen outside."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.bound: dict[Var, Var] = {}
        roots = [func.body for func in mod.functions.values() if isinstance(func, Function)]
        place: dict[Var, BindingBlock] = {}
        shown: set[Var] = set()
        names: list[tuple[Var, Var]] = []
        for seq in all_sequences(roots):
            for block in seq.blocks:
                for binding in block.bindings:
                    place[binding.var] = block
                    shown.update(one for one in variables(binding.value) if place.get(one) is not block)
                    if block.dataflow and isinstance(binding, Binding) and isinstance(binding.value, Var):
                        names.append((binding.value, binding.var))
            shown.update(variables(seq.body))
        for source, name in names:
            if name in shown and source.dataflow and source.info == name.info and place[source] is place[name]:
                self.bound.setdefault(source, name)
        for var, block in place.items():
            if block.dataflow and not var.dataflow and var not in shown:
                self.bound[var] = replace(var, dataflow=True)

    def bind(self, binding: Binding | MatchCast) -> None:
        var = self.bound.get(binding.var)
        if var is not None:
            self.values[binding.var] = var
            binding = replace(binding, var=var)
        match binding:
            case Binding(name, Var(_, info, dataflow=False) as value) if info == name.info:
                self.values.setdefault(name, value)
            case _:
                self.keep(binding)
