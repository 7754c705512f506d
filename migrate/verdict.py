"""How a model fares, in a word."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """How a model fares, from the best to the worst.

    ``fine``  all of it becomes Relax. ``tensorir``  some operators become TensorIR, which Relax has
    no operator for. ``lossy``  something that the model says is dropped. ``unchecked``  it was
    converted, and could not be compared. ``difference``  it was converted, and computes something
    else than Relay. ``refused``  it cannot be translated. ``unreadable``  it cannot be read.
    ``stopped``  it reached a limit of time or memory, or its files could not be written.
    ``crashed``  it ended the process.
    """

    FINE = "fine"
    TENSORIR = "tensorir"
    LOSSY = "lossy"
    UNCHECKED = "unchecked"
    DIFFERENCE = "difference"
    REFUSED = "refused"
    UNREADABLE = "unreadable"
    STOPPED = "stopped"
    CRASHED = "crashed"

    @property
    def rank(self) -> int:
        """How bad it is, 0 being the best."""
        return list(Verdict).index(self)
