"""PrimFuncs as C: fused and scheduled as tensor programs, printed, compiled once and cached by
content.

``merge_calls.py`` makes one PrimFunc of a run of calls, ``stages.py`` reads it as a list of stages,
the rules of ``fusion/pipeline.py`` make that shorter, ``schedule/schedule.py`` decides how loops
run (TIR to TIR), ``codegen/program.py`` prints what it left, ``toolchain.py`` compiles it, and
``loaded_module.py`` calls it. ``backends/vm/native.py`` has these steps in order for a whole Relax
module. Begin reading with ``fusion/pipeline.py``.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__, submod_attrs={"loaded_module": ["CompiledModule", "compile_prim_funcs"]}
)

if TYPE_CHECKING:
    from relay2relax.backends.c.loaded_module import CompiledModule, compile_prim_funcs

__all__ = ["CompiledModule", "compile_prim_funcs"]
