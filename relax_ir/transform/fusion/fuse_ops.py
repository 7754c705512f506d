"""FuseOps: calls of PrimFuncs that are computed together become functions of their own."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import PassContext
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallTIR,
    Constant,
    Expr,
    Function,
    GlobalVar,
    IRModule,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import ShapeStructInfo, StructInfo
from relay2relax.relax_ir.ir.visit import operands, variables, with_operands
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass
from relay2relax.relax_ir.transform.rewriting.rewriter import substitute_extents
from relay2relax.tir.analysis.fusion_groups import Node, groups_of
from relay2relax.tir.analysis.pattern import OpPattern, op_pattern
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.stmt import PrimFunc

# How long the name of a fused function may become.
_LONGEST_NAME = 240
# How many calls one group has at most.
_MOST = 256


@dataclass(frozen=True, slots=True)
class FuseOps(RelaxPass):
    """Group calls of PrimFuncs in dataflow blocks by how they use their operands, as TVM's FuseOps
    does.

    Each group of several becomes a private function with the attribute ``Primitive``, which
    :class:`FuseTIR` makes one PrimFunc of. How a PrimFunc uses its operands is what its attribute
    ``op_pattern`` says, else what its blocks show. ``fuse_opt_level`` 0 fuses nothing; -1 stands
    for the context's ``opt_level``. ``max_depth`` is the most that are put into one group, by
    default what the context's option ``relax.FuseOps.max_depth`` says, else 256. Equal groups share
    one function.
    """

    fuse_opt_level: int = -1
    max_depth: int | None = None
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its calls grouped."""
        context = PassContext.current()
        if (context.opt_level if self.fuse_opt_level < 0 else self.fuse_opt_level) == 0:
            return mod
        most = context.config.get("relax.FuseOps.max_depth", _MOST) if self.max_depth is None else self.max_depth
        return _Fuser(mod, most).module()


class _Fuser(Mutator):
    def __init__(self, mod: IRModule, most: int) -> None:
        super().__init__(mod)
        self.most = most
        self.patterns: dict[GlobalVar, OpPattern] = {}
        self.added: dict[GlobalVar, Function] = {}
        self.alike: dict[Hashable, GlobalVar] = {}
        self.supply = NameSupply()
        for var in mod.functions:
            self.supply.reserve(var.name)
        # The members of the group that a binding ends, and the bindings that wait for the end of
        # theirs.
        self.ending: dict[Var, list[Binding]] = {}
        self.waiting: set[Var] = set()
        self.weights: set[Var] = set()

    def module(self) -> IRModule:
        changed = super().module()
        return replace(changed, functions={**changed.functions, **self.added}) if self.added else changed

    def function(self, var: GlobalVar, func: Function) -> Function:
        # Parameters behind the inputs are weights, which a tuple may hold together.
        self.weights = set(func.params[func.num_input :])
        return func if func.attrs.get("Primitive") else super().function(var, func)

    def block(self, block: BindingBlock) -> None:
        self.ending, self.waiting = {}, set()
        if not block.dataflow:
            return
        members: dict[int, list[Binding]] = {}
        nodes = self.graph(block)
        groups = groups_of(nodes, self.most)
        for binding, group in zip(block.bindings, groups, strict=True):
            if isinstance(binding, Binding):
                members.setdefault(group, []).append(binding)
        used = {groups[at] for at, node in enumerate(nodes) if node.shown}
        used |= {g for g, node in zip(groups, nodes, strict=True) for user, _ in node.users if groups[user] != g}
        for group, bound in members.items():
            if len(bound) > 1 and group not in used:
                # Nothing needs what these compute.
                self.waiting.update(binding.var for binding in bound)
                continue
            inside = {binding.var for binding in bound}
            # Fields of a tuple from outside are taken there, so that the function gets what it
            # needs only.
            computed = [one for one in bound if not _is_field(one) or not inside.isdisjoint(variables(one.value))]
            if len(bound) > 1 and computed:
                self.ending[computed[-1].var] = computed
                self.waiting.update(binding.var for binding in computed[:-1])

    def graph(self, block: BindingBlock) -> list[Node]:
        places = {binding.var: index for index, binding in enumerate(block.bindings)}
        nodes: list[Node] = []
        for index, binding in enumerate(block.bindings):
            pattern = self.pattern(binding)
            nodes.append(Node(pattern, shown=not binding.var.dataflow))
            for var in dict.fromkeys(variables(binding.value)):
                if var in places:
                    nodes[places[var]].users.append((index, pattern))
        return nodes

    def pattern(self, binding: Binding | MatchCast) -> OpPattern:
        match binding:
            case Binding(_, CallTIR(callee)):
                func = self.mod.functions[callee]
                if callee not in self.patterns:
                    self.patterns[callee] = _pattern(func) if isinstance(func, PrimFunc) else OpPattern.OPAQUE
                return self.patterns[callee]
            case Binding(_, TupleGetItem(Var() as source)) if source not in self.weights:
                return OpPattern.INJECTIVE
        return OpPattern.OPAQUE

    def bind(self, binding: Binding | MatchCast) -> None:
        if binding.var in self.waiting:
            return
        members = self.ending.get(binding.var)
        if members is None:
            self.keep(binding)
            return
        callee, args = self.fused(members)
        self.keep(Binding(binding.var, Call(callee, tuple(self.expr(arg) for arg in args))))

    def fused(self, members: Sequence[Binding]) -> tuple[GlobalVar, Sequence[Expr]]:
        """Return the function that computes ``members``, and its arguments."""
        inside = {binding.var for binding in members}
        args: dict[Hashable, Expr] = {}
        for binding in members:
            for leaf in _leaves(binding.value):
                if isinstance(leaf, Constant) or (isinstance(leaf, Var) and leaf not in inside):
                    args.setdefault(_identity(leaf), leaf)
        hints = [binding.value.func.name for binding in members if isinstance(binding.value, CallTIR)]
        hint = "_".join(["fused", *hints])[:_LONGEST_NAME]
        own = {binding.var: place for place, binding in enumerate(members)}
        given = {key: len(own) + place for place, key in enumerate(args)}
        key = (hint, tuple(_info(arg) for arg in args.values()), tuple(_key(one, own, given) for one in members))
        callee = self.alike.get(key)
        if callee is None:
            callee = self.alike[key] = GlobalVar(self.supply.fresh(hint))
            self.added[callee] = _function(members, args)
        free = _free_dimensions(members, args.values())
        return callee, [*args.values(), *([ShapeExpr(free)] if free else [])]


def _is_field(binding: Binding) -> bool:
    return isinstance(binding.value, TupleGetItem)


def _pattern(func: PrimFunc) -> OpPattern:
    said = func.attrs.get("op_pattern")
    return OpPattern(said) if said in set(OpPattern) else op_pattern(func)


def _leaves(value: Expr) -> list[Expr]:
    found: list[Expr] = []
    for one in operands(value):
        found += _leaves(one) if isinstance(one, Tuple) else [one]
    return found


def _identity(leaf: Expr) -> Hashable:
    return id(leaf.data) if isinstance(leaf, Constant) else leaf


def _info(arg: Expr) -> StructInfo:
    assert isinstance(arg, (Var, Constant))
    return arg.info


def _key(binding: Binding, own: dict[Var, int], given: dict[Hashable, int]) -> Hashable:
    """Return what is equal for equal members of groups; values are numbers within the group."""

    def leaf(one: Expr) -> Hashable:
        match one:
            case Var() if one in own:
                return own[one]
            case Var() | Constant():
                return given[_identity(one)]
            case Tuple(fields):
                return tuple(map(leaf, fields))
            case ShapeExpr(values):
                return ("shape", values)
        return one

    match binding.value:
        case CallTIR(func, args, out, scalars):
            return (func, tuple(map(leaf, args)), out, scalars)
        case TupleGetItem(source, index):
            return (leaf(source), index)
    return binding


def _free_dimensions(members: Sequence[Binding], args: Iterable[Expr]) -> tuple[tir.Var, ...]:
    """Return the symbolic dimensions that the members use and no argument tells."""
    told = symbols.defined(_info(arg) for arg in args)
    used: dict[tir.Var, None] = {}
    for binding in members:
        extents = list(symbols.extents(binding.var.info))
        if isinstance(binding.value, CallTIR):
            extents += binding.value.tir_args
        used.update(dict.fromkeys(var for extent in extents for var in symbols.variables(extent)))
    return tuple(var for var in used if var not in told)


def _function(members: Sequence[Binding], args: Mapping[Hashable, Expr]) -> Function:
    """Return the function of the group; its dimensions are its own."""
    free = _free_dimensions(members, args.values())
    used = [*map(_info, args.values()), *(binding.var.info for binding in members)]
    fresh: dict[tir.Var, Extent] = {}
    for info in (*used, ShapeStructInfo(free)):
        for extent in symbols.extents(info):
            fresh.update((var, tir.Var(var.name, var.dtype)) for var in symbols.variables(extent) if var not in fresh)
    params: dict[Hashable, Var] = {}
    for key, arg in args.items():
        name = arg.name if isinstance(arg, Var) else f"param_{len(params)}"
        params[key] = Var(name, symbols.substitute(_info(arg), fresh))
    values: dict[Hashable, Expr] = dict(params)

    def renamed(value: Expr) -> Expr:
        inner = [one if isinstance(one, ShapeExpr) else renamed(one) for one in operands(value)]
        if isinstance(value, (Var, Constant)):
            return values[_identity(value)]
        return substitute_extents(with_operands(value, inner) if inner else value, fresh)

    bindings: list[Binding | MatchCast] = []
    for binding in members:
        last = binding is members[-1]
        var = Var("gv" if last else binding.var.name, symbols.substitute(binding.var.info, fresh), dataflow=not last)
        bindings.append(Binding(var, renamed(binding.value)))
        values[binding.var] = var
    result = bindings[-1].var
    own = [*params.values(), *([Var("tir_vars", symbols.substitute(ShapeStructInfo(free), fresh))] if free else [])]
    body = SeqExpr((BindingBlock(tuple(bindings), dataflow=True),), result)
    return Function(tuple(own), body, result.info, {"Primitive": True}, private=True)
