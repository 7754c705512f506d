"""A rule written as a module: the function ``pattern`` is what is looked for, ``replacement`` what
takes its place.

    @I.ir_module
    class Doubling:
        @R.function
        def pattern(A: R.Tensor(("n",), "float32")):
            return R.add(A, A)

        @R.function
        def replacement(A: R.Tensor(("n",), "float32")):
            return R.multiply(A, R.const(2, "float32"))

Dimensions of the parameters stand for any that fit. Private functions beside both may be called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import patterns as kinds
from relay2relax.core.matching.language import wildcard
from relay2relax.core.matching.patterns import (
    CallPattern,
    DFPattern,
    ExternFuncPattern,
    OperatorPattern,
    PrimArrPattern,
    TupleGetItemPattern,
    TypePattern,
    WildcardPattern,
)
from relay2relax.core.matching.view import PatternError
from relay2relax.core.walk import post_order
from relay2relax.relax_ir.analysis.structural_equal import structural_equal
from relay2relax.relax_ir.dpl.patterns import TuplePattern
from relay2relax.relax_ir.dpl.rewriters import Rule, rule_of
from relay2relax.relax_ir.dpl.view import RelaxView
from relay2relax.relax_ir.inference.infer import Inference, function_info, unify
from relay2relax.relax_ir.ir.expr import (
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    Expr,
    ExternFunc,
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
from relay2relax.relax_ir.ir.struct_info import PrimStructInfo, StructInfo
from relay2relax.relax_ir.ir.visit import bindings, operands, sequences, with_operands
from relay2relax.relax_ir.transform.rewriting.rewriter import substitute_extents
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir import expr as tir


def rule_of_module(mod: IRModule) -> Rule:
    """Return the rule; raises PatternError for a module that is none.

    Both functions are there and take and return the same, their bodies are bindings of calls,
    tuples and constants in a row, and what they call beside them is private.
    """
    pattern, replacement = _function(mod, "pattern"), _function(mod, "replacement")
    if not structural_equal(function_info(pattern), function_info(replacement), map_free_vars=True):
        raise _mistake("the replacement of a rule", "of the signature of its pattern", "another")
    others: dict[GlobalVar, Any] = {}
    for var, func in mod.functions.items():
        if var.name not in ("pattern", "replacement"):
            if not func.private:
                raise _mistake(f"{var.name!r} beside pattern and replacement", "private", "a public function")
            others[var] = func
    inference = Inference(mod)
    params = [wildcard() for _ in pattern.params]
    whole = _pattern(pattern, params)

    def made(value: Expr, matches: Mapping[DFPattern, Expr]) -> Expr:
        view = RelaxView({}, inference)
        dimensions: dict[tir.Var, Extent] = {}
        for part, param in zip(params, replacement.params, strict=True):
            unify(param.info, _info(matches[part], view), dimensions)
        given = {param: matches[part] for part, param in zip(params, replacement.params, strict=True)}
        return _filled(replacement, given, dimensions)

    return rule_of(whole, made, others)


def _info(value: Expr, view: RelaxView) -> StructInfo:
    return view.info(value)


def _function(mod: IRModule, name: str) -> Function:
    try:
        found = mod[name]
    except Relay2RelaxError as error:
        raise _mistake(f"{name!r} of a module that is a rule", "a function", "nothing") from error
    if not isinstance(found, Function):
        raise _mistake(f"{name!r} of a module that is a rule", "a Relax function", type(found).__name__)
    return found


def _mistake(what: str, expected: str, found: str) -> PatternError:
    return PatternError(mistake(kinds.PATTERN, what=what, expected=expected, found=found))


def _pattern(func: Function, params: list[WildcardPattern]) -> DFPattern:
    """Return the pattern of what ``func`` returns; ``params`` stand for its parameters."""
    known: dict[Var, DFPattern] = {
        param: one.has_struct_info(param.info) for param, one in zip(func.params, params, strict=True)
    }
    for binding in bindings(func.body):
        made = _value_pattern(binding.value, known)
        known[binding.var] = made.has_struct_info(binding.info) if isinstance(binding, MatchCast) else made
    return _value_pattern(func.body.body, known)


def _value_pattern(value: Expr, known: Mapping[Var, DFPattern]) -> DFPattern:
    made: dict[Expr, DFPattern] = dict(known)  # type: ignore[arg-type]
    view = RelaxView()
    for node in post_order((value,), operands):
        if node in made:
            continue
        match node:
            case Call() | CallTIR() | CallDPSPacked():
                callee, args = view.call(node) or (None, ())
                name = view.operator(callee)
                op: DFPattern
                if name is not None:
                    op = OperatorPattern(name)
                else:
                    op = ExternFuncPattern(callee.name) if isinstance(callee, ExternFunc) else _leaf(callee)
                made[node] = CallPattern(op, tuple(made.get(one) or _leaf_or_tuple(one, made) for one in args))
            case Tuple(fields):
                made[node] = TuplePattern([made[one] for one in fields])
            case TupleGetItem(source, index):
                made[node] = TupleGetItemPattern(made[source], index)
            case _:
                made[node] = _leaf(node)
    return made[value]


def _leaf_or_tuple(node: Expr, made: Mapping[Expr, DFPattern]) -> DFPattern:
    """Return the pattern of an argument of a ``call_tir``, which is a tuple that nothing binds."""
    return TuplePattern([made[one] for one in node.fields]) if isinstance(node, Tuple) else _leaf(node)


def _leaf(node: object) -> DFPattern:
    match node:
        case ExternFunc(name):
            return ExternFuncPattern(name)
        case ShapeExpr(values):
            return PrimArrPattern(values)
        case PrimValue(value):
            return TypePattern(wildcard(), PrimStructInfo(value.dtype))
    raise _mistake("what a rule looks for", "calls of operators and external functions", type(node).__name__)


def _filled(func: Function, given: Mapping[Var, Expr], dimensions: Mapping[tir.Var, Extent]) -> Expr:
    """Return the result of ``func`` for ``given`` as one expression, which shares its parts."""
    made: dict[Expr, Expr] = dict(given)  # type: ignore[arg-type]
    for binding in bindings(func.body):
        if isinstance(binding, MatchCast) or sequences(binding.value):
            raise _mistake("the replacement of a rule", "calls and tuples in a row", type(binding.value).__name__)
        made[binding.var] = _expr(binding.value, made, dimensions)
    return _expr(func.body.body, made, dimensions)


def _expr(value: Expr, made: dict[Expr, Expr], dimensions: Mapping[tir.Var, Extent]) -> Expr:
    for node in post_order((value,), operands):
        if node not in made:
            new = with_operands(node, [made[one] for one in operands(node)])
            made[node] = new if isinstance(new, Constant) else substitute_extents(new, dict(dimensions))
    return made[value]
