"""relay2relax carries models out of Relay into Relax.

Begin with ``relay2relax.relay_ir`` (read a Relay module), ``relay2relax.translator`` (two ways to
Relax), ``relay2relax.backends`` (run both sides) and ``relay2relax.graph`` (the DAG between).
Subpackages load when first used.
"""

import os
from typing import TYPE_CHECKING

import lazy_loader

# At the root of a checkout this folder is found before the installed package; its subpackages then
# lie beside it.
if not os.path.isdir(os.path.join(os.path.dirname(__file__), "core")):
    __path__.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

__version__ = "0.1.0"

_subpackages = [
    "backends", "core", "graph", "migrate", "ops", "parity", "relax_ir", "relay_ir", "script", "tir", "translator",
    "viewer",
]  # fmt: skip
__getattr__, __dir__, _all = lazy_loader.attach(
    __name__, submodules=_subpackages, submod_attrs={"core.limits": ["Limits"]}
)

if TYPE_CHECKING:
    from relay2relax import (
        backends,
        core,
        graph,
        migrate,
        ops,
        parity,
        relax_ir,
        relay_ir,
        script,
        tir,
        translator,
        viewer,
    )  # fmt: skip
    from relay2relax.core.limits import Limits

__all__ = [
    "Limits", "__version__", "backends", "core", "graph", "migrate", "ops", "parity", "relax_ir", "relay_ir", "script",
    "tir", "translator", "viewer",
]  # fmt: skip
