"""From Relay to Relax, two ways, and the proof that both sides agree.

``translate`` goes through the lossless graph, to Relax's own operators (``via_graph``) or to
``call_tir`` of a PrimFunc per operator (``lower_to_tir``); ``compare`` runs both, and Relay itself,
and compares. Begin reading with ``pipeline.py``.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "arguments": ["Argument", "drawn_as", "drawn_values", "flatten", "make_arguments"],
        "as_tensorir": ["AsTensorIR", "Becomes", "calls_as_tensorir", "what_becomes", "with_kernels"],
        "comparison": ["Trial", "available_backends", "compare"],
        "delivered": ["Script", "compare_script", "script_report", "trial_of", "values_for_relay", "within"],
        "drawing": ["Drawn"],
        "entries": ["beginning_at"],
        "opened": ["open_program"],
        "partitions": ["Partition", "compilers", "partitions"],
        "pipeline": [
            "Dims",
            "Translation",
            "Via",
            "entry_functions",
            "entry_of",
            "fuses",
            "lower_to_tir",
            "translate",
            "translation",
            "via_graph",
        ],
        "report": ["LeftOut", "Report", "joined", "outputs_shown"],
        "standalone": ["script_arguments", "values_for_script"],
        "subgraphs": ["RecordedPart", "record_parts"],
        "tracing.document": ["map_from_json", "map_to_json"],
        "tracing.model": ["Fate", "GraphNode", "Item", "Map", "Place", "PlaceKind", "RelayNode"],
        "tracing.quantised": ["QuantisedOperators", "allowed_quanta", "quantised_tolerance", "relay_in_floats"],
        "tracing.traced": ["Traced", "translate_with_map"],
    },
)

if TYPE_CHECKING:
    from relay2relax.translator.arguments import Argument, drawn_as, drawn_values, flatten, make_arguments
    from relay2relax.translator.as_tensorir import AsTensorIR, Becomes, calls_as_tensorir, what_becomes, with_kernels
    from relay2relax.translator.comparison import Trial, available_backends, compare
    from relay2relax.translator.delivered import (
        Script,
        compare_script,
        script_report,
        trial_of,
        values_for_relay,
        within,
    )
    from relay2relax.translator.drawing import Drawn
    from relay2relax.translator.entries import beginning_at
    from relay2relax.translator.opened import open_program
    from relay2relax.translator.partitions import Partition, compilers, partitions
    from relay2relax.translator.pipeline import (
        Dims,
        Translation,
        Via,
        entry_functions,
        entry_of,
        fuses,
        lower_to_tir,
        translate,
        translation,
        via_graph,
    )
    from relay2relax.translator.report import LeftOut, Report, joined, outputs_shown
    from relay2relax.translator.standalone import script_arguments, values_for_script
    from relay2relax.translator.subgraphs import RecordedPart, record_parts
    from relay2relax.translator.tracing.document import map_from_json, map_to_json
    from relay2relax.translator.tracing.model import Fate, GraphNode, Item, Map, Place, PlaceKind, RelayNode
    from relay2relax.translator.tracing.quantised import (
        QuantisedOperators,
        allowed_quanta,
        quantised_tolerance,
        relay_in_floats,
    )
    from relay2relax.translator.tracing.traced import Traced, translate_with_map

__all__ = [
    "Argument",
    "AsTensorIR",
    "Becomes",
    "Dims",
    "Drawn",
    "Fate",
    "GraphNode",
    "Item",
    "LeftOut",
    "Map",
    "Partition",
    "Place",
    "PlaceKind",
    "QuantisedOperators",
    "RecordedPart",
    "RelayNode",
    "Report",
    "Script",
    "Traced",
    "Translation",
    "Trial",
    "Via",
    "allowed_quanta",
    "available_backends",
    "beginning_at",
    "calls_as_tensorir",
    "compare",
    "compare_script",
    "compilers",
    "drawn_as",
    "drawn_values",
    "entry_functions",
    "entry_of",
    "flatten",
    "fuses",
    "joined",
    "lower_to_tir",
    "make_arguments",
    "map_from_json",
    "map_to_json",
    "open_program",
    "outputs_shown",
    "partitions",
    "quantised_tolerance",
    "record_parts",
    "relay_in_floats",
    "script_arguments",
    "script_report",
    "translate",
    "translate_with_map",
    "translation",
    "trial_of",
    "values_for_relay",
    "values_for_script",
    "via_graph",
    "what_becomes",
    "with_kernels",
    "within",
]
