"""How much work a Relax program is, estimated without running it: that decides whether it is
checked unasked.

A step is one turn of the innermost loop around a store: of a convolution, one multiplication and
addition. Calls are counted where they stand, once, so a recursive function counts as one turn of
itself; an extent that is not known counts as it is drawn (``arguments.DEFAULT_EXTENT``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from relay2relax.core.errors import UnsupportedError
from relay2relax.relax_ir.ir.expr import CallTIR, Function, IRModule
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.transform import LegalizeOps
from relay2relax.tir.arith.evaluate import integer, is_computed
from relay2relax.tir.ir.expr import PrimExpr
from relay2relax.tir.ir.stmt import BlockRealize, BufferStore, Evaluate, For, PrimFunc, Stmt
from relay2relax.tir.ir.visit import statements, sub_statements, variables
from relay2relax.tir.normalize.kernels import has_kernels
from relay2relax.translator.arguments import DEFAULT_EXTENT


@dataclass(frozen=True, slots=True)
class Work:
    """What running a program takes.

    ``kernels``  how many different ones a backend has to build. ``operators``  steps of Relax's
    operators. ``blocks``  steps of the script's own PrimFuncs that consist of blocks. ``loops``
    steps of its other PrimFuncs, scheduled ones above all. ``threads``  steps of threads of GPUs.
    """

    kernels: int
    operators: int
    blocks: int
    loops: int
    threads: int = 0

    def seconds(self, backend: str) -> float:
        """Return about how long building for ``backend`` and running once take, in seconds.

        The rates are those of two cores of 2023, rounded; numpy has a kernel for each operator,
        runs blocks as whole arrays, and takes bare loops one turn after another.
        """
        steps = self.operators + self.blocks + self.loops + self.threads
        match backend:
            case "numpy":
                return 0.1 + self.operators / 1e9 + self.blocks / 3e7 + self.loops / 5e5 + self.threads / 5e6
            case "c":
                return 0.3 + 0.1 * self.kernels + steps / 5e9
        return 2.0 + 0.1 * self.kernels + steps / 5e8


def work_of(module: IRModule) -> Work:
    """Return the work of ``module``, whose functions run once each."""
    own = frozenset(func for func in module.functions.values() if isinstance(func, PrimFunc))
    try:
        lowered = LegalizeOps()(module)
    except UnsupportedError:
        # What has no PrimFunc is not counted.
        lowered = module
    found = dict.fromkeys(("operators", "blocks", "loops", "threads"), 0)
    called: set[PrimFunc] = set()
    roots = [func.body for func in lowered.functions.values() if isinstance(func, Function)]
    counted: dict[PrimFunc, int] = {}
    for seq in all_sequences(roots):
        for binding in bindings(seq):
            func = lowered.functions.get(binding.value.func) if isinstance(binding.value, CallTIR) else None
            if isinstance(func, PrimFunc):
                called.add(func)
                if func not in counted:
                    counted[func] = steps_of(func)
                found[_kind(func) if func in own else "operators"] += counted[func]
    return Work(len(called), **found)


def _kind(func: PrimFunc) -> str:
    if has_kernels(func):
        return "threads"
    return "blocks" if any(isinstance(one, BlockRealize) for one in statements(func.body)) else "loops"


def steps_of(func: PrimFunc) -> int:
    """Return how many stores and calls a PrimFunc makes."""
    total = 0
    pending: list[tuple[Stmt, int]] = [(func.body, 1)]
    while pending:
        stmt, times = pending.pop()
        match stmt:
            case BufferStore() | Evaluate():
                total += times
            case For(extent=extent):
                times *= _extent(extent)
            case BlockRealize(block=block):
                # What a sum begins with is stored once for all of its turns.
                pending.append((block.body, times))
                continue
        pending += [(one, times) for one in sub_statements(stmt)]
    return total


def _extent(expr: PrimExpr) -> int:
    """Return an extent, where it depends on something, of a typical value."""
    known = dict.fromkeys(variables(expr), DEFAULT_EXTENT)
    return max(0, integer(expr, known)) if is_computed(expr, known) else DEFAULT_EXTENT


def in_words(seconds: float) -> str:
    """Return a time in words: ``20 s``, ``3 min``, ``2 h``."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60)} min" if seconds < 5400 else f"{math.ceil(seconds / 3600)} h"
