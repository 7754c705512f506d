"""Whether an operator may compute in lower precision."""

from __future__ import annotations

from enum import Enum


class Precision(Enum):
    """What ToMixedPrecision asks of an operator; the numbers are TVM's."""

    ALWAYS = 0
    # Where all operands are in lower precision.
    FOLLOW = 1
    # Its results are much larger than its operands, or are long sums.
    NEVER = 2
