"""``relay2relax convert --dry-run``: what would be written, and what becomes of every operator.

What cannot be translated is told by the errors, all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from relay2relax import graph, relax_ir, relay_ir, translator
from relay2relax.cli import outcome, screen
from relay2relax.core.source import visible
from relay2relax.relay_ir.io.binding import Bound

Translated = Callable[[], relax_ir.IRModule]


def show(
    model: Path,
    folder: Path,
    names: Sequence[str],
    module: relay_ir.IRModule,
    given: Bound,
    translated: Translated,
    lowered: bool,
    as_json: bool,
) -> None:
    """Translate without writing anything, and say what becomes of the model.

    ``names`` are the files that would lie in ``folder``. Raises what translation raises.
    """
    with screen.progress("translating"):
        relax = translated()
        relax_ir.check_well_formed(relax)
        found, _ = graph.from_relay(module)
    operators = translator.what_becomes(found, relax, lowered)
    document: Mapping[str, object] = {
        "model": model.name,
        "dry_run": True,
        "folder": str(folder),
        "files": list(names),
        "weights": [*given.weights],
        "inputs": [param.name for param in module["main"].params if param.name not in given.weights],
        "missing_weights": [*given.missing],
        "operators": [asdict(one) for one in operators],
    }
    if as_json:
        outcome.deliver(document)
        return
    print(f"{visible(model.name)} can be converted; nothing is written")
    rows = [
        (one.operator, str(one.calls), str(one.relax or ""), str(one.tensorir or ""), "; ".join(one.why))
        for one in operators
    ]
    print(screen.table(("operator", "calls", "Relax", "TensorIR", "why"), rows, range(1, 4)))
    for name in names:
        print(f"would write {visible(str(folder / name))}")
