"""CanonicalizeBindings: names for names, casts that say nothing, and tuples taken apart again
go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import relax
from relay2relax.core.passes import note_rewritten
from relay2relax.relax_ir.inference.infer import unify
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Constant,
    Expr,
    Function,
    GlobalVar,
    IRModule,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import TupleStructInfo
from relay2relax.relax_ir.ir.visit import all_sequences, bindings, free_variables, variables
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass, rebound
from relay2relax.relax_ir.transform.rewriting.rewriter import Rewriter
from relay2relax.tir.arith.simplify import prove
from relay2relax.tir.extent import Extent, as_prim, is_any
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.expr import binary
from relay2relax.tir.ir.stmt import PrimFunc


class MatchCastError(Relay2RelaxError):
    """Two casts say different things about one dimension, so that one of them fails whenever the
    program runs.
    """

    kind = relax.MATCH_CAST


@dataclass(frozen=True, slots=True)
class CanonicalizeBindings(RelaxPass):
    """Remove bindings that only give another name, and let a block show only what is used outside
    of it.

    * ``y = x`` goes; so does a ``match_cast`` to what is known of the value anyway, and ``y =
      t[0]`` where ``t`` was put together of what has a name. Whoever uses ``y = constant`` uses the
      constant; ``y`` itself is left to DeadCodeElimination.
    * A dimension that a ``match_cast`` introduces is what is known of it beforehand: ``k`` of
      ``match_cast(x, [k])`` is ``n`` where ``x`` has ``n`` elements. Raises MatchCastError where
      two casts cannot both be true.
    * ``(t[0], t[1])`` is ``t`` where ``t`` is a parameter of these two fields.
    * An output of a dataflow block that nothing outside uses becomes a variable of the block; where
      it is only another name of one, that one becomes the output itself.
    """

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with canonical bindings."""
        known = {var.name: _known_dimensions(var.name, func) for var, func in mod.functions.items()}
        renamed = {name: found for name, found in known.items() if found}
        if renamed:
            mod = _Dimensions(mod, renamed).module()
        return _Canonical(mod).module()


def _known_dimensions(name: str, func: Function | PrimFunc) -> dict[tir.Var, Extent]:
    """Return what the dimensions are that casts of known values introduce.

    Where casts say different things, the first one counts; the others then check that the second is
    the same. A dimension that has different values in two branches stays.
    """
    if not isinstance(func, Function):
        return {}
    own = symbols.defined(param.info for param in func.params)
    found: dict[tir.Var, Extent] = {}
    source: dict[tir.Var, tuple[SeqExpr, Var]] = {}
    staying: set[tir.Var] = set()
    for seq in all_sequences([func.body]):
        for binding in bindings(seq):
            if not isinstance(binding, MatchCast) or not isinstance(binding.value, Var):
                continue
            values: dict[tir.Var, Extent] = {}
            unify(binding.info, symbols.substitute(binding.value.info, found), values)
            for dimension, extent in values.items():
                if dimension in own or is_any(extent):
                    staying.add(dimension)
                elif dimension in found:
                    where, first = source[dimension]
                    if where is not seq:
                        staying.add(dimension)
                    elif prove(binary("!=", as_prim(found[dimension]), as_prim(extent))):
                        raise MatchCastError(
                            f"{name}: casts disagree about the dimension {dimension.name!r}: it is {found[dimension]} "
                            f"by {first.name!r}, and {extent} by {binding.var.name!r}"
                        )
                elif extent is not dimension:
                    found[dimension] = extent
                    source[dimension] = seq, binding.var
    wrong = {one for one, extent in found.items() if staying.intersection((one, *symbols.variables(extent)))}
    return {dimension: extent for dimension, extent in found.items() if dimension not in wrong}


class _Dimensions(Rewriter):
    """Writes extents for dimensions; ``renamed`` says which, by the names of functions."""

    def __init__(self, mod: IRModule, renamed: Mapping[str, Mapping[tir.Var, Extent]]) -> None:
        super().__init__(mod)
        self.renamed = renamed

    def params(self, name: str, func: Function) -> tuple[Sequence[Var], dict[str, Any]]:
        self.extents = dict(self.renamed.get(name, {}))
        return func.params, dict(func.attrs)


class _Plan:
    """What becomes of the variables of a function, found before anything is changed.

    ``bound`` says which variable a binding gets in place of its own, ``gone`` which bindings go,
    ``used`` what stands where a variable was used.
    """

    def __init__(self, func: Function) -> None:
        self.bound: dict[Var, Var] = {}
        self.gone: set[Var] = set()
        self.used: dict[Var, Expr] = {}
        # What values are, as far as names and tuples are seen through.
        self.known: dict[Var, Expr] = {}
        self.names: dict[Var, Var] = {}
        self.home: dict[Var, BindingBlock] = {}
        self.shown: set[Var] = set()
        for seq in all_sequences([func.body]):
            home: BindingBlock | None = None
            for block in seq.blocks:
                # Blocks of one kind that follow each other count as one, which they become.
                home = home if home is not None and home.dataflow == block.dataflow else block
                for binding in block.bindings:
                    self.look(binding, home)
            self.shown.update(variables(seq.body))
        constants = {var: value for var, value in self.known.items() if isinstance(value, Constant)}
        for var, block in self.home.items():
            if block.dataflow and not var.dataflow and var not in self.shown:
                self.bound[var] = replace(var, dataflow=True)
        self.used.update(self.bound)
        for name, source in self.names.items():
            # Sources come before their names, so what one is a name of is known already.
            whole = self.names[name] = self.names.get(source, source)
            whole = self.bound.get(whole, whole)
            self.gone.add(name)
            if name.dataflow or not whole.dataflow or name not in self.shown:
                self.used[name] = whole
            else:
                # An output that is only a name of an inner variable becomes the variable.
                self.bound[whole] = self.used[whole] = name
                self.used.pop(name, None)
        for var in self.home:
            found = self.resolved(var)
            if found in constants:
                self.used[var] = constants[found]
            self.bound[var] = self.place(var)

    def look(self, binding: Binding | MatchCast, block: BindingBlock) -> None:
        var, value = binding.var, self.simple(binding.value)
        if isinstance(value, Var):
            # A name that says more of its value is more than a name: the machine looks whether it
            # is right.
            cast = isinstance(binding, MatchCast)
            same = value.info == var.info if cast else not symbols.is_narrower(var.info, value.info)
            if same:
                self.names[var] = value
        self.known[var] = value
        self.home[var] = block
        local = isinstance(binding.value, Function)
        for one in free_variables(binding.value) if local else variables(binding.value):
            if local or not block.dataflow or self.home.get(one, block) is not block:
                self.shown.add(one)

    def simple(self, value: Expr) -> Expr:
        """Return what ``value`` is: a field of a tuple that was put together, or a tuple that was
        taken apart.
        """
        match value:
            case TupleGetItem(source, index):
                whole = self.seen(source)
                return whole.fields[index] if isinstance(whole, Tuple) else value
            case Tuple(fields) if fields:
                taken = [self.seen(one) for one in fields]
                first = taken[0]
                if isinstance(first, TupleGetItem):
                    whole = self.seen(first.tuple_value)
                    info = whole.info if isinstance(whole, Var) else None
                    same = isinstance(info, TupleStructInfo) and len(info.fields) == len(taken)
                    for index, one in enumerate(taken):
                        same = same and isinstance(one, TupleGetItem) and one.index == index
                        same = same and isinstance(one, TupleGetItem) and self.seen(one.tuple_value) is whole
                    return whole if same else value
        return value

    def seen(self, value: Expr) -> Expr:
        """Return what is bound to a variable, seen through names."""
        while isinstance(value, Var) and value in self.known:
            value = self.known[value]
        return value

    def resolved(self, var: Var) -> Var:
        while isinstance(other := self.used.get(var), Var):
            var = other
        return var

    def place(self, var: Var) -> Var:
        while var in self.bound:
            var = self.bound[var]
        return var


class _Canonical(Mutator):
    """Carries out the plans of functions."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.plan: _Plan | None = None

    def function(self, var: GlobalVar, func: Function) -> Function:
        self.plan = _Plan(func)
        self.values.update(self.plan.used)
        note_rewritten(self.plan.bound)
        note_rewritten(self.plan.used)
        return super().function(var, func)

    def bind(self, binding: Binding | MatchCast) -> None:
        assert self.plan is not None
        var = self.plan.bound.get(binding.var, binding.var)
        if binding.var not in self.plan.gone:
            self.keep(binding if var is binding.var else rebound(binding, var, binding.value))
