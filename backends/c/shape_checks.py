"""What operators ask of symbolic extents, checked when a program runs.

On numpy an operator's kernel sees that shapes do not fit. Machine code sees nothing: it would read
what lies behind an operand. So where the shapes of a call fit for some values of its extents only,
the program asserts what its shape rule asked, at the beginning of the sequence of bindings, or
where the last of the extents becomes known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from relay2relax.core.errors import ExecutionError, Relay2RelaxError
from relay2relax.ops.registry.evaluate import with_values
from relay2relax.ops.registry.lower import Origin
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relax_ir.inference.op_signatures import Argument, ForeignAttrs, foreign_op
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallTIR,
    Expr,
    Function,
    If,
    IRModule,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
)
from relay2relax.relax_ir.ir.expr import Var as RelaxVar
from relay2relax.relax_ir.ir.struct_info import TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.visit import bindings
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.arith.simplify import prove
from relay2relax.tir.extent import Extent, Shape, asked, equal
from relay2relax.tir.ir.expr import PrimExpr, Var
from relay2relax.tir.ir.stmt import PrimFunc

# Values that no rule likes, and small ones, in which a window has no place: what fits for these
# fits for all.
_SMALL = (0, 1, 2)
_LARGE = 2**40  # no rule is asked, for it may count so far
_UNLIKELY = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


def with_extent_checks(module: IRModule) -> IRModule:
    """Return ``module``, whose operators are PrimFuncs by now, with assertions of what these ask of
    extents.
    """
    return _Checks(module).module()


def asked_conditions(module: IRModule, name: str) -> tuple[PrimExpr, ...]:
    """Return what the operators that the function ``name`` calls, PrimFuncs by now, ask of its
    extents.
    """
    checks = _Checks(module)
    found: dict[PrimExpr, None] = {}
    for var, function in module.functions.items():
        if var.name == name and isinstance(function, Function):
            for binding in bindings(function.body):
                if isinstance(binding.value, CallTIR):
                    found.update(dict.fromkeys(condition for condition, _ in checks.conditions(binding.value)))
    return tuple(found)


class _Checks(Mutator):
    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.asked: dict[PrimFunc, tuple[PrimExpr, ...]] = {}

    def finish(self, seq: SeqExpr, owner: If | Function) -> SeqExpr:
        wanted: dict[PrimExpr, str] = {}
        for binding in bindings(seq):
            if isinstance(binding.value, CallTIR):
                for condition, name in self.conditions(binding.value):
                    wanted.setdefault(condition, name)
        if not wanted:
            return seq
        casts = [one for one in bindings(seq) if isinstance(one, MatchCast)]
        later = {var: one for one in reversed(casts) for var in symbols.defined([one.info])}
        first: list[Binding | MatchCast] = []
        behind: dict[MatchCast, list[Binding | MatchCast]] = {}
        for condition, name in wanted.items():
            waits = {later[var] for var in symbols.variables(condition) if var in later}
            last = max((one for one in casts if one in waits), key=casts.index, default=None)
            (first if last is None else behind.setdefault(last, [])).append(_assertion(condition, name))
        blocks = [BindingBlock(tuple(first))] if first else []
        for block in seq.blocks:
            made = [
                one for b in block.bindings for one in (b, *(behind.get(b, ()) if isinstance(b, MatchCast) else ()))
            ]
            blocks.append(BindingBlock(tuple(made), block.dataflow))
        return SeqExpr(tuple(blocks), seq.body)

    def conditions(self, call: CallTIR) -> Iterator[tuple[PrimExpr, str]]:
        """Yield what a call asks of extents, in the caller's variables, and the name of what
        asks.
        """
        func = self.mod.functions[call.func]
        if not isinstance(func, PrimFunc):
            return
        given = [*_infos(call.args), *call.out]
        if not isinstance(func.origin, Origin):
            yield from ((condition, func.name) for condition in _unmatched(func, given))
            return
        if func not in self.asked:
            self.asked[func] = tuple(_asked(func.origin))
        if not self.asked[func]:
            return
        values: dict[Var, Extent] = {}
        for mine, info in zip(_tensors(func.origin.args), given, strict=False):
            if info.shape is not None:
                values |= {e: g for e, g in zip(mine.shape, info.shape, strict=True) if isinstance(e, Var)}
        for condition in self.asked[func]:
            if all(var in values for var in symbols.variables(condition)):
                found = symbols.substitute_extent(condition, values)
                if isinstance(found, PrimExpr) and any(True for _ in symbols.variables(found)):
                    yield found, func.origin.op.name


def _unmatched(func: PrimFunc, given: Sequence[TensorStructInfo]) -> list[PrimExpr]:
    """Return what a program asks of the extents of its arguments by the shapes of its
    parameters.
    """
    values: dict[Var, Extent] = {}
    with asked() as found:
        for buffer, info in zip(func.buffers, given, strict=False):
            for extent, actual in zip(buffer.shape, info.shape or (), strict=False):
                if isinstance(extent, Var):
                    values.setdefault(extent, actual)
                if all(var in values for var in symbols.variables(extent)):
                    equal(symbols.substitute_extent(extent, values), actual)
    return list(dict.fromkeys(found))


def _asked(origin: Origin) -> list[PrimExpr]:
    """Return what the shape rule of an operator asks of its extents, unless it is right for
    whatever they are.
    """
    variables = list(dict.fromkeys(var for arg in origin.args for var in _variables(arg)))
    if not variables:
        return []
    with asked() as found:
        origin.op.infer(origin.attrs, *origin.args)
    conditions = list(dict.fromkeys(found))
    if not conditions:
        return []
    unlikely = {var: _UNLIKELY[n % len(_UNLIKELY)] + n // len(_UNLIKELY) * 60 for n, var in enumerate(variables)}
    samples = [unlikely, *(dict.fromkeys(variables, size) for size in _SMALL)]
    samples += [{var: int(var is not empty) for var in variables} for empty in variables]
    large = dict.fromkeys(variables, _LARGE)
    asks = any(_refuses(origin, values) for values in samples) or not all(_holds(one, large) for one in conditions)
    return conditions if asks else []


def _holds(condition: PrimExpr, values: Mapping[Var, int]) -> bool:
    """Whether a condition holds of extents; one that divides by 0 does not."""
    try:
        return bool(integer(condition, values))
    except ExecutionError:
        return False


def _refuses(origin: Origin, values: Mapping[Var, int]) -> bool:
    """Whether the shape rule takes no arguments of these extents."""
    with asked() as found:
        try:
            origin.op.infer(with_values(origin.attrs, values), *(_at(arg, values) for arg in origin.args))
        except Relay2RelaxError:
            return True
    return any(prove(one) is False for one in found)


def _at(arg: Type | Shape, values: Mapping[Var, Extent]) -> Type | Shape:
    """Return an argument type with values for its variables."""
    match arg:
        case TensorType(shape, dtype):
            return TensorType(tuple(symbols.substitute_extent(extent, values) for extent in shape), dtype)
        case TupleType(fields):
            return TupleType(tuple(one for one in (_at(field, values) for field in fields) if isinstance(one, Type)))
        case tuple():
            return tuple(symbols.substitute_extent(extent, values) for extent in arg)
    return arg


def _variables(arg: Type | Shape) -> Iterator[Var]:
    match arg:
        case TensorType(shape) | (tuple() as shape):
            for extent in shape:
                yield from symbols.variables(extent)
        case TupleType(fields):
            for field in fields:
                yield from _variables(field)


def _tensors(args: tuple[Type | Shape, ...]) -> Iterator[TensorType]:
    for arg in args:
        match arg:
            case TensorType():
                yield arg
            case TupleType(fields):
                yield from _tensors(fields)


def _infos(args: tuple[Expr, ...]) -> Iterator[TensorStructInfo]:
    for arg in args:
        if isinstance(arg, Tuple):
            yield from _infos(arg.fields)
        else:
            info = getattr(arg, "info", None)
            yield info if isinstance(info, TensorStructInfo) else TensorStructInfo(None)


def _assertion(condition: PrimExpr, name: str) -> Binding:
    op = foreign_op("call_pure_packed")
    assert op is not None
    found = dict.fromkeys(symbols.variables(condition))
    message = f"{name}: the shapes do not fit for " + ", ".join(f"{var.name} = {{}}" for var in found)
    args = (PrimValue(condition), *map(PrimValue, found))
    places = [("", Argument(number)) for number in range(1, len(args))]
    layout = (("", "relax.run.assert_op"), ("", Argument(0)), ("", message), *places)
    return Binding(RelaxVar("_", TupleStructInfo()), Call(op, args, ForeignAttrs(layout)))
