"""How a model fares, in a word."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """How a model fares, from the best to the worst.

    ``fine``  all of it becomes Relax. ``tensorir``  some operators become TensorIR, which Relax has
    no operator for. ``lossy``  something that the model says is dropped. ``refused``  it cannot be
    translated. ``unreadable``  it cannot be read.
    """

    FINE = "fine"
    TENSORIR = "tensorir"
    LOSSY = "lossy"
    REFUSED = "refused"
    UNREADABLE = "unreadable"

    @property
    def rank(self) -> int:
        """How bad it is, 0 being the best."""
        return list(Verdict).index(self)
