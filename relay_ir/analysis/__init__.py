"""Questions asked of Relay programs, under TVM's names.

``variables.py`` and ``type_variables.py`` say what an expression uses and binds; ``traversal.py``
walks expressions and counts operators; ``mac_count.py`` counts what they multiply; ``checks.py``
looks whether rules are kept; ``features.py`` says which constructs are used; ``call_graph.py``
which functions call which; ``extraction.py`` takes parts out. ``scopes.py`` says which block each
value belongs to, ``annotated_regions.py`` which region between annotations, and
``operations_distribution.py`` which compiler,
``devices.py`` which device. What has to fuse or to run first is elsewhere:
``transform.extract_fused_functions``, ``backends.get_calibration_data``.
"""

from relay2relax.relay_ir.analysis.annotated_regions import AnnotatedRegion, AnnotatedRegionSet
from relay2relax.relay_ir.analysis.call_graph import CallGraph
from relay2relax.relay_ir.analysis.checks import (
    check_basic_block_normal_form,
    check_constant,
    check_kind,
    unmatched_cases,
    well_formed,
)
from relay2relax.relay_ir.analysis.devices import virtual_devices
from relay2relax.relay_ir.analysis.extraction import (
    extract_intermdeiate_expr,
    extract_intermediate_expr,
    list_fake_quantized_op_freqs,
)
from relay2relax.relay_ir.analysis.features import Feature, detect_feature
from relay2relax.relay_ir.analysis.mac_count import get_total_mac_number
from relay2relax.relay_ir.analysis.operations_distribution import analyze_operations_distribution
from relay2relax.relay_ir.analysis.traversal import (
    all_dtypes,
    count_layers,
    list_op_freqs,
    post_order_visit,
    search_fc_transpose,
)
from relay2relax.relay_ir.analysis.type_variables import all_type_vars, bound_type_vars, free_type_vars
from relay2relax.relay_ir.analysis.variables import all_vars, bound_vars, free_vars

__all__ = [
    "AnnotatedRegion",
    "AnnotatedRegionSet",
    "CallGraph",
    "Feature",
    "all_dtypes",
    "all_type_vars",
    "all_vars",
    "analyze_operations_distribution",
    "bound_type_vars",
    "bound_vars",
    "check_basic_block_normal_form",
    "check_constant",
    "check_kind",
    "count_layers",
    "detect_feature",
    "extract_intermdeiate_expr",
    "extract_intermediate_expr",
    "free_type_vars",
    "free_vars",
    "get_total_mac_number",
    "list_fake_quantized_op_freqs",
    "list_op_freqs",
    "post_order_visit",
    "search_fc_transpose",
    "unmatched_cases",
    "virtual_devices",
    "well_formed",
]
