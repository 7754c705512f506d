"""Pictures of programs, as TVM's how-to on relay_viz draws them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from relay2relax import relay_ir
from relay2relax.relay_ir import Expr, Function, IRModule, Var, op, var
from relay2relax.relay_ir.visualize import (
    DotPlotter,
    DotVizParser,
    RelayVisualizer,
    TermGraph,
    TermPlotter,
    TermVizParser,
    VizEdge,
    VizNode,
    VizParser,
)

MOD = relay_ir.parse("""#[version = "0.0.5"]
def @AddFunc(%data, %bias) { add(%data, %bias) }
def @main(%input0, %input1, %input2) {
  %0 = @AddFunc(%input0, %input1);
  @AddFunc(%input2, %0)
}
""")
# What TVM prints, but that it writes parameters out with their ids, and spaces behind lines.
TREE = """@main([Var(input0), Var(input1), Var(input2)])
`--Call
   |--GlobalVar AddFunc
   |--Var(Input) name_hint: input2
   `--Call
      |--GlobalVar AddFunc
      |--Var(Input) name_hint: input0
      `--Var(Input) name_hint: input1
@AddFunc([Var(data), Var(bias)])
`--Call
   |--add
   |--Var(Input) name_hint: data
   `--Var(Input) name_hint: bias"""


def test_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert RelayVisualizer(MOD).render() == TREE
    assert capsys.readouterr().out == TREE + "\n"


def test_a_tree_in_a_file(tmp_path: Path) -> None:
    RelayVisualizer(MOD).render(str(tmp_path / "tree.txt"))
    assert (tmp_path / "tree.txt").read_text() == TREE + "\n"


class OwnParser(VizParser):
    """Other words for variables."""

    def __init__(self) -> None:
        self.others = TermVizParser()

    def get_node_edges(
        self, node: Expr, relay_param: Mapping[str, object], node_to_id: Mapping[Expr, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        if isinstance(node, Var):
            return VizNode(node_to_id[node], "Own", node.name), []
        return self.others.get_node_edges(node, relay_param, node_to_id)


class OwnGraph(TermGraph):
    """Twice what the parser calls its own."""

    def node(self, viz_node: VizNode) -> None:
        super().node(viz_node)
        if viz_node.type_name == "Own":
            super().node(VizNode(f"again_{viz_node.identity}", "Again", ""))
            super().edge(VizEdge(f"again_{viz_node.identity}", viz_node.identity))


class OwnPlotter(TermPlotter):
    """Makes graphs of another kind."""

    def create_graph(self, name: str) -> TermGraph:
        self._name_to_graph[name] = OwnGraph(name)
        return self._name_to_graph[name]


def test_parsers_and_plotters_of_ones_own() -> None:
    text = RelayVisualizer(MOD, {}, OwnPlotter(), OwnParser()).render()
    lines = text.splitlines()
    assert lines[3:5] == ["   |--Own input2", "   |  `--Again"]
    assert text.count("Again") == 5


def _network() -> IRModule:
    x, w = var("x", shape=(1, 3, 8, 8)), var("w", shape=(4, 3, 3, 3))
    return IRModule.from_expr(Function((x, w), op.nn.relu(op.nn.conv2d(x, w, padding=(1, 1)))))


def test_a_picture(tmp_path: Path) -> None:
    def colour(node: VizNode) -> dict[str, str]:
        green = "nn.conv2d" in node.type_name and "NCHW" in node.detail
        return {"fillcolor": "green", "style": "filled"} if green else {"shape": "box"}

    plotter = DotPlotter(graph_attr={"color": "red"}, node_attr={"color": "blue"}, get_node_attr=colour)
    text = RelayVisualizer(_network(), {"w": 0}, plotter, DotVizParser()).render(str(tmp_path / "net.dot"))
    assert 'label="Var(Param)\\nname_hint: w\\nshape: (4, 3, 3, 3)\\ndtype: float32", shape="box"' in text
    assert 'label="Var(Input)\\nname_hint: x\\n' in text
    (conv,) = (line for line in text.splitlines() if "Call nn.conv2d" in line)
    assert "padding: [1, 1, 1, 1]" in conv or "padding: [1, 1]" in conv
    assert conv.endswith('fillcolor="green", style="filled"]')
    assert text.count(" -> ") == 4
    assert 'graph [color="red"]' in text
    assert (tmp_path / "net.dot").read_text() == text + "\n"
    if (dot := shutil.which("dot")) is not None:
        drawn = subprocess.run([dot, "-Tsvg", tmp_path / "net.dot"], capture_output=True, text=True, check=True)
        assert "Call nn.conv2d" in drawn.stdout


def test_all_kinds_of_nodes_have_a_picture() -> None:
    mod = relay_ir.parse("""#[version = "0.0.5"]
def @main(%c: bool, %x: Tensor[(2), float32]) {
  let %y = (%x, 2f);
  %9 = fn (%p: Tensor[(2), float32], Composite="own") { exp(%p) };
  if (%c) { %9(%y.0) } else { add(%y.0, %y.1) }
}
""")
    tree = RelayVisualizer(mod).render()
    for words in ("Let (var, val, body)", "If (cond, true, false)", "TupleGetItem idx: 1", "Const shape: (), dtype"):
        assert words in tree
    picture = RelayVisualizer(mod, plotter=DotPlotter(), parser=DotVizParser()).render()
    assert "Call own" in picture
    assert "don't know how to parse Let" in picture


def test_a_chain_of_shared_values_has_an_end() -> None:
    x = var("x", shape=(2,))
    value: Expr = x
    for _ in range(60):
        value = op.add(value, value)
    text = RelayVisualizer(IRModule.from_expr(Function((x,), value))).render()
    assert 10_000 < len(text.splitlines()) < 30_000
    assert "(as above)" in text


def test_a_long_chain_needs_no_recursion() -> None:
    x = var("x", shape=(2,))
    value: Expr = x
    for _ in range(2000):
        value = op.exp(value)
    assert len(RelayVisualizer(IRModule.from_expr(Function((x,), value))).render().splitlines()) == 4002
