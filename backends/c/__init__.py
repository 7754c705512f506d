"""PrimFuncs as C: scheduled as tensor programs, printed, compiled once and cached by content.

``schedule.py`` decides how loops run (TIR to TIR), ``codegen.py`` prints what it left,
``compile.py`` builds and loads the shared object, ``module.py`` calls it. Begin reading with
``module.py``.
"""

from relay2relax.backends.c.loaded_module import CompiledModule, compile_prim_funcs

__all__ = ["CompiledModule", "compile_prim_funcs"]
