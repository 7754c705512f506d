"""Who sees which value of a function, and until when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay2relax.relax_ir import expr as rx
from relay2relax.relax_ir.visit import all_sequences, bindings, sequences, variables
from relay2relax.tir.reshape import is_reshape
from relay2relax.tir.stmt import PrimFunc


class Liveness:
    """Facts about the variables of one function's straight-line code, whose bindings are numbered in order."""

    def __init__(self, module: rx.IRModule, func: rx.Function) -> None:
        self._params = set(func.params)
        self._alias: dict[rx.Var, rx.Var] = {}
        self._source: dict[rx.Var, rx.Var] = {}
        self._views: set[rx.Var] = set()
        self._shown: set[rx.Var] = set()
        self._last: dict[rx.Var, int] = {}
        self._memory_last: dict[rx.Var, int] = {}
        reshapes: dict[rx.GlobalVar, bool] = {}
        number = 0
        for block in func.body.blocks:
            for binding in block.bindings:
                var, value = binding.var, binding.value
                if isinstance(value, rx.Var):
                    self._alias[var] = self._root(value)
                if isinstance(value, rx.CallTIR) and block.dataflow and var.dataflow:
                    kernel = module.functions[value.func]
                    if value.func not in reshapes:
                        reshapes[value.func] = isinstance(kernel, PrimFunc) and is_reshape(kernel)
                    if reshapes[value.func]:
                        self._views.add(var)
                        if isinstance(value.args[0], rx.Var):
                            self._source[var] = self._root(value.args[0])
                self._last.setdefault(self._root(var), number)
                self._use(self._used(value), number, isinstance(value, (rx.CallTIR, rx.CallDPSPacked, rx.Var)))
                number += 1
        self._use(variables(func.body.body), number, False)
        self._end = number
        self._dying: dict[int, list[rx.Var]] = {}
        for var, last in self._last.items():
            if var not in self._params:
                self._dying.setdefault(last, []).append(var)

    def _root(self, var: rx.Var) -> rx.Var:
        return self._alias.get(var, var)

    def _use(self, used: Iterator[rx.Var] | Sequence[rx.Var], number: int, kernel: bool) -> None:
        for one in used:
            var: rx.Var | None = self._root(one)
            assert var is not None
            self._last[var] = number
            # A view shows its source's memory, and so does a view of the view.
            while var is not None:
                self._memory_last[var] = number
                if not kernel:
                    self._shown.add(var)
                var = self._source.get(var)

    def _used(self, value: rx.Expr) -> Sequence[rx.Var]:
        return (*variables(value), *(free_variables(value) if sequences(value) else ()))

    def is_view(self, var: rx.Var) -> bool:
        """Whether ``var`` is a reshape of its operand within a dataflow block: the same memory."""
        return var in self._views

    def is_private(self, var: rx.Var) -> bool:
        """Whether only kernels and reshapes look at ``var``, so that its memory may be reused afterwards."""
        return var not in self._shown

    def last_use(self, var: rx.Var) -> int:
        """Return the number of the last binding that sees the memory of ``var``, -1 where none does."""
        return self._memory_last.get(var, -1)

    def dying(self, number: int) -> Sequence[rx.Var]:
        """Return the variables that binding ``number`` is the last to use."""
        return self._dying.get(number, ()) if number < self._end else ()

    def captured(self, func: rx.Function, itself: rx.Var) -> tuple[rx.Var, ...]:
        """Return the variables that the local function ``func``, bound to ``itself``, takes from around it."""
        return tuple(var for var in free_variables(func) if var is not itself)

    def is_recursive(self, func: rx.Function, itself: rx.Var) -> bool:
        """Whether the local function ``func`` refers to itself."""
        return itself in free_variables(func)


def free_variables(value: rx.Expr) -> tuple[rx.Var, ...]:
    """Return the variables that the sequences inside ``value`` use and do not bind, in order of first use."""
    found: dict[rx.Var, None] = {}
    bound: set[rx.Var] = set(value.params) if isinstance(value, rx.Function) else set()
    for seq in all_sequences(sequences(value)):
        for binding in bindings(seq):
            bound.add(binding.var)
            if isinstance(binding.value, rx.Function):
                bound.update(binding.value.params)
            found.update(dict.fromkeys(variables(binding.value)))
        found.update(dict.fromkeys(variables(seq.body)))
    return tuple(var for var in found if var not in bound)
