"""Where two programs part, made small enough to look at.

``reduce`` takes a model that shows a difference, an error or any failing command, and returns the
smallest part of it that still does. ``judge`` says which of several results is nearest to the same
program in float64, ``compare_passes`` which pass of a pipeline changes results. ``compare`` runs
programs on backends, for many inputs. Begin reading with ``matrix/compare.py`` and
``reduction.py``.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "search": ["OVERS", "RELAX_PASSES", "Bisected", "Over", "Probe", "bisect", "bisect_trial"],
        "float64": ["REFERENCE", "Collected", "Judgement", "in_float64", "judge"],
        "checks": ["Check", "command_check", "comparison_check"],
        "matrix.batches": ["KINDS", "SWEPT", "Batch", "Kind", "loaded", "swept"],
        "matrix.compare": ["PROGRAMS", "compare"],
        "matrix.golden": ["golden_batches", "golden_bytes"],
        "matrix.measures": ["DECADES", "Measures", "measures_of"],
        "matrix.model": ["BatchResult", "Matrix"],
        "matrix.nodes": ["Growth", "NodeReport", "NotFinite", "node_report", "not_finite"],
        "matrix.repeats": ["Repeat"],
        "passes": ["PassResult", "compare_passes"],
        "programs.program": [
            "Program",
            "library_program",
            "onnx_program",
            "relay_program",
            "script_program",
            "torch_program",
            "translated_program",
        ],
        "reduction": ["NothingFailsError", "Reduced", "Try", "reduce"],
    },
)

if TYPE_CHECKING:
    from relay2relax.parity.checks import Check, command_check, comparison_check
    from relay2relax.parity.float64 import REFERENCE, Collected, Judgement, in_float64, judge
    from relay2relax.parity.matrix.batches import KINDS, SWEPT, Batch, Kind, loaded, swept
    from relay2relax.parity.matrix.compare import PROGRAMS, compare
    from relay2relax.parity.matrix.golden import golden_batches, golden_bytes
    from relay2relax.parity.matrix.measures import DECADES, Measures, measures_of
    from relay2relax.parity.matrix.model import BatchResult, Matrix
    from relay2relax.parity.matrix.nodes import Growth, NodeReport, NotFinite, node_report, not_finite
    from relay2relax.parity.matrix.repeats import Repeat
    from relay2relax.parity.passes import PassResult, compare_passes
    from relay2relax.parity.programs.program import (
        Program,
        library_program,
        onnx_program,
        relay_program,
        script_program,
        torch_program,
        translated_program,
    )
    from relay2relax.parity.reduction import NothingFailsError, Reduced, Try, reduce
    from relay2relax.parity.search import OVERS, RELAX_PASSES, Bisected, Over, Probe, bisect, bisect_trial

__all__ = [
    "DECADES",
    "KINDS",
    "OVERS",
    "PROGRAMS",
    "REFERENCE",
    "RELAX_PASSES",
    "SWEPT",
    "Batch",
    "BatchResult",
    "Bisected",
    "Check",
    "Collected",
    "Growth",
    "Judgement",
    "Kind",
    "Matrix",
    "Measures",
    "NodeReport",
    "NotFinite",
    "NothingFailsError",
    "Over",
    "PassResult",
    "Probe",
    "Program",
    "Reduced",
    "Repeat",
    "Try",
    "bisect",
    "bisect_trial",
    "command_check",
    "compare",
    "compare_passes",
    "comparison_check",
    "golden_batches",
    "golden_bytes",
    "in_float64",
    "judge",
    "library_program",
    "loaded",
    "measures_of",
    "node_report",
    "not_finite",
    "onnx_program",
    "reduce",
    "relay_program",
    "script_program",
    "swept",
    "torch_program",
    "translated_program",
]
