"""Programs whose pages are looked at."""

from __future__ import annotations

import dataclasses

from relay2relax import relay_ir
from relay2relax.core.source import Span

HOSTILE = "</script><img src=x onerror=alert(1)>&lt;\u202e'\"`${1}"
CHAIN = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(3, 4), float32]) {
  %0 = nn.dense(%x, %w, units=3);
  %1 = log(%0);
  %2 = nn.relu(%1);
  searchsorted(%2, %1)
}
"""


def hostile_module() -> relay_ir.IRModule:
    """A program all of whose names are markup."""
    x, w = (relay_ir.var(HOSTILE + str(n), shape=shape, dtype="float32") for n, shape in enumerate(((1, 4), (3, 4))))
    span = Span(HOSTILE, 1, 1)
    body = dataclasses.replace(relay_ir.op.nn.dense(x, w), span=span)
    return relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Function((x, w), body)))
