"""``relay2relax convert --dry-run``: what would be written, and what becomes of every operator.

What cannot be translated is told by the errors, all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from relay2relax import graph, relax_ir, relay_ir, translator
from relay2relax.cli import files, outcome, screen
from relay2relax.core.output import OutputFolder
from relay2relax.core.source import visible
from relay2relax.relay_ir.io.binding import Bound

# Translates, and returns the graph as well.
Translated = Callable[[], tuple[relax_ir.IRModule, graph.MSCGraph]]


def show(
    model: Path,
    folder: OutputFolder,
    names: Sequence[str],
    module: relay_ir.IRModule,
    given: Bound,
    translated: Translated,
    lowered: bool,
    as_json: bool,
) -> None:
    """Translate without writing anything, and say what becomes of the model.

    ``names`` are the files that would lie in ``folder``. Raises what translation raises, and
    FileError, when all is said, where they must not be written.
    """
    with screen.progress("translating"):
        relax, found = translated()
    foreseen = folder.foresee(names)
    operators = translator.what_becomes(found, relax, lowered)
    document: Mapping[str, object] = {
        "model": model.name,
        "dry_run": True,
        "folder": str(folder.path),
        "files": list(names),
        "written_over": [path.name for path in foreseen.over],
        "removed": [path.name for path in foreseen.gone],
        "weights": [*given.weights],
        "inputs": files.inputs(module, given.weights),
        "missing_weights": [*given.missing],
        "operators": [asdict(one) for one in operators],
    }
    if as_json:
        outcome.deliver(document)
        foreseen.check()
        return
    print(f"{visible(model.name)} can be converted; nothing is written")
    rows = [
        (one.operator, str(one.calls), str(one.relax or ""), str(one.tensorir or ""), "; ".join(one.why))
        for one in operators
    ]
    print(screen.table(("operator", "calls", "Relax", "TensorIR", "why"), rows, range(1, 4)))
    for name in names:
        path = folder.path / name
        print(f"would write {'over ' * (path in foreseen.over)}{visible(str(path))}")
    for path in foreseen.gone:
        print(f"would remove {visible(str(path))}, of an earlier run")
    foreseen.check()
