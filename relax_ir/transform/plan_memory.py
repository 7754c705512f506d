"""StaticPlanBlockMemory: tensors that are not needed at the same time lie in the same memory.

A tensor's storage is free again after the last call that can see the tensor. A request takes the smallest free storage
of its dtype that is large enough, else the largest that is not, which grows; both within a factor of sixteen. Symbolic
sizes match only themselves. All this is as TVM decides it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias, Union

from relay2relax.core.dtype import bits
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relax_ir import symbols
from relay2relax.relax_ir.expr import (
    Binding,
    Call,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    IRModule,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.memory import (
    AllocStorage,
    AllocTensor,
    Kill,
    PlaceTensor,
    memory_call,
    read_memory_call,
    viewed,
)
from relay2relax.relax_ir.struct_info import ObjectStructInfo
from relay2relax.relax_ir.transform.mutator import Mutator, RelaxPass
from relay2relax.relax_ir.visit import all_sequences, bindings, sequences, variables
from relay2relax.tir import expr as tir
from relay2relax.tir.arith import simplify
from relay2relax.tir.expr import IntImm, PrimExpr, binary
from relay2relax.tir.extent import Extent, as_prim
from relay2relax.tir.stmt import PrimFunc
from relay2relax.tir.visit import substitute

_FACTOR = 16
# The tensors of a function's own whose memory a value shows, field by field for a tuple.
Shown: TypeAlias = Union[frozenset[Var], tuple["Shown", ...]]


@dataclass(frozen=True, slots=True)
class StaticPlanBlockMemory(RelaxPass):
    """Give tensors of ``R.builtin.alloc_tensor`` places in storages that are shared one after the other.

    Only tensors that calls of PrimFuncs and of external functions see are placed; what is returned, or passed to other
    functions, keeps its own memory. The function attribute ``tir_var_upper_bound``, ``{"n": 16}``, says how large
    symbolic dimensions may become: storages are then as large as is ever needed, and their sizes static.
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
            return next((one for one in fitting if one.size == size), None)
        known = [(one.size, one) for one in fitting if isinstance(one.size, int)]
        large = [pair for pair in known if size <= pair[0] <= size * _FACTOR]
        small = [pair for pair in known if size <= pair[0] * _FACTOR and pair[0] < size]
        if large:
            return min(large, key=lambda pair: pair[0])[1]
        return max(small, key=lambda pair: pair[0])[1] if small else None


class _Planner(Mutator):
    """Places the tensors of one function after the other."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.places: dict[Var, _Storage] = {}
        self.bounds: dict[tir.Var, PrimExpr] = {}

    def function(self, var: GlobalVar, func: Function) -> Function:
        self.bounds = _upper_bounds(var.name, func)
        for seq in all_sequences([func.body]):
            self.plan(seq)
        return super().function(var, func)

    def plan(self, seq: SeqExpr) -> None:
        uses = _Uses(self.mod, seq)
        pool = _Pool()
        for number, binding in enumerate(bindings(seq)):
            call = read_memory_call(binding.value)
            if isinstance(call, AllocTensor) and binding.var not in uses.escaping:
                storage = pool.request(call.dtype, _bytes(call.shape, call.dtype, self.bounds))
                self.places[binding.var] = storage
            # What is used last here is free again, in the order in which it was passed.
            ending = (var for var in uses.used[number] if uses.last[var] == number)
            pool.free += (self.places[var] for var in ending if var in self.places)

    def bind(self, binding: Binding | MatchCast) -> None:
        storage = self.places.get(binding.var)
        if storage is None:
            self.keep(binding)
            return
        if storage.var is None:
            storage.var = Var("storage", ObjectStructInfo())
            size = storage.size if isinstance(storage.size, int) else symbols.substitute_extent(storage.size, {})
            self.keep(Binding(storage.var, memory_call(AllocStorage(size, storage.dtype))))
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
            size = _bytes(call.shape, call.dtype, None)
            self.keep(Binding(storage, memory_call(AllocStorage(size, "uint8"))))
            binding = Binding(binding.var, memory_call(PlaceTensor(storage, 0, call.shape, call.dtype)))
        self.keep(binding)


class _Uses:
    """Which tensors that a sequence allocates are seen by others than kernels, and when each is seen last."""

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
        return self.shown.get(seen, frozenset()) if isinstance(seen, Var) else None

    def is_kernel(self, value: Expr) -> bool:
        match value:
            case Call(GlobalVar() as callee):
                return isinstance(self.mod.functions[callee], PrimFunc)
            case Call(ExternFunc()):
                return True
            case Call():
                return isinstance(read_memory_call(value), Kill)
        return False


def _flat(shown: Shown) -> list[Var]:
    if isinstance(shown, frozenset):
        return list(shown)
    return [var for one in shown for var in _flat(one)]


def _upper_bounds(name: str, func: Function) -> dict[tir.Var, PrimExpr]:
    """Return how large the dimensions of ``func`` may become, as its attribute says."""
    said = func.attrs.get("tir_var_upper_bound", {})
    if not isinstance(said, Mapping) or not all(isinstance(value, int) for value in said.values()):
        raise Relay2RelaxError(
            f"{name}: `tir_var_upper_bound` is {said!r}, expected integers by the names of dimensions"
        )
    used = (var for param in func.params for extent in symbols.extents(param.info) for var in symbols.variables(extent))
    return {var: IntImm(said[var.name], var.dtype) for var in used if var.name in said}


def _bytes(shape: tuple[Extent, ...], dtype: str, bounds: Mapping[tir.Var, PrimExpr] | None) -> int | PrimExpr:
    """Return the bytes of a tensor, at most where ``bounds`` say how large dimensions become.

    Storages that are shared compare sizes in canonical form; without ``bounds`` the size stays as it is multiplied.
    """
    size: PrimExpr = IntImm(1)
    for extent in shape:
        size = binary("*", size, as_prim(extent))
    size = binary("*", size, IntImm((bits(dtype) + 7) // 8))
    if bounds is not None:
        size = simplify(substitute(size, bounds))
    return size.value if isinstance(size, IntImm) else size
