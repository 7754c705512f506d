"""Which operators of a translation are calls of TensorIR, because Relax or apache-tvm lacks them,
and why.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from relay2relax import relax_ir
from relay2relax.relax_ir.build.emitter import NO_RELAX_FORM
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.tir.ir.stmt import PrimFunc


@dataclass(frozen=True, slots=True)
class AsTensorIR:
    """``calls`` of one operator that are TensorIR for one reason."""

    operator: str
    why: str
    calls: int

    def __str__(self) -> str:
        times = f", {self.calls} times" if self.calls > 1 else ""
        return f"{self.operator} is called as TensorIR{times}: {self.why}"


def calls_as_tensorir(module: relax_ir.IRModule) -> tuple[AsTensorIR, ...]:
    """Return what of ``module`` the Relax form is lacking for, in the order of the calls.

    The reasons stand in the PrimFuncs' attributes, so a script that is read back tells them as
    well. The module of ``lower_to_tir`` has none: there TensorIR is the form.
    """
    roots = [func.body for func in module.functions.values() if isinstance(func, relax_ir.Function)]
    found: Counter[tuple[str, str]] = Counter()
    for seq in all_sequences(roots):
        for binding in bindings(seq):
            if not isinstance(binding.value, relax_ir.CallTIR):
                continue
            func = module.functions.get(binding.value.func)
            if isinstance(func, PrimFunc) and NO_RELAX_FORM in func.attrs:
                found[str(func.attrs["op_name"]), _plain(func.attrs[NO_RELAX_FORM])] += 1
    return tuple(AsTensorIR(operator, why, calls) for (operator, why), calls in found.items())


def _plain(text: object) -> str:
    return str(getattr(text, "value", text))
