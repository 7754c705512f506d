"""What Relax programs use, define and do: the questions that passes of one's own ask, under TVM's
names.

What is found comes in the order in which the program has it first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from relay2relax.relax_ir.inference.infer import Inference
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallDPSPacked,
    CallTIR,
    Expr,
    Function,
    GlobalVar,
    IRModule,
    MatchCast,
    PrimValue,
    ShapeExpr,
    Var,
)
from relay2relax.relax_ir.ir.functor import ExprVisitor, Program
from relay2relax.relax_ir.ir.struct_info import StructInfo
from relay2relax.relax_ir.ir.visit import all_sequences, bindings, variables
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir import expr as tir


def post_order_visit(program: Program, visit: Callable[[Expr], None]) -> None:
    """Call ``visit`` for every expression of ``program``, parts before wholes."""

    class Post(ExprVisitor):
        def visit_default(self, expr: Expr) -> None:
            visit(expr)

    Post().visit(program)


class _Names(ExprVisitor):
    """The variables, functions of the module and symbolic dimensions of a program."""

    def __init__(self, program: Program) -> None:
        self.used: dict[Var, None] = {}
        self.bound: dict[Var, None] = {}
        self.all: dict[Var, None] = {}
        self.globals: dict[GlobalVar, None] = {}
        self.dimensions: dict[tir.Var, None] = {}
        self.defined: dict[tir.Var, None] = {}
        self.visit(program)

    def enter(self, expr: Expr) -> bool:
        if isinstance(expr, Function):
            self.define(param.info for param in expr.params)
            self.mention(expr.ret)
        return True

    def visit_var(self, var: Var) -> None:
        self.used[var] = self.all[var] = None

    def visit_var_def(self, var: Var) -> None:
        self.bound[var] = self.all[var] = None
        self.mention(var.info)

    def visit_match_cast(self, binding: MatchCast) -> None:
        self.define((binding.info,))
        self.mention(binding.info)

    def visit_global_var(self, var: GlobalVar) -> None:
        self.globals[var] = None

    def visit_shape_expr(self, shape: ShapeExpr) -> None:
        self.extents(shape.values)

    def visit_prim_value(self, value: PrimValue) -> None:
        self.extents((value.value,))

    def visit_call_tir(self, call: CallTIR) -> None:
        self.extents(call.tir_args)
        for info in call.out:
            self.mention(info)

    def visit_call_dps_packed(self, call: CallDPSPacked) -> None:
        for info in call.out:
            self.mention(info)

    def define(self, infos: Iterable[StructInfo]) -> None:
        for info in infos:
            self.defined.update(dict.fromkeys(definable_tir_vars_in_struct_info(info)))

    def mention(self, info: StructInfo) -> None:
        self.dimensions.update(dict.fromkeys(tir_vars_in_struct_info(info)))

    def extents(self, extents: Iterable[Extent]) -> None:
        for extent in extents:
            self.dimensions.update(dict.fromkeys(symbols.variables(extent)))


def all_vars(program: Program) -> tuple[Var, ...]:
    """Return every variable that ``program`` binds or uses."""
    return tuple(_Names(program).all)


def bound_vars(program: Program) -> tuple[Var, ...]:
    """Return the variables that ``program`` binds, parameters among them."""
    return tuple(_Names(program).bound)


def free_vars(program: Program) -> tuple[Var, ...]:
    """Return the variables that ``program`` uses and does not bind."""
    names = _Names(program)
    return tuple(var for var in names.used if var not in names.bound)


def used_vars(program: Program) -> tuple[Var, ...]:
    """Return the variables that ``program`` uses, bound in it or not."""
    return tuple(_Names(program).used)


def all_global_vars(program: Program) -> tuple[GlobalVar, ...]:
    """Return the functions of the module that ``program`` calls or mentions."""
    return tuple(_Names(program).globals)


def tir_vars_in_struct_info(info: StructInfo) -> tuple[tir.Var, ...]:
    """Return the symbolic dimensions in ``info``."""
    return tuple(dict.fromkeys(var for extent in symbols.extents(info) for var in symbols.variables(extent)))


def definable_tir_vars_in_struct_info(info: StructInfo) -> tuple[tir.Var, ...]:
    """Return the symbolic dimensions that a value of ``info`` determines: those that are an extent
    by themselves.
    """
    return tuple(dict.fromkeys(extent for extent in symbols.extents(info) if isinstance(extent, tir.Var)))


def defined_symbolic_vars(program: Program) -> tuple[tir.Var, ...]:
    """Return the symbolic dimensions that parameters and casts of ``program`` define."""
    return tuple(_Names(program).defined)


def free_symbolic_vars(program: Program) -> tuple[tir.Var, ...]:
    """Return the symbolic dimensions that ``program`` uses and does not define."""
    names = _Names(program)
    return tuple(var for var in names.dimensions if var not in names.defined)


def udchain(block: BindingBlock) -> dict[Var, tuple[Var, ...]]:
    """Return, for every variable that ``block`` binds or uses, the variables whose values use
    it.
    """
    users: dict[Var, dict[Var, None]] = {}
    for binding in block.bindings:
        for used in variables(binding.value):
            users.setdefault(used, {})[binding.var] = None
        users.setdefault(binding.var, {})
    return {var: tuple(found) for var, found in users.items()}


def get_var2val(function: Function) -> dict[Var, Expr]:
    """Return what every variable is bound to in ``function``, in branches and local functions as
    well.
    """
    return {binding.var: binding.value for seq in all_sequences((function.body,)) for binding in bindings(seq)}


def name_to_binding(function: Function) -> dict[str, list[Binding | MatchCast]]:
    """Return the bindings of ``function`` by the names of their variables, of which several may be
    alike.
    """
    found: dict[str, list[Binding | MatchCast]] = {}
    for seq in all_sequences((function.body,)):
        for binding in bindings(seq):
            found.setdefault(binding.var.name, []).append(binding)
    return found


def contains_impure_call(program: Expr, module: IRModule | None = None, own: Var | GlobalVar | None = None) -> bool:
    """Whether a call in ``program`` may have effects.

    ``module`` is where the functions that it calls are; those that are unknown count as pure. A
    local function counts where it is called. ``own`` is what ``program`` is called by itself, which
    does not make it impure.
    """
    inference = Inference(module)
    found: list[Call] = []

    class Calls(ExprVisitor):
        def enter(self, expr: Expr) -> bool:
            return not isinstance(expr, Function) or expr is program

        def visit_call(self, call: Call) -> None:
            if call.op is not own and not inference.is_pure(call):
                found.append(call)

    Calls().visit(program)
    return bool(found)


def detect_recursion(module: IRModule) -> list[tuple[GlobalVar, ...]]:
    """Return the groups of Relax functions that call each other in circles, or themselves.

    Sorted by name.
    """
    import networkx as nx

    graph: nx.DiGraph[GlobalVar] = nx.DiGraph()
    for var, func in module.functions.items():
        if isinstance(func, Function):
            callees = [one for one in all_global_vars(func) if isinstance(module.functions.get(one), Function)]
            graph.add_edges_from((var, callee) for callee in callees)
    groups = (tuple(sorted(group, key=lambda one: one.name)) for group in nx.strongly_connected_components(graph))
    circles = [group for group in groups if len(group) > 1 or graph.has_edge(group[0], group[0])]
    return sorted(circles, key=lambda group: group[0].name)


def erase_to_well_defined(info: StructInfo, known: Iterable[tir.Var]) -> StructInfo:
    """Return what is left of ``info`` where only the symbolic dimensions ``known`` are in scope."""
    return symbols.erase(info, set(known))


def struct_info_lca(a: StructInfo, b: StructInfo) -> StructInfo:
    """Return the strongest struct info that values of ``a`` and of ``b`` both have."""
    return symbols.join(a, b)
