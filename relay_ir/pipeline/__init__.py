"""Passes by name: a pipeline as text, and what each pass of one changed.

    steps = pipeline.apply(mod, pipeline.read("FoldConstant, FuseOps(fuse_opt_level=2)"))
    print("\\n".join(steps[0].diff()))

``text.py`` reads pipelines; ``steps.py`` runs them.
"""

from relay2relax.relay_ir.pipeline.steps import Step, apply
from relay2relax.relay_ir.pipeline.text import passes_by_name, read

__all__ = ["Step", "apply", "passes_by_name", "read"]
