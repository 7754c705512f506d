"""Whether a Relax module is well formed; every mistake is reported, not the first only.

Checked are: variables (defined once, before use, dataflow ones inside their block only), A-normal
form, functions (known, called with what they take), struct info (what a variable claims follows
from what it is bound to), symbolic dimensions (introduced by a parameter or a match_cast), purity,
what ``call_tir`` passes to its PrimFunc, and the PrimFuncs themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from relay2relax.core.collection import collection_paused
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.errors.table import relax
from relay2relax.core.progress import each
from relay2relax.core.source import SourceRange
from relay2relax.relax_ir.inference.infer import Inference, StructInfoError, unify
from relay2relax.relax_ir.inference.op_signatures import ForeignOp
from relay2relax.relax_ir.inference.runtime_calls import read_inplace_call
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallTIR,
    Expr,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import ObjectStructInfo, PrimStructInfo, StructInfo, TensorStructInfo
from relay2relax.relax_ir.ir.text import print_struct_info
from relay2relax.relax_ir.ir.visit import Steps, is_argument, operands, run, variables
from relay2relax.tir.analysis.check import check_prim_func
from relay2relax.tir.errors import TIRError
from relay2relax.tir.extent import Extent, is_any
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.expr import PrimExpr
from relay2relax.tir.ir.stmt import PrimFunc


class WellFormedError(Relay2RelaxError):
    """A Relax module is not well formed; ``diagnostics`` lists every mistake."""

    kind = relax.ILL_FORMED


# Where a function, or a variable of it, stands in the text that it was read from.
Places = Callable[[str, "Var | None"], "SourceRange | None"]


@collection_paused()
def check_well_formed(mod: IRModule) -> None:
    """Raise WellFormedError, listing every mistake, unless ``mod`` is well formed."""
    mistakes = find_mistakes(mod)
    if mistakes:
        raise WellFormedError(mistakes)


def find_mistakes(mod: IRModule, place: Places | None = None) -> list[Diagnostic]:
    """Return what is wrong with ``mod``, at the places in its text where ``place`` knows them."""
    checker = _Checker(mod, place)
    for var, func in mod.functions.items():
        checker.where, checker.binding = var.name, None
        if isinstance(func, Function):
            symbol = func.attrs.get("global_symbol", var.name)
            if symbol != var.name:
                checker.report(f"the function has the name {var.name}, and the attribute global_symbol {symbol}")
            run(checker.function(func))
            continue
        if not func.checked:
            continue
        try:
            check_prim_func(func, strict=False)
        except TIRError as error:
            where = place(var.name, None) if place is not None else None
            checker.mistakes += [replace(one, where=one.where or where) for one in error.diagnostics]
    return checker.mistakes


class _Checker:
    def __init__(self, mod: IRModule, place: Places | None) -> None:
        self.mod = mod
        self.place = place
        self.inference = Inference(mod)
        self.mistakes: list[Diagnostic] = []
        self.where = ""
        self.binding: Var | None = None
        self.bound: set[Var] = set()  # everywhere in the module
        self.visible: set[Var] = set()
        self.dimensions: set[tir.Var] = set()
        self.owners: dict[tir.Var, str] = {}  # the function of the module that defines a dimension
        self.pure = True
        self.forced = False
        self.dataflow = False

    def report(self, title: str) -> None:
        place = f"in {self.where}" + (f", where {self.binding.name} is bound" if self.binding is not None else "")
        span = self.binding.span if self.binding is not None else None
        where = self.place(self.where, self.binding) if self.place is not None else None
        self.mistakes.append(Diagnostic(title, where, place, (f"it came from {span}",) if span else ()))

    # Scopes.

    def function(self, func: Function) -> Steps:
        outer = set(self.dimensions), self.pure, self.forced, self.dataflow
        self.define_dimensions(param.info for param in func.params)
        self.pure = func.pure
        # Set by passes that bring effects into functions which are pure as a whole.
        self.forced = bool(func.attrs.get("relax.force_pure"))
        if self.forced and not self.pure:
            self.report("the function is said to be impure, and relax.force_pure to be pure")
        for param in func.params:
            self.define(param)
            if param.dataflow:
                self.report(f"the parameter {param.name} is a dataflow variable")
        known = set(self.dimensions)
        self.dataflow = False
        yield self.sequence(func.body)
        self.binding = None
        self.claim("the result", func.ret, self.info(func.body.body), follows=False)
        self.known_dimensions(func.ret, known)
        self.visible -= set(func.params)
        self.dimensions, self.pure, self.forced, self.dataflow = outer

    def sequence(self, seq: SeqExpr) -> Steps:
        outer = set(self.dimensions)
        own: list[Var] = []
        for block in seq.blocks:
            yield self.block(block)
            own += [binding.var for binding in block.bindings if not binding.var.dataflow]
        self.binding = None
        self.uses(seq.body)
        if not is_argument(seq.body):
            self.report(f"the result is a {type(seq.body).__name__} that has no variable")
        self.visible -= set(own)
        # The result of a branch was looked at above; what the branch defines ends here.
        self.dimensions = outer

    def block(self, block: BindingBlock) -> Steps:
        self.dataflow = block.dataflow
        with each("bindings that are checked", block.bindings) as rest:
            for binding in rest:
                self.binding = binding.var
                if binding.var.dataflow and not block.dataflow:
                    self.report(f"the dataflow variable {binding.var.name} is bound outside of a dataflow block")
                yield self.one_binding(binding, block.dataflow)
                self.dataflow = block.dataflow
                self.binding = binding.var
                self.define(binding.var)
        self.visible -= {binding.var for binding in block.bindings if binding.var.dataflow}
        self.dataflow = False

    def one_binding(self, binding: Binding | MatchCast, dataflow: bool) -> Steps:
        value = binding.value
        if dataflow and isinstance(value, If):
            self.report("a dataflow block contains a branch")
        self.uses(value)
        match value:
            case If(condition, then, otherwise):
                self.condition(condition)
                yield self.sequence(then)
                yield self.sequence(otherwise)
                self.binding = binding.var
            case Function():
                self.visible.add(binding.var)  # a local function may call itself
                yield self.function(value)
                self.binding = binding.var
            case CallTIR(func, args, out, scalars):
                self.prim_func("call_tir", func, args, scalars, out)
            case Call(ForeignOp() as op) if inplace := read_inplace_call(value):
                own = [info for place, info in zip(inplace.places, inplace.out, strict=True) if place < 0]
                self.prim_func(op.name, inplace.func, inplace.args, (), own)
        if (dataflow or (self.pure and not self.forced)) and not self.inference.is_pure(value):
            where = "dataflow block" if dataflow else "pure function"
            self.report(f"a {where} contains a call that may have effects")
        actual = self.info(value)
        if isinstance(binding, MatchCast):
            if actual is not None and (reason := symbols.mismatch(binding.info, actual)):
                self.report(f"the match_cast cannot succeed: {reason}")
            self.define_dimensions((binding.info,))
            actual = binding.info
        self.claim(binding.var.name, binding.var.info, actual)

    # What a variable is.

    def define(self, var: Var) -> None:
        if var in self.bound:
            self.report(f"the variable {var.name} is defined twice")
        self.bound.add(var)
        self.visible.add(var)
        self.known_dimensions(var.info, self.dimensions)

    def define_dimensions(self, infos: Iterable[StructInfo]) -> None:
        for var in symbols.defined(infos):
            if self.owners.setdefault(var, self.where) != self.where:
                self.report(f"the symbolic dimension {var.name} is one of {self.owners[var]}, too")
            self.dimensions.add(var)

    def info(self, expr: Expr) -> StructInfo | None:
        try:
            return self.inference.of(expr)
        except StructInfoError as error:
            self.report(error.diagnostics[0].title)
            return None

    def claim(self, what: str, claimed: StructInfo, actual: StructInfo | None, follows: bool = True) -> None:
        """Report a claim that does not follow from what is inferred; claiming less is allowed.

        On which device a tensor lies is a wish until ``RealizeVDevice`` has seen to it. Where it
        need not follow, a claim is wrong only if it cannot be right: TVM lets a function say more
        of its result than inference knows.
        """
        if actual is None or claimed == actual:
            return
        claimed, actual = symbols.unplaced(claimed), symbols.unplaced(actual)
        reason = symbols.mismatch(claimed, actual)
        if follows and not reason and symbols.join(claimed, actual) != claimed and not symbols.is_opaque(actual):
            reason = "that does not follow"
        if reason:
            said, found = print_struct_info(claimed), print_struct_info(actual)
            self.report(f"{what} is said to be {said}, but is {found}: {reason}")

    def known_dimensions(self, info: StructInfo, known: set[tir.Var]) -> None:
        self.dimensions_of(symbols.extents(info), known)
        self.integers(symbols.extents(info, scalars=False))

    def integers(self, extents: Iterable[Extent]) -> None:
        for extent in extents:
            if isinstance(extent, PrimExpr) and not is_any(extent) and extent.dtype != "int64":
                self.report(f"an extent has dtype {extent.dtype}, expected int64")

    def dimensions_of(self, extents: Iterable[Extent], known: set[tir.Var]) -> None:
        for extent in extents:
            for var in symbols.variables(extent):
                if var not in known:
                    self.report(f"the symbolic dimension {var.name} is not defined")

    # What an expression uses.

    def uses(self, expr: Expr) -> None:
        for var in variables(expr):
            if var not in self.visible or (var.dataflow and not self.dataflow):
                known = "out of reach here" if var in self.bound else "not defined"
                kind = "dataflow variable" if var.dataflow else "variable"
                self.report(f"the {kind} {var.name} is {known}")
        for one in (expr, *operands(expr)):
            if one is not expr and not is_argument(one):
                self.report(f"an argument is a {type(one).__name__}; it needs a variable of its own")
            match one:
                case ShapeExpr(values):
                    self.dimensions_of(values, self.dimensions)
                    self.integers(values)
                case PrimValue(value):
                    self.dimensions_of([value], self.dimensions)
                case GlobalVar(name) if one not in self.mod.functions:
                    self.report(_no_function(name))
        if isinstance(expr, CallTIR):
            for info in expr.out:
                self.known_dimensions(info, self.dimensions)
            self.dimensions_of(expr.tir_args, self.dimensions)

    def condition(self, condition: Expr) -> None:
        match self.info(condition):
            case None | TensorStructInfo(_, "" | "bool", 0 | -1) | PrimStructInfo("bool"):
                pass
            case TensorStructInfo(None, _, 1) | TensorStructInfo((1,), "" | "bool", _):
                pass  # TVM's machine looks at the one element.
            case info:
                self.report(f"a condition is a rank-0 bool, this is {print_struct_info(info)}")

    def prim_func(
        self, op: str, callee: GlobalVar, args: Sequence[Expr], scalars: Sequence[PrimExpr], out: Sequence[StructInfo]
    ) -> None:
        """Check a call of a PrimFunc by ``op``, which allocates the results ``out``."""
        func = self.mod.functions.get(callee)
        name = callee.name
        if func is None:
            self.report(_no_function(name))
            return
        if not isinstance(func, PrimFunc):
            self.report(f"{op} calls {name}, which is not a PrimFunc")
            return
        try:
            infos = [self.inference.of(arg) for arg in args]
        except StructInfoError as error:
            self.report(error.diagnostics[0].title)
            return
        given: list[StructInfo] = [*infos, *(PrimStructInfo(arg.dtype, arg) for arg in scalars), *out]
        if len(given) != len(func.params):
            self.report(
                f"{name} has {len(func.params)} parameters; {op} passes {len(args)} arguments, "
                f"{len(scalars)} scalars and {len(out)} results"
            )
            return
        expected: list[StructInfo] = []
        for param in func.params:
            buffer = func.buffer_map.get(param)
            expected.append(
                ObjectStructInfo()
                if buffer is None and param.dtype == "handle"
                else PrimStructInfo(param.dtype, param)
                if buffer is None
                else TensorStructInfo(tuple(symbols.static_extent(e) for e in buffer.shape), buffer.dtype)
            )
        values: dict[tir.Var, Extent] = {}
        for one, info in zip(expected, given, strict=True):
            unify(one, info, values)
        for index, (one, info) in enumerate(zip(expected, given, strict=True)):
            if reason := symbols.mismatch(symbols.substitute(one, values), symbols.whole(info)):
                what = f"argument {index}" if index < len(args) else f"result {index - len(given) + len(out)}"
                self.report(f"{what} of {name}: {reason}")


def _no_function(name: str) -> str:
    return f"the module has no function {name}"
