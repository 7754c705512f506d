"""Questions asked of Relay programs, under TVM's names.

``variables.py`` says which variables an expression uses and binds; ``traversal.py`` walks
expressions and counts operators.
"""

from relay2relax.relay_ir.analysis.traversal import count_layers, list_op_freqs, post_order_visit
from relay2relax.relay_ir.analysis.variables import all_vars, bound_vars, free_vars

__all__ = ["all_vars", "bound_vars", "count_layers", "free_vars", "list_op_freqs", "post_order_visit"]
