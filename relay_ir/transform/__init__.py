"""Passes over Relay modules: each is a value that takes a module and returns one, and never changes its
argument.

    mod = transform.ToGraphNormalForm()(mod)

What a pass does not touch it returns as it was: spans, sharing and weights survive. Inferred types are
forgotten where anything changed.
"""

from relay2relax.relay_ir.transform.dead_code import DeadCodeElimination
from relay2relax.relay_ir.transform.graph_normal_form import ToGraphNormalForm
from relay2relax.relay_ir.transform.infrastructure import Pass, Sequential
from relay2relax.relay_ir.transform.inline import InlineLocalFunctions

__all__ = ["DeadCodeElimination", "InlineLocalFunctions", "Pass", "Sequential", "ToGraphNormalForm"]
