"""Does the Relax program compute what the Relay program computes? Both are run and compared, output
by output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from relay2relax import backends as running
from relay2relax.core.dtype import Array
from relay2relax.core.errors import CompilerError
from relay2relax.core.tolerance import Tolerance, difference
from relay2relax.core.tvm_installation import require_tvm, tvm_available
from relay2relax.relay_ir import IRModule
from relay2relax.relay_ir.inference.fixed_extents import fix_extents
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.translator.arguments import Argument, drawn_values, flatten, make_arguments
from relay2relax.translator.as_tensorir import calls_as_tensorir
from relay2relax.translator.bisection import FUSED_OTHERWISE, FUSING, first_difference
from relay2relax.translator.chains import longest_chain
from relay2relax.translator.drawing import Drawn
from relay2relax.translator.expected import Recorded, recorded
from relay2relax.translator.pipeline import Dims, lower_to_tir, via_graph
from relay2relax.translator.report import Comparer, Report, Sheet, Tolerances


def available_backends() -> tuple[str, ...]:
    """Return the backends that can run here: numpy always, c with a compiler, tvm where it is
    installed.
    """
    names = ["numpy"]
    if _has_compiler():
        names.append("c")
    if tvm_available():
        names.append("tvm")
    return tuple(names)


def _has_compiler() -> bool:
    try:
        require_backend("c")
    except CompilerError:
        return False
    return True


def require_backend(name: str) -> None:
    """Raise CompilerError or TvmError where what the backend ``name`` needs is not there."""
    from relay2relax.backends.c.toolchain import find_compiler

    match name:
        case "c":
            find_compiler()
        case "tvm":
            require_tvm()


def compare(
    mod: IRModule,
    params: Mapping[str, Array] | None = None,
    inputs: Mapping[str, Array] | None = None,
    seed: int = 0,
    backends: Sequence[str] = ("numpy", "c"),
    per_node: bool = False,
    dims: Dims | None = None,
    expected: Mapping[str, Array] | Sequence[Array] | None = None,
    tolerance: Tolerance | None = None,
    closer: Callable[[Trial], Iterable[str]] = lambda _: (),
) -> Report:
    """Run ``mod`` as Relay and as both translations, and compare with Relay on the numpy backend.

    The reference is Relay executed directly, and not one of the translations: both go through the
    graph, so a mistake there would be in both. Where ``expected`` gives outputs that were recorded
    elsewhere, those of an old TVM say, they are the reference, and Relay on numpy is compared as
    well; names that hold numbers say which output is which, else the order.

    ``params`` and ``inputs`` give values by parameter name; the rest is drawn from ``seed``. Relay
    runs on every backend but tvm, which has no Relay any more. ``per_node`` compares intermediate
    values as well and names the first node that differs. How close outputs must be follows from
    their dtype, or is the ``tolerance`` that is asked for. ``closer`` looks at what was run;
    what it says is among the notes. Raises what translating, building or running raises.
    """
    trial = Trial.of(fix_extents(mod, dims), {**(params or {}), **(inputs or {})}, seed, expected, tolerance)
    for backend in backends:
        if backend not in ("numpy", "tvm"):
            relay = running.create_executor("debug", trial.module, backend=backend).evaluate()
            trial.sheet.add("relay", backend, relay(*trial.arguments))
    notes = []
    for program, translate in (("lower_to_tir", lower_to_tir), ("via_graph", via_graph)):
        relax = translate(trial.module, dims=dims)
        notes += [f"{program}: {one}" for one in calls_as_tensorir(relax)]
        for backend in backends:
            machine = running.VirtualMachine(running.build(relax, target=backend))
            trial.sheet.add(program, backend, machine["main"](*trial.arguments))
            if per_node:
                found = first_difference(trial.module, trial.arguments, translate, backend, trial.sheet.length)
                apart = f" ({FUSED_OTHERWISE})" if backend in FUSING else ""
                notes.append(f"{program} on {backend}: {found or 'every intermediate value agrees'}{apart}")
    return trial.report([*notes, *closer(trial)])


@dataclass(frozen=True, slots=True)
class Trial:
    """A Relay module, values for its parameters, and what it gives for them, or gave elsewhere."""

    module: IRModule
    arguments: Sequence[Argument]
    drawn: Drawn | None
    recorded: Recorded | None
    sheet: Sheet

    @classmethod
    def of(
        cls,
        mod: IRModule,
        given: Mapping[str, Array],
        seed: int = 0,
        expected: Mapping[str, Array] | Sequence[Array] | None = None,
        tolerance: Tolerances | None = None,
        extents: Mapping[str, Sequence[int | None]] | None = None,
        comparer: Comparer = difference,
    ) -> Trial:
        """Return the trial of ``mod``, which has been run on numpy.

        Values that are not ``given`` are drawn from ``seed``, with ``extents`` where their types
        leave them open; ``comparer`` judges results. Raises what running raises.
        """
        mod = typed_module(mod)
        arguments = make_arguments(mod, given, seed, extents)
        direct = flatten(running.create_executor("debug", mod, backend="numpy").evaluate()(*arguments))
        reference = None if expected is None else recorded(expected, len(direct))
        length = None if isinstance(tolerance, Tolerance) else longest_chain(mod, arguments)
        sheet = Sheet(direct if reference is None else reference.arrays, tolerance, length, comparer)
        if reference is not None:
            sheet.add("relay", "numpy", direct)
        return cls(mod, arguments, drawn_values(mod, given, arguments, seed), reference, sheet)

    def report(self, notes: Sequence[str] = ()) -> Report:
        """Return the rows, and ``notes`` behind those on what was drawn and what proves little."""
        first = [str(self.drawn)] if self.drawn else []
        if self.recorded is not None:
            first.append(str(self.recorded))
            if self.drawn:
                first.append("values are drawn here, so whoever recorded the outputs had others: give --inputs")
        weak = (_weakness(one) for one in self.sheet.expected)
        first += [f"output {index}: {said}" for index, said in enumerate(weak) if said]
        rows, left_out = tuple(self.sheet.rows), tuple(self.sheet.left_out)
        return Report(rows, (*first, *notes), self.drawn, left_out, self.recorded)


def _weakness(expected: Array) -> str:
    """Return why agreement with ``expected`` would prove little.

    Nothing where it does prove something.
    """
    if expected.dtype.kind in "biu" or expected.size < 2:
        return ""
    finite = int(np.count_nonzero(np.isfinite(expected)))
    if finite < expected.size:
        where = "`view --run` says where it begins"
        return f"only {finite} of {expected.size} values are finite ({where}); give --params, or other inputs"
    if np.all(expected == expected.flat[0]):
        return f"every value is {expected.flat[0]}; give --params, or other inputs"
    return ""
