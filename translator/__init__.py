"""From Relay to Relax, two ways, and the proof that both sides agree.

``lower_to_tir`` makes ``call_tir`` of a PrimFunc per operator; ``via_graph`` goes through the
lossless graph to Relax's own operators; ``compare`` runs everything and compares. Begin reading
with ``lowering.py``.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "arguments": ["flatten", "make_arguments"],
        "as_tensorir": ["AsTensorIR", "calls_as_tensorir"],
        "comparison": ["Report", "available_backends", "compare"],
        "lowering": ["lower_to_tir"],
        "through_graph": ["via_graph"],
    },
)

if TYPE_CHECKING:
    from relay2relax.translator.arguments import flatten, make_arguments
    from relay2relax.translator.as_tensorir import AsTensorIR, calls_as_tensorir
    from relay2relax.translator.comparison import Report, available_backends, compare
    from relay2relax.translator.lowering import lower_to_tir
    from relay2relax.translator.through_graph import via_graph

__all__ = [
    "AsTensorIR",
    "Report",
    "available_backends",
    "calls_as_tensorir",
    "compare",
    "flatten",
    "lower_to_tir",
    "make_arguments",
    "via_graph",
]
