"""Where two programs part, made small enough to look at.

``reduce`` takes a model that shows a difference, an error or any failing command, and returns the
smallest part of it that still does. ``judge`` says which of several results is nearest to the same
program in float64, ``compare_passes`` which pass of a pipeline changes results. Begin reading with
``reduction.py``.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "float64": ["Collected", "Judgement", "in_float64", "judge"],
        "checks": ["Check", "command_check", "comparison_check"],
        "passes": ["PassResult", "compare_passes"],
        "reduction": ["NothingFailsError", "Reduced", "Try", "reduce"],
    },
)

if TYPE_CHECKING:
    from relay2relax.parity.checks import Check, command_check, comparison_check
    from relay2relax.parity.float64 import Collected, Judgement, in_float64, judge
    from relay2relax.parity.passes import PassResult, compare_passes
    from relay2relax.parity.reduction import NothingFailsError, Reduced, Try, reduce

__all__ = [
    "Check",
    "Collected",
    "Judgement",
    "NothingFailsError",
    "PassResult",
    "Reduced",
    "Try",
    "command_check",
    "compare_passes",
    "comparison_check",
    "in_float64",
    "judge",
    "reduce",
]
