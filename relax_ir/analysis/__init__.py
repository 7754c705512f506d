"""Questions asked of Relax programs. ``analysis.py`` has those of TVM's ``relax.analysis``, which
are the names here; ``check.py`` checks that a module is well formed, ``structural_equal.py`` and
``hashing.py`` compare programs up to names.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "analysis": [
            "post_order_visit",
            "all_vars",
            "bound_vars",
            "free_vars",
            "used_vars",
            "all_global_vars",
            "tir_vars_in_struct_info",
            "definable_tir_vars_in_struct_info",
            "defined_symbolic_vars",
            "free_symbolic_vars",
            "udchain",
            "get_var2val",
            "name_to_binding",
            "contains_impure_call",
            "detect_recursion",
            "erase_to_well_defined",
            "struct_info_lca",
        ]
    },
)

if TYPE_CHECKING:
    from relay2relax.relax_ir.analysis.analysis import (
        all_global_vars,
        all_vars,
        bound_vars,
        contains_impure_call,
        definable_tir_vars_in_struct_info,
        defined_symbolic_vars,
        detect_recursion,
        erase_to_well_defined,
        free_symbolic_vars,
        free_vars,
        get_var2val,
        name_to_binding,
        post_order_visit,
        struct_info_lca,
        tir_vars_in_struct_info,
        udchain,
        used_vars,
    )

__all__ = [
    "all_global_vars",
    "all_vars",
    "bound_vars",
    "contains_impure_call",
    "definable_tir_vars_in_struct_info",
    "defined_symbolic_vars",
    "detect_recursion",
    "erase_to_well_defined",
    "free_symbolic_vars",
    "free_vars",
    "get_var2val",
    "name_to_binding",
    "post_order_visit",
    "struct_info_lca",
    "tir_vars_in_struct_info",
    "udchain",
    "used_vars",
]
