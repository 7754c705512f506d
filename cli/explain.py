"""``relay2relax explain``: what an error means, with an example and its mend."""

from __future__ import annotations

import difflib

from relay2relax.core.errors import Diagnostic, Relay2RelaxError, all_kinds, find_kind
from relay2relax.core.errors.table.files import OPTION


def run(code: str) -> None:
    """Print the page of an error, or a line for each with ``all``.

    Raises Relay2RelaxError for a code that there is not.
    """
    kinds = all_kinds()
    if code == "all":
        print(*(f"{kind.code}  {kind.title}" for kind in kinds.values()), sep="\n")
        return
    kind = find_kind(code)
    if kind is None:
        close = difflib.get_close_matches(code.upper(), kinds, 3) or list(kinds)[:3]
        help = f"there are {', '.join(close)} and others: relay2relax explain all"
        raise Relay2RelaxError(Diagnostic(f"no error has the code {code!r}", help=help), kind=OPTION)
    print(kind.page().rstrip("\n"))
