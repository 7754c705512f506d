"""Passes over Relax modules: values that are called with a module and return one.

    mod = LegalizeOps()(BindParams("main", weights)(mod))

A pass does not change the module it is given.
"""

from relay2relax.relax_ir.transform.bind_params import BindParams
from relay2relax.relax_ir.transform.dead_code import DeadCodeElimination
from relay2relax.relax_ir.transform.legalize_ops import LegalizeOps

__all__ = ["BindParams", "DeadCodeElimination", "LegalizeOps"]
