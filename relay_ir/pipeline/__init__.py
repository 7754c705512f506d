"""Passes by name: a pipeline as text, and what each pass of one changed.

    steps = pipeline.apply(mod, pipeline.read("FoldConstant, FuseOps(fuse_opt_level=2)"))
    print("\\n".join(steps[0].diff()))

``text.py`` reads pipelines; ``steps.py`` runs them. ``today.py`` says what stands for each pass
today, ``suggest.py`` what for a script; ``build_passes.py`` has the passes of ``relay.build``.
"""

from relay2relax.relay_ir.pipeline.build_passes import passes_of_build, prefix_of_build
from relay2relax.relay_ir.pipeline.steps import Step, apply
from relay2relax.relay_ir.pipeline.suggest import FoundPass, Suggestion, suggest
from relay2relax.relay_ir.pipeline.text import passes_by_name, read
from relay2relax.relay_ir.pipeline.today import TODAY, Today, Way

__all__ = [
    "TODAY",
    "FoundPass",
    "Step",
    "Suggestion",
    "Today",
    "Way",
    "apply",
    "passes_by_name",
    "passes_of_build",
    "prefix_of_build",
    "read",
    "suggest",
]
