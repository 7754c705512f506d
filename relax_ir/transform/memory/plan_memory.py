"""StaticPlanBlockMemory: tensors that are not needed at the same time lie in the same memory.

A tensor's storage is free again after the last call that can see the tensor. A request takes the
smallest free storage of its dtype that is large enough, else the largest that is not, which grows;
both within a factor of sixteen. Symbolic sizes match only themselves. All this is as TVM decides
it. Branches take what is free where they stand, and leave it free; what they make themselves ends
with them. Local functions, which run who knows when, have memory of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias, Union

from relay2relax.relax_ir.inference.memory import (
    AllocStorage,
    AllocTensor,
    Kill,
    PlaceTensor,
    memory_call,
    read_memory_call,
    viewed,
)
from relay2relax.relax_ir.inference.op_signatures import ForeignOp
from relay2relax.relax_ir.ir.expr import (
    Binding,
    Call,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import ObjectStructInfo
from relay2relax.relax_ir.ir.visit import Steps, all_sequences, bindings, run, sequences, variables
from relay2relax.relax_ir.transform.memory.memory_sizes import Ranges, largest, own_size, ranges_of, shared_size
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass
from relay2relax.tir.arith.simplify import constant_difference
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import PrimExpr
from relay2relax.tir.ir.stmt import PrimFunc

_FACTOR = 16
_PLAN_RESULTS = "relax.memory_plan_dynamic_func_output"
# The tensors of a function's own whose memory a value shows, field by field for a tuple.
Shown: TypeAlias = Union[frozenset[Var], tuple["Shown", ...]]


@dataclass(frozen=True, slots=True)
class StaticPlanBlockMemory(RelaxPass):
    """Give tensors of ``R.builtin.alloc_tensor`` places in storages that are shared one after the
    other.

    Only tensors that calls of PrimFuncs and of external functions see are placed; what is returned,
    or passed to other functions, keeps its own memory. The function attribute
    ``tir_var_upper_bound``, ``{"n": 16}``, says how large symbolic dimensions may become
    (``memory_sizes.py`` has the others): storages are then as large as is ever needed, and their
    sizes static. ``relax.memory_plan_dynamic_func_output`` asks for storages of that size for
    results of symbolic shape as well, and goes.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its memory planned."""
        return _Planner(mod).module()


@dataclass(frozen=True, slots=True)
class LowerAllocTensor(RelaxPass):
    """Give every tensor that :class:`StaticPlanBlockMemory` left alone a storage of its own."""

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` without ``R.builtin.alloc_tensor``."""
        return _Lowering(mod).module()


@dataclass(slots=True, eq=False)
class _Storage:
    """A piece of memory; ``size`` in bytes may still grow while the plan is made."""

    dtype: str
    size: int | PrimExpr
    var: Var | None = None


@dataclass(slots=True)
class _Pool:
    """Hands out storages and takes them back."""

    free: list[_Storage] = field(default_factory=list)

    def request(self, dtype: str, size: int | PrimExpr) -> _Storage:
        """Return a storage for ``size`` bytes of ``dtype``, a free one where one fits."""
        chosen = self.choose(dtype, size)
        if chosen is None:
            return _Storage(dtype, size)
        self.free.remove(chosen)
        if isinstance(size, int) and isinstance(chosen.size, int):
            chosen.size = max(chosen.size, size)
        return chosen

    def choose(self, dtype: str, size: int | PrimExpr) -> _Storage | None:
        fitting = [one for one in self.free if one.dtype == dtype]
        if not isinstance(size, int):
            return next((one for one in fitting if not isinstance(one.size, int) and _equal(one.size, size)), None)
        known = [(one.size, one) for one in fitting if isinstance(one.size, int)]
        large = [pair for pair in known if size <= pair[0] <= size * _FACTOR]
        small = [pair for pair in known if size <= pair[0] * _FACTOR and pair[0] < size]
        if large:
            return min(large, key=lambda pair: pair[0])[1]
        return max(small, key=lambda pair: pair[0])[1] if small else None


def _equal(a: PrimExpr, b: PrimExpr) -> bool:
    return a == b or constant_difference(a, b) == 0


class _Planner(Mutator):
    """Places the tensors of one function after the other."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.places: dict[Var, _Storage] = {}
        self.ranges: Ranges = {}
        self.results = False

    def function(self, var: GlobalVar, func: Function) -> Function:
        self.ranges = ranges_of(var.name, func)
        self.results = bool(func.attrs.get(_PLAN_RESULTS))
        run(self.plan(func.body, ()))
        made = super().function(var, func)
        if self.results:
            made = replace(made, attrs={name: value for name, value in made.attrs.items() if name != _PLAN_RESULTS})
        return made

    def plan(self, seq: SeqExpr, free: Iterable[_Storage]) -> Steps:
        """Place the tensors of ``seq`` in storages, ``free`` ones among them."""
        uses = _Uses(self.mod, seq)
        pool = _Pool(list(free))
        for number, binding in enumerate(bindings(seq)):
            call = read_memory_call(binding.value)
            if isinstance(call, AllocTensor) and binding.var not in uses.escaping:
                size = shared_size(largest(call.shape, self.ranges), call.dtype)
                self.places[binding.var] = pool.request(call.dtype, size)
            inside = isinstance(binding.value, If)
            for inner in sequences(binding.value):
                yield self.plan(inner, pool.free if inside else ())
            # What is used last here is free again, in the order in which it was passed.
            ending = (var for var in uses.used[number] if uses.last[var] == number)
            pool.free += (self.places[var] for var in ending if var in self.places)

    def bind(self, binding: Binding | MatchCast) -> None:
        storage = self.places.get(binding.var)
        if storage is None:
            call = read_memory_call(binding.value) if self.results else None
            if not isinstance(call, AllocTensor) or all(static(extent) is not None for extent in call.shape):
                self.keep(binding)
                return
            storage = _Storage(call.dtype, own_size(largest(call.shape, self.ranges), call.dtype))
        if storage.var is None:
            storage.var = Var("storage", ObjectStructInfo())
            self.keep(Binding(storage.var, memory_call(AllocStorage(storage.size, storage.dtype))))
        assert isinstance(binding.value, Call)
        call = read_memory_call(binding.value)
        assert isinstance(call, AllocTensor)
        self.keep(Binding(binding.var, memory_call(PlaceTensor(storage.var, 0, call.shape, call.dtype))))


class _Lowering(Mutator):
    """Gives tensors storages of their own."""

    def bind(self, binding: Binding | MatchCast) -> None:
        call = read_memory_call(binding.value)
        if isinstance(call, AllocTensor):
            storage = Var("storage", ObjectStructInfo())
            self.keep(Binding(storage, memory_call(AllocStorage(own_size(call.shape, call.dtype), "uint8"))))
            binding = Binding(binding.var, memory_call(PlaceTensor(storage, 0, call.shape, call.dtype)))
        self.keep(binding)


class _Uses:
    """Which tensors that a sequence allocates are seen by others than kernels, and when each is
    seen last.
    """

    def __init__(self, mod: IRModule, seq: SeqExpr) -> None:
        self.mod = mod
        self.shown: dict[Var, Shown] = {}
        self.used: list[list[Var]] = []
        self.last: dict[Var, int] = {}
        self.escaping: set[Var] = set()
        for number, binding in enumerate(bindings(seq)):
            var, value = binding.var, binding.value
            alias = self.alias(value)
            if alias is not None:
                self.shown[var] = alias
            if isinstance(read_memory_call(value), AllocTensor):
                self.shown[var] = frozenset((var,))
            used = [one for operand in variables(value) for one in _flat(self.shown.get(operand, frozenset()))]
            if isinstance(read_memory_call(value), AllocTensor):
                used.append(var)  # It is there from here on, even if nobody uses it.
            self.used.append(list(dict.fromkeys(used)))
            self.last.update(dict.fromkeys(used, number))
            if alias is None and not self.is_kernel(value):
                self.escaping.update(one for one in used if one is not var)
            for inner in all_sequences(sequences(value)):
                for one in (*(v for b in bindings(inner) for v in variables(b.value)), *variables(inner.body)):
                    self.escaping.update(_flat(self.shown.get(one, frozenset())))
        for one in variables(seq.body):
            self.escaping.update(_flat(self.shown.get(one, frozenset())))

    def alias(self, value: Expr) -> Shown | None:
        """Return the tensors that ``value`` shows without being a tensor of its own."""
        match value:
            case Var():
                return self.shown.get(value, frozenset())
            case Tuple(fields):
                return tuple(self.alias(one) or frozenset() for one in fields)
            case TupleGetItem(Var() as source, index):
                whole = self.shown.get(source, frozenset())
                return whole[index] if isinstance(whole, tuple) else whole
        seen = viewed(value)
        call = read_memory_call(value)
        if isinstance(call, PlaceTensor):
            seen = call.storage
        elif isinstance(value, Call) and isinstance(value.op, ExternFunc) and value.op.name == "vm.builtin.reshape":
            seen = value.args[0]
        return self.shown.get(seen, frozenset()) if isinstance(seen, Var) else None

    def is_kernel(self, value: Expr) -> bool:
        match value:
            case Call(GlobalVar() as callee):
                return isinstance(self.mod.functions[callee], PrimFunc)
            case Call(ExternFunc()):
                return True
            case Call(ForeignOp() as op) if op.name == "vm.call_tir_dyn":
                return True
            case Call():
                return isinstance(read_memory_call(value), Kill)
        return False


def _flat(shown: Shown) -> list[Var]:
    if isinstance(shown, frozenset):
        return list(shown)
    return [var for one in shown for var in _flat(one)]
