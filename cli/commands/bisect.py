"""``relay2relax bisect``: the node, the pass or the rule that makes results part."""

from __future__ import annotations

import sys

from relay2relax import parity, translator
from relay2relax.cli import outcome, screen
from relay2relax.cli.options.values import Values
from relay2relax.core.errors import ExitCode
from relay2relax.core.source import visible
from relay2relax.parity import Over


def run(values: Values, over: Over, passes: tuple[str, ...], backend: str, via: translator.Via, as_json: bool) -> None:
    """Print what was tried and found; exit with 1 where something makes results part."""
    module, arguments = values.read()
    with screen.progress(f"searching over {over}"):
        found = parity.bisect(module, arguments, over, passes=passes, backend=backend, via=via)
    if as_json:
        outcome.deliver(found.to_json())
    else:
        if found.probes:
            rows = [(one.step or "none", "agrees" if one.agrees else "DIFFERS") for one in found.probes]
            print(screen.table(("up to", "results"), rows, painted={1: screen.verdict}))
        print(visible(found.said))
    if found.differs:
        sys.exit(ExitCode.DIFFERS)
