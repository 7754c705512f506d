"""Whether a tensor program has effects that its caller sees.

A pure program writes into memory of its own only and calls nothing that does more than return a
value, as TVM's ``IsPureFunction`` (src/s_tir/analysis/is_pure_function.cc) has it. Programs of
``call_tir`` write their results and so are not pure by themselves; ``call_tir``, which makes the
memory, is.
"""

from __future__ import annotations

from relay2relax.tir.ir.builtins import has_effect
from relay2relax.tir.ir.stmt import Allocate, BlockRealize, BufferStore, PrimFunc
from relay2relax.tir.ir.visit import all_expressions, statements, subexpressions


def is_pure(func: PrimFunc) -> bool:
    """Whether a call of ``func`` by itself has no effects."""
    own = set()
    for stmt in statements(func.body):
        match stmt:
            case Allocate(buffer, of=None):
                own.add(buffer)
            case BlockRealize(block=block):
                own.update(block.alloc_buffers)
            case BufferStore(buffer) if buffer not in own:
                return False
    parts = (part for expr in all_expressions(func.body) for part in subexpressions(expr))
    return not any(map(has_effect, parts))
