"""How many roundings stand in a row on the way to an output: that decides how far two correct
programs may be apart.

Sums are counted in the PrimFuncs that the operators become, one per operator, before anything is
fused. So the length is a property of the model, not of what is judged by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir import CallTIR, Expr, Function, GlobalVar, If, IRModule, SeqExpr
from relay2relax.relax_ir.analysis.calls import extents_of_call
from relay2relax.relax_ir.ir.expr import Call, CallDPSPacked
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.visit import Steps, bindings, operands, run, sequences
from relay2relax.relay_ir import IRModule as RelayModule
from relay2relax.tir.arith.evaluate import integer, is_computed
from relay2relax.tir.cost import longest_sum
from relay2relax.tir.extent import as_prim
from relay2relax.tir.ir.expr import Var
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.translator.arguments import Argument
from relay2relax.translator.pipeline import lower_to_tir


def longest_chain(mod: RelayModule, arguments: Sequence[Argument]) -> int | None:
    """Return how many roundings there are in a row at most, on any way from the ``arguments`` of
    ``main`` to a value that it computes: the sums of the operators along the way, added up.

    Both sides of a branch count. None where the program does not decide it: where it calls itself,
    where what is summed up is as long as the data say, and where it has no form in TensorIR.
    """
    try:
        lowered = lower_to_tir(mod)
    except Relay2RelaxError:
        return None
    main = lowered["main"]
    assert isinstance(main, Function)
    pairs = [pair for param, value in zip(main.params, arguments, strict=True) for pair in _sizes(param.info, value)]
    found = _Walk(lowered, dict(pairs)).of_function(main)
    return int(found) if math.isfinite(found) else None


def _sizes(info: StructInfo, value: Argument) -> Iterator[tuple[Var, int]]:
    """Yield the symbolic extents of an argument, and what they are."""
    if isinstance(value, tuple):
        if isinstance(info, TupleStructInfo):
            for field, one in zip(info.fields, value, strict=True):
                yield from _sizes(field, one)
    elif isinstance(info, TensorStructInfo):
        pairs = zip(info.shape or (), value.shape, strict=False)
        yield from ((extent, size) for extent, size in pairs if isinstance(extent, Var))


class _Walk:
    """How far each value of a module is from where it is called."""

    def __init__(self, mod: IRModule, extents: Mapping[Var, int]) -> None:
        self.mod = mod
        self.extents = extents
        self.length: dict[Expr, float] = {}
        # Functions of Relax: infinity while one is looked at, so that it is so for what recurs.
        self.functions: dict[Function, float] = {}
        self.sums: dict[tuple[PrimFunc, tuple[tuple[Var, int], ...]], float] = {}

    def of_function(self, func: Function) -> float:
        """Return the largest distance of a value of ``func`` from its parameters."""
        run(self._function(func))
        return self.functions[func]

    def _function(self, func: Function) -> Steps:
        if func in self.functions:
            return
        self.functions[func] = math.inf
        yield self._sequence(func.body)
        inner = [binding.var for seq in _nested(func.body) for binding in bindings(seq)]
        self.functions[func] = max((self.length[var] for var in inner), default=0)

    def _sequence(self, seq: SeqExpr) -> Steps:
        for binding in bindings(seq):
            value = binding.value
            inputs = operands(value) or (value,)
            before = max(map(self._of, inputs))
            for inner in sequences(value):
                yield self._sequence(inner)
                before = max(before, self._of(inner.body))
            if isinstance(value, Function):
                self.length[binding.var] = math.inf
                continue
            callee = self._callee(value)
            if callee is not None:
                yield self._function(callee)
            self.length[binding.var] = before + self._own(value, callee)

    def _of(self, expr: Expr) -> float:
        """Return the distance of an argument: that of the farthest field of a tuple."""
        found, pending = 0.0, [expr]
        while pending:
            one = pending.pop()
            found = max(found, self.length.get(one, 0))
            pending += operands(one)
        return found

    def _callee(self, value: Expr) -> Function | None:
        if isinstance(value, Call) and isinstance(value.op, GlobalVar):
            called = self.mod.functions.get(value.op)
            return called if isinstance(called, Function) else None
        return None

    def _own(self, value: Expr, callee: Function | None) -> float:
        """Return how many roundings ``value`` adds to what its operands have."""
        if callee is not None:
            return self.functions[callee]
        match value:
            case CallTIR(func):
                return self._sum(value, self.mod.functions.get(func))
            case CallDPSPacked():
                return math.inf
            case Call(op):
                return 1 if isinstance(op, OpDef) else math.inf
        return 0

    def _sum(self, call: CallTIR, func: object) -> float:
        if not isinstance(func, PrimFunc):
            return math.inf
        actual = ((var, as_prim(extent)) for var, extent in extents_of_call(func, call).items())
        known = tuple((var, integer(one, self.extents)) for var, one in actual if is_computed(one, self.extents))
        key = (func, known)
        if key not in self.sums:
            self.sums[key] = longest_sum(func, dict(known))
        return self.sums[key]


def _nested(root: SeqExpr) -> Iterator[SeqExpr]:
    """Yield ``root`` and the sequences of branches inside it."""
    pending = [root]
    while pending:
        seq = pending.pop()
        yield seq
        pending += [inner for one in bindings(seq) if isinstance(one.value, If) for inner in sequences(one.value)]
