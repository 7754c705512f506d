"""``relay2relax explain``: what an error means, with an example and its mend."""

from __future__ import annotations

from dataclasses import asdict

from relay2relax.cli import outcome
from relay2relax.core.errors import Diagnostic, ErrorKind, Relay2RelaxError, all_kinds, find_kind
from relay2relax.core.errors.nearest import near
from relay2relax.core.errors.table.files import OPTION


def run(code: str, as_json: bool) -> None:
    """Print the page of an error, or a line for each with ``all``.

    Raises Relay2RelaxError for a code that there is not.
    """
    kinds = all_kinds()
    if code == "all":
        outcome.deliver({"kinds": [_as_json(kind) for kind in kinds.values()]})
        if not as_json:
            print(*(f"{kind.code}  {kind.title}" for kind in kinds.values()), sep="\n")
        return
    kind = find_kind(code)
    if kind is None:
        close = near(code, kinds, 3) or list(kinds)[:3]
        help = f"there are {', '.join(close)} and others: relay2relax explain all"
        raise Relay2RelaxError(Diagnostic(f"no error has the code {code!r}", help=help), kind=OPTION)
    outcome.deliver({"kinds": [_as_json(kind)]})
    if not as_json:
        print(kind.page().rstrip("\n"))


def _as_json(kind: ErrorKind) -> dict[str, object]:
    """Return a kind as plain values."""
    return {**asdict(kind), "exit": int(kind.exit)}
