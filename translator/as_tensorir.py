"""Which operators of a translation are calls of TensorIR, because Relax or apache-tvm lacks them,
and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from relay2relax import graph, relax_ir
from relay2relax.ops import relay_op
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


@dataclass(frozen=True, slots=True)
class Becomes:
    """What ``calls`` of one Relay operator become: so many calls of Relax operators, and so many of
    TensorIR, for the reasons ``why``.
    """

    operator: str
    calls: int
    relax: int
    tensorir: int
    why: tuple[str, ...] = ()


def what_becomes(found: graph.MSCGraph, module: relax_ir.IRModule, lowered: bool) -> tuple[Becomes, ...]:
    """Return what becomes of each operator of a graph in ``module``, in alphabetical order; all are
    TensorIR in one that is ``lowered``.
    """
    calls: Counter[str] = Counter()
    stack = [found, *found.functions.values()]
    while stack:
        for node in stack.pop().nodes:
            stack += node.bodies
            if relay_op(node.op) is not None:
                calls[node.op] += 1
    lacking = calls_as_tensorir(module)
    made = []
    for operator, count in sorted(calls.items()):
        reasons = [one for one in lacking if one.operator == operator]
        tensorir = count if lowered else min(count, sum(one.calls for one in reasons))
        made.append(Becomes(operator, count, count - tensorir, tensorir, tuple(one.why for one in reasons)))
    return tuple(made)


def with_kernels(
    module: relax_ir.IRModule, kernels: Mapping[str, PrimFunc], describe: bool = True
) -> relax_ir.IRModule:
    """Return ``module`` in which PrimFuncs of these Relay operators are the given ones; without
    ``describe`` PrimFuncs do not say of which operator they are.
    """
    functions: dict[relax_ir.GlobalVar, relax_ir.Function | PrimFunc] = {}
    for var, func in module.functions.items():
        if isinstance(func, PrimFunc):
            name = _plain(func.attrs.get("op_name", ""))
            func = replace(kernels[name], name=func.name) if name in kernels else func
            if not describe:
                kept = {key: one for key, one in func.attrs.items() if key not in ("op_name", "op_attrs")}
                func = replace(func, attrs=kept)
        functions[var] = func
    return replace(module, functions=functions)


def _plain(text: object) -> str:
    return str(getattr(text, "value", text))
