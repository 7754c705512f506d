"""What an import tells a user beside its result: warnings of Python's, which commands print."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

RAISES = "branches that raise an error are left out, and data that reach them are computed by the other ones"
DRAWS = "random numbers are Relay's, the same in each run, and not those that PyTorch draws"
# So many nodes are named.
_NAMED = 5


@dataclass(eq=False)
class Notes:
    """What is said of which nodes."""

    nodes: dict[str, list[str]] = field(default_factory=dict)

    def add(self, text: str, node: str) -> None:
        """Say ``text`` of a node, once."""
        names = self.nodes.setdefault(text, [])
        if node not in names:
            names.append(node)

    def warn(self, level: int) -> None:
        """Warn of what was said, ``level`` calls above."""
        for text, names in self.nodes.items():
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            warnings.warn(f"{text}: {', '.join(names[:_NAMED])}{more}", stacklevel=level + 1)
