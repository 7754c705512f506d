"""Does the Relax program compute what the Relay program computes? Both are run and compared, output
by output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from relay2relax import backends as running
from relay2relax.core.dtype import Array
from relay2relax.core.errors import CompilerError
from relay2relax.core.tolerance import MODEL_REDUCTION, Difference, Tolerance, difference
from relay2relax.core.tvm_installation import tvm_available
from relay2relax.relay_ir import IRModule
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.translator.arguments import describe_drawn, flatten, make_arguments
from relay2relax.translator.as_tensorir import calls_as_tensorir
from relay2relax.translator.bisection import first_difference
from relay2relax.translator.expected import in_order
from relay2relax.translator.pipeline import Dims, lower_to_tir, via_graph


@dataclass(frozen=True, slots=True)
class Row:
    """One output of one program on one backend, against the reference."""

    program: str
    backend: str
    output: int
    difference: Difference


@dataclass(frozen=True, slots=True)
class Report:
    """All rows of a comparison, and what else there is to say.

    ``notes`` name the calls that have no Relax form, the first node that differs, and outputs that
    prove little.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether every output of every program agrees within the tolerance."""
        return all(row.difference.agrees for row in self.rows)

    def to_json(self) -> dict[str, object]:
        """Return the report as plain values."""

        def plain(row: Row) -> dict[str, object]:
            values = {**asdict(row.difference), "of_scale": row.difference.of_scale}
            return {
                "program": row.program, "backend": row.backend, "output": row.output,
                **{k: (None if isinstance(v, float) and not np.isfinite(v) else v) for k, v in values.items()},
            }  # fmt: skip

        return {"agrees": self.agrees, "rows": [plain(row) for row in self.rows], "notes": list(self.notes)}


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
    from relay2relax.backends.c.toolchain import find_compiler

    try:
        find_compiler()
    except CompilerError:
        return False
    return True


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
) -> Report:
    """Run ``mod`` as Relay and as both translations, and compare with Relay on the numpy backend.

    The reference is Relay executed directly, and not one of the translations: both go through the
    graph, so a mistake there would be in both. Where ``expected`` gives outputs that were recorded
    elsewhere, those of an old TVM say, they are the reference, and Relay on numpy is compared as
    well; names that hold numbers say which output is which, else the order.

    ``params`` and ``inputs`` give values by parameter name; the rest is drawn from ``seed``. Relay
    runs on every backend but tvm, which has no Relay any more. ``per_node`` compares intermediate
    values as well and names the first node that differs. How close outputs must be follows from
    their dtype, or is the ``tolerance`` that is asked for. Raises what translating, building or
    running raises.
    """
    mod = typed_module(mod)
    given = {**(params or {}), **(inputs or {})}
    arguments = make_arguments(mod, given, seed)
    direct = flatten(running.create_executor("debug", mod, backend="numpy").evaluate()(*arguments))
    sheet = _Sheet(direct if expected is None else in_order(expected, len(direct)), tolerance)
    if expected is not None:
        sheet.add("relay", "numpy", direct)
    for backend in backends:
        if backend not in ("numpy", "tvm"):
            relay = running.create_executor("debug", mod, backend=backend).evaluate()
            sheet.add("relay", backend, relay(*arguments))
    notes = [said] if (said := describe_drawn(mod, given, arguments, seed)) else []
    notes += [f"output {index}: {said}" for index, one in enumerate(sheet.expected) if (said := _weakness(one))]
    for program, translate in (("lower_to_tir", lower_to_tir), ("via_graph", via_graph)):
        relax = translate(mod, dims=dims)
        notes += [f"{program}: {one}" for one in calls_as_tensorir(relax)]
        for backend in backends:
            machine = running.VirtualMachine(running.build(relax, target=backend))
            sheet.add(program, backend, machine["main"](*arguments))
            if per_node:
                found = first_difference(mod, arguments, translate, backend)
                notes.append(f"{program} on {backend}: {found or 'every intermediate value agrees'}")
    return Report(tuple(sheet.rows), tuple(notes))


@dataclass(slots=True)
class _Sheet:
    """What is expected, and the rows so far."""

    expected: Sequence[Array]
    tolerance: Tolerance | None
    rows: list[Row] = field(default_factory=list)

    def add(self, program: str, backend: str, result: object) -> None:
        """Add a row for each output of a program."""
        actual = flatten(result)
        if len(actual) != len(self.expected):
            reason = f"{len(actual)} outputs, expected {len(self.expected)}"
            self.rows.append(Row(program, backend, 0, Difference(np.inf, np.inf, np.inf, False, reason)))
            return
        for index, (one, other) in enumerate(zip(actual, self.expected, strict=True)):
            found = difference(one, other, MODEL_REDUCTION, self.tolerance)
            self.rows.append(Row(program, backend, index, found))


def _weakness(expected: Array) -> str:
    """Return why agreement with ``expected`` would prove little.

    Nothing where it does prove something.
    """
    if expected.dtype.kind in "biu" or expected.size < 2:
        return ""
    finite = int(np.count_nonzero(np.isfinite(expected)))
    if finite < expected.size:
        return f"only {finite} of {expected.size} values are finite; give --params, or other inputs"
    if np.all(expected == expected.flat[0]):
        return f"every value is {expected.flat[0]}; give --params, or other inputs"
    return ""
