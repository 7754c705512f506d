"""How loops run on a CPU: decided by rule, as a transformation of tensor programs."""

from __future__ import annotations

from relay2relax.backends.c.lower import lower_blocks
from relay2relax.tir.stmt import PrimFunc, Seq, Stmt


def schedule(func: PrimFunc) -> list[Stmt]:
    """Return the stages of ``func`` in order, as loops without blocks."""
    body = func.body
    stages = list(body.stmts) if isinstance(body, Seq) else [body]
    return [lower_blocks(stage) for stage in stages]
