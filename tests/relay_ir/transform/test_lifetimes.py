"""Lifetimes in the programs of TVM 0.18's test_pass_manifest_lifetimes.py, and in others."""

from __future__ import annotations

from typing import Any

import pytest

from relay2relax import relay_ir
from relay2relax.relay_ir import op, transform
from relay2relax.relay_ir.ir.rewrite import nodes

HEADER = '#[version = "0.0.5"]\n'
LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"
# Before and after; all but the last two pairs are what TVM's tests say.
PAIRS = {
    "line": (
        "def @main(%x: int32) { let %y = add(%x, %x); let %z = add(%y, %y); let %w = add(%z, %z); %w }",
        """def @main(%x: int32) { let %y = add(%x, %x); let %_0 = memory.kill(%x); let %z = add(%y, %y);
  let %_1 = memory.kill(%y); let %w = add(%z, %z); let %_2 = memory.kill(%z); %w }""",
    ),
    "branches": (
        """def @main(%x: int32) { let %y = cast(%x, dtype="bool");
  let %z = if (%y) { let %v0 = add(%x, %x); let %v1 = multiply(%v0, 2); %v1 } else { %x }; %z }""",
        """def @main(%x: int32) { let %y = cast(%x, dtype="bool");
  let %z = if (%y) { let %v0 = add(%x, %x); let %_0 = memory.kill(%x); let %v1 = multiply(%v0, 2);
    let %_1 = memory.kill(%v0); %v1 } else { %x };
  let %_2 = memory.kill(%y); %z }""",
    ),
    "match": (
        LIST
        + """def @main(%x: int32) { let %l: List[int32] = Nil;
  let %m = match (%l) { Cons(%head, %rest) => { let %y = add(%x, 1); let %z = add(%y, %y); %z }, Nil => -1, };
  %m }""",
        LIST
        + """def @main(%x: int32) { let %l: List[int32] = Nil;
  let %m = match (%l) { Cons(%head, %rest) => { let %y = add(%x, 1); let %_0 = memory.kill(%x);
    let %z = add(%y, %y); let %_1 = memory.kill(%y); %z }, Nil => -1, };
  let %_2 = memory.kill(%l); %m }""",
    ),
    "another_name": (
        "def @main(%x: int32) { let %y = %x; let %z = add(%y, 1); let %w = add(%y, %z); %w }",
        """def @main(%x: int32) { let %z = add(%x, 1); let %w = add(%x, %z); let %_0 = memory.kill(%x);
  let %_1 = memory.kill(%z); %w }""",
    ),
    "needed_behind": (
        """def @main(%x: int32, %c: bool) { let %y = add(%x, 1);
  let %z = if (%c) { let %v = add(%y, %x); %v } else { %y }; let %w = add(%z, %x); %w }""",
        """def @main(%x: int32, %c: bool) { let %y = add(%x, 1);
  let %z = if (%c) { let %v = add(%y, %x); let %_0 = memory.kill(%y); %v } else { %y };
  let %_1 = memory.kill(%c);
  let %w = add(%z, %x); let %_2 = memory.kill(%z); let %_3 = memory.kill(%x); %w }""",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_variables_are_killed(name: str) -> None:
    before, after = (relay_ir.infer_type(relay_ir.parse(HEADER + text)) for text in PAIRS[name])
    made = relay_ir.infer_type(transform.ManifestLifetimes()(before))
    assert relay_ir.first_difference(made, after) is None


@pytest.mark.sweep(every=2)
def test_long_programs() -> None:
    value: Any = relay_ir.var("x", shape=())
    x = value
    for _ in range(20_000):
        value = op.negative(value)
    mod = transform.ToANormalForm()(relay_ir.IRModule.from_expr(relay_ir.Function((x,), value)))
    made = transform.ManifestLifetimes()(mod)
    kills = [one for one in nodes(made["main"]) if isinstance(one, relay_ir.Call) and one.op == op.get("memory.kill")]
    assert len(kills) == 20_000
