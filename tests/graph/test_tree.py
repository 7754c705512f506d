"""The graph as a tree, and what a notebook shows."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from relay2relax import graph, relay_ir, translator
from relay2relax.graph import MSCGraph

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32], %c: bool) {
  %0 = nn.relu(%x) /* span=/net/first/Relu:0:0 */;
  %1 = tanh(%0) /* span=/net/first/Tanh:0:0 */;
  %2 = exp(%1) /* span=/net/second/Exp:0:0 */;
  %3 = if (%c) { sqrt(%2) } else { abs(%2) };
  @f(%3)
}
def @f(%y: Tensor[(2, 4), float32]) -> Tensor[(2, 4), float32] { add(%y, 1f) }
"""
TREE = """\
main  x: float32[2, 4]  c: bool[]
├─ @f  global  function  global=f
├─ /net
│  ├─ /first
│  │  ├─ relu  nn.relu  float32[2, 4]  x
│  │  └─ tanh  tanh  float32[2, 4]  relu
│  └─ /second
│     └─ exp  exp  float32[2, 4]  tanh
├─ if  if  float32[2, 4]  c, exp, exp
│  ├─ then
│  │  └─ sqrt  sqrt  float32[2, 4]  exp_1
│  └─ else
│     └─ abs  abs  float32[2, 4]  exp_2
└─ f  call  float32[2, 4]  @f, if
f  y: float32[2, 4]
└─ add  add  float32[2, 4]  y, const
"""


def of_text(text: str) -> MSCGraph:
    """Return the graph of ``main``."""
    return graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))[0]


def test_scopes_branches_and_functions_are_branches() -> None:
    names = {"captured": "exp_1", "captured_1": "exp_2"}
    tree = graph.to_tree(of_text(TEXT))
    for old, new in reversed(names.items()):
        tree = tree.replace(old, new)
    assert tree == TREE


@pytest.mark.parametrize("width", [20, 33, 40])
def test_lines_fit_the_width(width: int) -> None:
    lines = graph.to_tree(of_text(TEXT), width).splitlines()
    assert max(map(len, lines)) == width
    assert len(lines) == len(TREE.splitlines())
    wanted = [
        line if len(line) <= width else f"{line[: width - 1]}…" for line in graph.to_tree(of_text(TEXT)).splitlines()
    ]
    assert lines == wanted


def test_parts_of_fused_nodes_stand_below_them() -> None:
    x = relay_ir.var("x", shape=(2,))
    found, weights = graph.from_relay(
        relay_ir.IRModule.from_expr(relay_ir.Function((x,), relay_ir.op.multiply(x, relay_ir.op.sigmoid(x))))
    )
    assert graph.to_tree(graph.fuse(found, weights, graph.nn_patterns())) == (
        "main  x: float32[2]\n"
        "└─ msc.silu  msc.silu  float32[2]  x\n"
        "   └─ msc.silu  x: float32[2]\n"
        "      ├─ sigmoid  sigmoid  float32[2]  x\n"
        "      └─ multiply  multiply  float32[2]  x, sigmoid\n"
    )


class Reader(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


HOSTILE = '</pre><script>alert(1)</script>\x1b[31m"&amp;'


def test_a_notebook_shows_modules_and_graphs_with_names_as_text() -> None:
    x = relay_ir.var(HOSTILE, shape=(2,))
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x,), relay_ir.op.abs(x)))
    found, _ = graph.from_relay(mod)
    for one in (mod, found, translator.translate(mod)):
        reader = Reader()
        reader.feed(one._repr_html_())
        assert reader.tags == {"div", "b", "pre"}
        assert "\x1b" not in reader.text
        assert "abs" in reader.text
    reader = Reader()
    reader.feed(found._repr_html_())
    assert "<script>alert(1)</script>" in reader.text


def test_a_notebook_shows_the_beginning_of_long_programs() -> None:
    x = relay_ir.var("x", shape=(2,))
    body: relay_ir.Expr = x
    for _ in range(500):
        body = relay_ir.op.abs(body)
    found, _ = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), body)))
    page = found._repr_html_()
    assert "441 more lines" in page
    assert len(page) < 6000
