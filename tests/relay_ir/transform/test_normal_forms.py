"""Normal forms as a TVM 0.16 with Relay makes them of lets in lets, aliases and shared values."""

from __future__ import annotations

import pytest

from relay2relax import relay_ir
from relay2relax.relay_ir import transform

HEADER = '#[version = "0.0.5"]\n'

# program, what ToANormalForm and ToBasicBlockNormalForm make of it
CASES = [
    (
        """def @main(%x: int32) { let %a = (let %b = (let %c = add(%x, 1);
%c);
%b);
let %d = %a;
add(%d, %a) }""",
        """def @main(%x: int32) -> int32 {
  let %x_8 = 1;
  let %c: int32 = add(%x, %x_8);
  let %b: int32 = %c;
  let %a: int32 = %b;
  let %d: int32 = %a;
  let %x_9 = add(%d, %d);
  let %x_10 = %x_9;
  let %x_11 = %x_10;
  %x_11
}""",
        """def @main(%x: int32) -> int32 {
  let %c: int32 = add(%x, 1);
  let %b: int32 = %c;
  let %a: int32 = %b;
  let %d: int32 = %a;
  add(%d, %d)
}""",
    ),
    (
        """def @main(%x: int32) { add((let %b = add(%x, 1);
%b), (let %c = multiply(%x, 2);
multiply(%c, %c))) }""",
        """def @main(%x: int32) -> int32 {
  let %x_16 = 1;
  let %b: int32 = add(%x, %x_16);
  let %x_17 = %b;
  let %x_18 = 2;
  let %c: int32 = multiply(%x, %x_18);
  let %x_19 = multiply(%c, %c);
  let %x_20 = %x_19;
  let %x_21 = add(%x_17, %x_20);
  %x_21
}""",
        """def @main(%x: int32) -> int32 {
  %0 = (
    let %b: int32 = add(%x, 1);
    %b
  );
  %1 = (
    let %c: int32 = multiply(%x, 2);
    multiply(%c, %c)
  );
  add(%0, %1)
}""",
    ),
    (
        """def @main(%x: int32, %p: bool) { let %a = if (%p) { let %b = add(%x, 1);
%b }
else { let %c = (let %d = %x;
multiply(%d, %d));
%c };
%a }""",
        """def @main(%x: int32, %p: bool) -> int32 {
  let %d: int32 = %x;
  let %a: int32 = if (%p) {
    let %x_36 = 1;
    let %b: int32 = add(%d, %x_36);
    let %x_37 = %b;
    %x_37
  } else {
    let %x_34 = multiply(%d, %d);
    let %c: int32 = %x_34;
    let %x_35 = %c;
    %x_35
  };
  let %x_38 = %a;
  %x_38
}""",
        """def @main(%x: int32, %p: bool) -> int32 {
  let %d: int32 = %x;
  let %a: int32 = if (%p) {
    let %b: int32 = add(%d, 1);
    %b
  } else {
    let %c: int32 = multiply(%d, %d);
    %c
  };
  %a
}""",
    ),
    (
        """def @main(%x: int32) { let %t = (add(%x, 1), (let %b = %x;
%b));
%t.0 }""",
        """def @main(%x: int32) -> int32 {
  let %b: int32 = %x;
  let %x_52 = 1;
  let %x_53 = add(%x, %x_52);
  let %x_54 = %b;
  let %t: (int32, int32) = (%x_53, %x_54);
  let %x_55 = %t.0;
  let %x_56 = %x_55;
  %x_56
}""",
        """def @main(%x: int32) -> int32 {
  let %b: int32 = %x;
  %0 = add(%x, 1);
  let %t: (int32, int32) = (%0, %b);
  %t.0
}""",
    ),
    (
        """def @main(%x: int32, %p: bool) { %0 = add(%x, 1);
if (%p) { let %a = %0;
add(%a, %0) }
else { let %a2 = multiply(%0, 2);
%a2 } }""",
        """def @main(%x: int32, %p: bool) -> int32 {
  let %x_70 = 1;
  let %x_71 = add(%x, %x_70);
  let %a: int32 = %x_71;
  let %x_76 = if (%p) {
    let %x_74 = add(%a, %x_71);
    let %x_75 = %x_74;
    %x_75
  } else {
    let %x_72 = 2;
    let %a2: int32 = multiply(%x_71, %x_72);
    let %x_73 = %a2;
    %x_73
  };
  %x_76
}""",
        """def @main(%x: int32, %p: bool) -> int32 {
  let %x_78 = add(%x, 1);
  let %a: int32 = %x_78;
  if (%p) {
    add(%a, %x_78)
  } else {
    let %a2: int32 = multiply(%x_78, 2);
    %a2
  }
}""",
    ),
    (
        """def @main(%x: int32, %p: bool) { let %v = add(%x, 1);
%0 = multiply(%v, %v);
if (%p) { add(%v, %0) }
else { %0 } }""",
        """def @main(%x: int32, %p: bool) -> int32 {
  let %x_84 = 1;
  let %v: int32 = add(%x, %x_84);
  let %x_85 = multiply(%v, %v);
  let %x_87 = if (%p) {
    let %x_86 = add(%v, %x_85);
    %x_86
  } else {
    %x_85
  };
  let %x_88 = %x_87;
  %x_88
}""",
        """def @main(%x: int32, %p: bool) -> int32 {
  let %v: int32 = add(%x, 1);
  let %x_90 = multiply(%v, %v);
  if (%p) {
    add(%v, %x_90)
  } else {
    %x_90
  }
}""",
    ),
    (
        """def @main(%x: int32, %p: bool) { let %v = %x;
let %w = add(%v, 2);
let %r = if (%p) { add(%w, %v) }
else { subtract(%w, %v) };
multiply(%r, %w) }""",
        """def @main(%x: int32, %p: bool) -> int32 {
  let %v: int32 = %x;
  let %x_104 = 2;
  let %w: int32 = add(%v, %x_104);
  let %r: int32 = if (%p) {
    let %x_106 = add(%w, %v);
    %x_106
  } else {
    let %x_105 = subtract(%w, %v);
    %x_105
  };
  let %x_107 = multiply(%r, %w);
  let %x_108 = %x_107;
  let %x_109 = %x_108;
  let %x_110 = %x_109;
  %x_110
}""",
        """def @main(%x: int32, %p: bool) -> int32 {
  let %v: int32 = %x;
  let %w: int32 = add(%v, 2);
  let %r: int32 = if (%p) {
    add(%w, %v)
  } else {
    subtract(%w, %v)
  };
  multiply(%r, %w)
}""",
    ),
    (
        """def @main(%x: int32) { let %a = (let %b = 1;
add(%b, %x));
let %c = (let %b2 = %a;
%b2);
(%a, %c) }""",
        """def @main(%x: int32) -> (int32, int32) {
  let %b: int32 = 1;
  let %x_62 = add(%b, %x);
  let %a: int32 = %x_62;
  let %b2: int32 = %a;
  let %c: int32 = %b2;
  let %x_63 = (%b2, %c);
  let %x_64 = %x_63;
  let %x_65 = %x_64;
  %x_65
}""",
        """def @main(%x: int32) -> (int32, int32) {
  let %b: int32 = 1;
  let %a: int32 = add(%b, %x);
  let %b2: int32 = %a;
  let %c: int32 = %b2;
  (%b2, %c)
}""",
    ),
]  # fmt: skip


def read(text: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(HEADER + text))


@pytest.mark.parametrize(("program", "a_normal_form", "blocks"), CASES)
def test_as_tvm(program: str, a_normal_form: str, blocks: str) -> None:
    mod = read(program)
    for made, expected in (
        (transform.ToANormalForm()(mod), a_normal_form),
        (transform.ToBasicBlockNormalForm()(mod), blocks),
    ):
        assert relay_ir.first_difference(relay_ir.infer_type(made), read(expected)) is None
