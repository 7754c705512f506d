"""Which pass of a pipeline changes what a program computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay2relax.backends import create_executor
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.tolerance import Tolerance
from relay2relax.parity.tables import data_frame, html_table
from relay2relax.relay_ir import IRModule, pipeline
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.types import Type
from relay2relax.translator.arguments import Argument, flatten
from relay2relax.translator.chains import longest_chain
from relay2relax.translator.report import Row, Sheet


@dataclass(frozen=True, slots=True)
class PassResult:
    """What a program gives behind the pass ``name``, beside what it gave before all passes: a row
    for each output.
    """

    name: str
    rows: tuple[Row, ...]

    @property
    def agrees(self) -> bool:
        """Whether every output agrees."""
        return all(row.difference.agrees for row in self.rows)

    def __str__(self) -> str:
        worst = max(self.rows, key=lambda row: (not row.difference.agrees, row.difference.max_abs))
        found = worst.difference
        if found.reason and not found.agrees:
            return f"{worst.verdict}: {found.reason}"
        return f"{worst.verdict}, off by {found.max_abs:.2g}" if found.max_abs else worst.verdict

    def to_json(self) -> dict[str, object]:
        """Return the result as plain values."""
        return {"pass": self.name, "agrees": self.agrees, "rows": [row.to_json() for row in self.rows]}

    def _records(self) -> list[dict[str, object]]:
        return [
            {
                "pass": self.name,
                "output": row.output,
                "max_abs": row.difference.max_abs,
                "verdict": row.verdict,
                "reason": row.difference.reason,
            }
            for row in self.rows
        ]

    def to_dataframe(self) -> Any:
        """Return a row for each output as a frame of pandas.

        Raises UnsupportedError where that is not installed.
        """
        return data_frame(self._records())

    def _repr_html_(self) -> str:
        caption = f"{self.name}: {self}"
        return html_table(("output", "max_abs", "verdict", "reason"), self._records(), caption)


def compare_passes(
    steps: Sequence[pipeline.Step],
    arguments: Sequence[Argument],
    backend: str = "numpy",
    tolerance: Tolerance | None = None,
) -> tuple[PassResult, ...]:
    """Run the program before all ``steps`` and behind each, and compare.

    The first result that does not agree is that of the pass to blame, or of one that rounds, such
    as ToMixedPrecision, by its nature. Where there is no ``tolerance`` the dtype and the sums of
    the program decide. A pass behind which the program ends in an error, or takes other arguments,
    does not agree. Raises what running the program before all passes raises.
    """
    if not steps:
        return ()
    first = typed_module(steps[0].before)
    expected = flatten(_run(first, arguments, backend))
    length = None if tolerance else longest_chain(first, arguments)
    found: list[PassResult] = []
    for step in steps:
        sheet = Sheet(expected, tolerance, length)
        if step.after is step.before and found:
            found.append(PassResult(step.name, found[-1].rows))
            continue
        try:
            after = typed_module(step.after)
            if _parameters(after) == _parameters(first):
                sheet.add(step.name, backend, _run(after, arguments, backend))
            else:
                sheet.add_failure(step.name, backend, "it takes other arguments")
        except Relay2RelaxError as error:
            sheet.add_failure(step.name, backend, error.diagnostics[0].title, error.diagnostics[0].kind)
        found.append(PassResult(step.name, tuple(sheet.rows)))
    return tuple(found)


def _run(mod: IRModule, arguments: Sequence[Argument], backend: str) -> object:
    return create_executor("debug", mod, backend=backend).evaluate()(*arguments)


def _parameters(mod: IRModule) -> list[Type]:
    return [mod.types[param] for param in mod["main"].params]
