"""``relay2relax compare``: Relay against both translations of it, output by output."""

from __future__ import annotations

import sys
from pathlib import Path

from relay2relax import translator
from relay2relax.cli import files, screen
from relay2relax.core.tolerance import Tolerance


def run(
    model: Path, params: Path | None, inputs: Path | None, backends: list[str], seed: int, dims: list[str],
    allow_missing: bool, per_node: bool, expected: Path | None, tolerance: Tolerance | None, as_json: bool,
) -> None:  # fmt: skip
    """Print the table; exit 1 where an output disagrees."""
    with screen.progress(f"reading {model.name}"):
        module = files.load_model(model)
        values = files.load_params(params, module, allow_missing).values
        given = files.load_arrays(inputs)
        recorded = files.load_arrays(expected) if expected is not None else None
    with screen.progress("running Relay and both translations"):
        report = translator.compare(
            module, params=values, inputs=given, seed=seed, backends=tuple(backends), per_node=per_node,
            dims=files.parse_dims(dims), expected=recorded, tolerance=tolerance,
        )  # fmt: skip
    if as_json:
        screen.print_json(report.to_json())
    else:
        print(screen.report_table(report))
        for line in report.notes:
            print(line)
    if not report.agrees:
        sys.exit(1)


def tolerance(rtol: float | None, atol: float | None) -> Tolerance | None:
    """Return the tolerance that options ask for, None where there are none."""
    return None if rtol is None and atol is None else Tolerance(rtol or 0.0, atol or 0.0)
