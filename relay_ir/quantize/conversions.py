"""Conversions into integers and back, as functions of their own.

Source of the semantics: TVM 0.18 python/tvm/relay/quantize/_partition_conversions.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.analysis.traversal import all_dtypes
from relay2relax.relay_ir.build.scope_builder import ScopeBuilder
from relay2relax.relay_ir.inference.infer import infer_type, typed_module
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, GlobalVar, Op, Tuple, TupleGetItem, Var, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars, nodes, with_children
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.relay_ir.transform.infrastructure import declared
from relay2relax.relay_ir.transform.parts import is_call

# What quantises and dequantises.
CONVERSIONS = ("add", "multiply", "right_shift", "clip", "round", "cast")
_INPUTS, _MAIN, _OUTPUTS = "quantize_inputs", "quantized_main", "dequantize_outputs"


class NotIntegralError(UnsupportedError):
    """A program computes with floats between its conversions."""

    kind = UnsupportedError.kind


def partition_conversions(mod: IRModule, quantized_dtypes: Set[str], ensure_fully_integral: bool) -> IRModule:
    """Return ``mod`` as ``@main`` that calls ``@quantize_inputs``, ``@quantized_main`` and
    ``@dequantize_outputs``.

    ``@main`` has to be the only function. With ``ensure_fully_integral`` raises NotIntegralError
    where ``@quantized_main`` has other dtypes than ``quantized_dtypes``, or the others more than
    conversions. Raises UnsupportedError where values of several inputs meet before they are
    converted.
    """
    typed = typed_module(mod)
    main = typed["main"]
    if len(typed.functions) != 1 or main.type_params:
        raise UnsupportedError("conversions are partitioned of modules of one function, without type parameters")
    prefix, rest = _without_prefix(typed)
    middle, suffix = _without_suffix(rest, quantized_dtypes)
    if ensure_fully_integral:
        for part in (prefix["main"], suffix["main"]):
            if not _only_converts(part):
                raise NotIntegralError("inputs or outputs are not only converted")
        if not all_dtypes(middle["main"]) <= quantized_dtypes:
            raise NotIntegralError("the program computes with other dtypes than those of quantised values")
    return _joined(prefix["main"], middle["main"], suffix["main"])


def _main(function: Function) -> IRModule:
    return infer_type(IRModule.from_expr(function))


def _joined(prefix: Function, middle: Function, suffix: Function) -> IRModule:
    """Return the three functions, and ``@main`` that calls one after the other."""
    names = [GlobalVar(one) for one in (_INPUTS, _MAIN, _OUTPUTS)]
    params = tuple(Var(param.name) for param in prefix.params)
    scope = ScopeBuilder()
    inputs = scope.let("quantized_inputs", Call(names[0], params))
    fields = tuple(TupleGetItem(inputs, index) for index in range(len(middle.params)))
    outputs = scope.let("quantized_outputs", Call(names[1], fields))
    scope.ret(scope.let("dequantized_outputs", Call(names[2], (outputs,))))
    functions = dict(zip(names, (prefix, middle, suffix), strict=True))
    return infer_type(declared(IRModule({**functions, GlobalVar("main"): Function(params, scope.get())})))


# --- inputs ---------------------------------------------------------------------------------------


def _without_prefix(mod: IRModule) -> tuple[IRModule, IRModule]:
    """Return what converts the inputs, and the program that takes what that gives."""
    cut = _PrefixCutter(mod)
    body = cut.run()
    middle = Function(free_vars(body), body)
    cut.scope.ret(Tuple(tuple(cut.converted.get(param) or _as_it_is(param, mod) for param in middle.params)))
    before = cut.scope.get()
    return _main(Function(free_vars(before), before)), _main(middle)


def _as_it_is(param: Var, mod: IRModule) -> Var:
    return Var(param.name, mod.types[param])


class _PrefixCutter:
    """Cuts a program where a converted input meets the first call that is no conversion."""

    def __init__(self, mod: IRModule) -> None:
        self.function, self.types = mod["main"], mod.types
        self.params = set(self.function.params)
        self.scope = ScopeBuilder()
        self.converted: dict[Var, Var] = {}
        # Parameters that were met since the last cut.
        self.met: dict[Var, None] = {}

    def run(self) -> Expr:
        """Return the body of the program behind the cuts."""
        done: dict[Expr, Expr] = {}
        cuts: dict[tuple[Expr, int], Expr] = {}
        for node, place in _steps(self.function.body):
            if place is not None:
                arg = children(node)[place]
                cuts[node, place] = self._cut(arg, done[arg])
            elif node not in done:
                if isinstance(node, Var) and node in self.params:
                    self.met[node] = None
                given = [cuts.get((node, index), done[child]) for index, child in enumerate(children(node))]
                done[node] = with_children(node, given)
        return done[self.function.body]

    def _cut(self, arg: Expr, made: Expr) -> Expr:
        if not self.met:
            return made
        if len(self.met) > 1:
            names = ", ".join(f"%{one.name}" for one in self.met)
            raise UnsupportedError(f"the inputs {names} meet before they are converted")
        ((param, _),) = self.met.items()
        self.met.clear()
        outside = self.scope.let(param.name, made)
        inside = Var(param.name, self.types[arg])
        self.converted[inside] = outside
        return inside


def _steps(root: Expr) -> Iterator[tuple[Expr, int | None]]:
    """Yield nodes behind their parts, and after each argument of a call that is no conversion the
    call and the argument's place among its parts.
    """
    seen: set[Expr] = set()
    stack: list[tuple[Expr, int]] = [(root, 0)]
    while stack:
        node, place = stack.pop()
        parts: Sequence[Expr] = children(node)
        if place == 0:
            if node in seen:
                continue
            seen.add(node)
        elif isinstance(node, Call) and not is_call(node, *CONVERSIONS) and place > 1:
            yield node, place - 1
        if place < len(parts):
            stack += [(node, place + 1), (parts[place], 0)]
        else:
            yield node, None


# --- outputs --------------------------------------------------------------------------------------


def _without_suffix(mod: IRModule, dtypes: Set[str]) -> tuple[IRModule, IRModule]:
    """Return the program up to its last integers, and what converts them."""
    main = mod["main"]

    def integers(node: Expr) -> bool:
        ty = None if isinstance(node, Op) else mod.types.get(node)
        return isinstance(ty, TensorType) and ty.dtype in dtypes

    done: dict[Expr, Expr] = {}
    cut: Expr | None = None
    roots: tuple[Expr, ...] = (main.body,)
    for node in post_order(roots, lambda one: () if integers(one) else children(one)):
        if integers(node):
            cut = node
            done[node] = Var("input", mod.types[node])
        else:
            done[node] = with_children(node, [done[child] for child in children(node)])
    body = done[main.body]
    after = _main(Function(free_vars(body), body, main.ret_type))
    if cut is None:
        # The program has no integers: all of it is in the middle, and nothing is converted.
        given = Var("input", after.types[after["main"].body])
        return after, _main(Function((given,), given))
    return _main(replace(main, body=cut, ret_type=None)), after


def _only_converts(function: Function) -> bool:
    return all(is_call(node, *CONVERSIONS) for node in nodes(function) if isinstance(node, Call))
