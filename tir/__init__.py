"""Tensor programs (TensorIR): scalar expressions, statements, and the PrimFuncs that hold them.

Nothing here knows an operator or a graph. Begin reading with ``ir/expr.py`` and ``ir/stmt.py``. A
program begins as a tensor expression (``te/``), which becomes a PrimFunc of blocks
(``te/create_prim_func.py``). Each room imports only those before it:

- ``ir/`` expressions, statements, functions; how they are walked and compared
- ``arith/`` integer expressions in canonical form, and what can be proved of them
- ``extent.py`` dimensions of tensors
- ``analysis/`` what is found out: checks, regions of blocks, effects, patterns of fusion
- ``te/`` and ``normalize/`` how PrimFuncs are made, and the form that every backend runs
- ``schedule/`` and ``script/`` loops in another order; TVMScript, read and written
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "analysis.check": ["check_prim_func"],
        "arith.simplify": ["EXTENTS", "prove", "simplify"],
        "errors": ["TIRError"],
        "ir.stmt": ["PrimFunc"],
        "ir.structural_equal": ["structural_equal", "structural_key"],
        "script.printer": ["print_prim_func"],
    },
)

if TYPE_CHECKING:
    from relay2relax.tir.analysis.check import check_prim_func
    from relay2relax.tir.arith.simplify import EXTENTS, prove, simplify
    from relay2relax.tir.errors import TIRError
    from relay2relax.tir.ir.stmt import PrimFunc
    from relay2relax.tir.ir.structural_equal import structural_equal, structural_key
    from relay2relax.tir.script.printer import print_prim_func

__all__ = [
    "EXTENTS",
    "PrimFunc",
    "TIRError",
    "check_prim_func",
    "print_prim_func",
    "prove",
    "simplify",
    "structural_equal",
    "structural_key",
]
