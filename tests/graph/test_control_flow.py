"""Branches, recursion, references and data types in the graph: there, back, and as documents."""

from __future__ import annotations

import pytest

from relay2relax import graph, relay_ir
from relay2relax.core.errors import ParseError
from relay2relax.relay_ir.transform import ToGraphNormalForm

PROGRAMS = {
    "branch": """
def @main(%c: bool, %x: Tensor[(3), float32]) {
  %0 = exp(%x);
  %1 = if (%c) { add(%0, %x) } else { if (%c) { %x } else { negative(%0) } };
  multiply(%1, %0)
}
""",
    "loop": """
def @main(%n: int32, %x: Tensor[(2), float32]) {
  %3 = (
    let %loop: fn (int32, Tensor[(2), float32]) -> Tensor[(2), float32] =
      fn (%i: int32, %a: Tensor[(2), float32]) -> Tensor[(2), float32] {
        %0 = less(%i, %n);
        if (%0) {
          %1 = add(%i, 1);
          %2 = add(%a, %x);
          %loop(%1, %2)
        } else { %a }
      };
    %loop
  );
  %3(0, %x)
}
""",
    "recursion of the module": """
def @main(%n: int32) -> int32 { @sum(%n, 0) }
def @sum(%n: int32, %a: int32) -> int32 {
  %0 = equal(%n, 0);
  if (%0) { %a } else {
    %1 = subtract(%n, 1);
    %2 = add(%a, %n);
    @sum(%1, %2)
  }
}
""",
    "references": """
def @main(%x: float32) {
  let %r = ref(%x);
  let %u = ref_write(%r, 2f);
  let %v = ref_read(%r);
  add(%v, %x)
}
""",
    "data types": """
type List[A] { Cons(A, List[A]), Nil, }
def @main(%x: float32) {
  %0 = Nil;
  %1 = Cons(%x, %0);
  match (%1) {
    Cons(%head, Cons(%next, _)) => add(%head, %next),
    Cons(%head, Nil) => %head,
    Nil => 0f,
    _ => 1f,
  }
}
""",
    "a pattern of tuples": """
def @main(%x: float32, %y: float32) {
  %0 = (%x, (%y, %x));
  match (%0) { (%a, (%b, _)) => subtract(%a, %b) }
}
""",
}


def parsed(text: str) -> relay_ir.IRModule:
    return ToGraphNormalForm()(relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"]\n' + text)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_there_and_back(name: str) -> None:
    mod = parsed(PROGRAMS[name])
    found, weights = graph.from_relay(mod)
    assert relay_ir.first_difference(graph.to_relay(found, weights), mod) is None
    read = graph.from_json(graph.to_json(found))
    assert graph.to_text(read) == graph.to_text(found)
    assert relay_ir.first_difference(graph.to_relay(read, weights), mod) is None
    assert graph.to_dot(found).startswith("digraph")


def test_branches_hold_what_only_they_compute() -> None:
    found, _ = graph.from_relay(parsed(PROGRAMS["branch"]))
    branch = found.find_node("if")
    then, otherwise = branch.bodies
    assert branch.operands[0] == "c"
    # exp is used in both branches and behind them, so it is computed around them.
    assert found.has_node("exp")
    assert [node.optype for node in then.nodes if node.optype != "input"] == ["add"]
    assert [node.optype for node in otherwise.nodes if node.optype != "input"] == ["if"]
    assert len(branch.operands) == 1 + len(then.captured) + len(otherwise.captured)


def test_a_recursive_function_does_not_capture_itself() -> None:
    found, _ = graph.from_relay(parsed(PROGRAMS["loop"]))
    function = found.find_node("function")
    assert function.bodies[0].find_node(function.attrs.itself).attrs.hint == "loop"
    assert set(function.operands) == {"n", "x"}
    order = [node.optype for node in found.nodes]
    assert order.index("function") < order.index("bind") < order.index("let") < order.index("call")
    assert "itself=" in graph.to_text(found)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"graphs": [\n',
            '"graphs": [\n9,',
            r"array` of length 2, found 3 at \$\.nodes\[3\]\.relay2relax\.attrs\.graphs",
        ),
        ('"kind": "if"', '"kind": "when"', r"'when' is none of the values allowed at \$\.nodes\[3\]\."),
    ],
)
def test_damaged_documents(old: str, new: str, message: str) -> None:
    found, _ = graph.from_relay(parsed(PROGRAMS["branch"]))
    text = graph.to_json(found)
    index = text.index('"kind": "if"') if "kind" in old else text.index(old, text.index('"kind": "if"'))
    with pytest.raises(ParseError, match=message):
        graph.from_json(text[:index] + text[index:].replace(old, new, 1))
