"""Which backends take a Relax module, and why others do not."""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax import translator
from relay2relax.core.tvm_installation import RELEASES
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.ir.expr import Call, Function, IRModule
from relay2relax.relax_ir.ir.visit import all_sequences, bindings


def takers(module: IRModule) -> dict[str, str]:
    """Return for numpy, C and every release of apache-tvm that is written for why it does not take
    ``module``; "" where it does.

    Numpy takes all that is translated. C takes it too where there is a compiler. A release of TVM
    takes it where it has every operator.
    """
    compiler = "c" in translator.available_backends()
    found = {"numpy": "", "c": "" if compiler else "there is no C compiler that works"}
    lacking = {op.script.name: op.script.since for op in _operators(module) if op.script is not None}
    for release in RELEASES:
        later = sorted(name for name, since in lacking.items() if _number(since) > _number(release))
        found[f"tvm {release}"] = "" if not later else f"it has no R.{', R.'.join(later)}"
    return found


def _operators(module: IRModule) -> Iterator[OpDef]:
    roots = [func.body for func in module.functions.values() if isinstance(func, Function)]
    for seq in all_sequences(roots):
        for binding in bindings(seq):
            if isinstance(binding.value, Call) and isinstance(binding.value.op, OpDef):
                yield binding.value.op


def _number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
