"""The graph as text, JSON and DOT, in MSC's layout."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.core import ParseError, Relay2RelaxError
from relay2relax.graph.formats.attrs_text import value_text
from relay2relax.relay_ir import Function, GlobalVar, IRModule, var
from relay2relax.relay_ir.build import op

if TYPE_CHECKING:
    from model_cases import ModelCase

# Models in which MSC found nothing to fuse: its graph is one node per expression, as ours is.
PLAIN = ("mlp", "dqn", "dcgan", "unet", "squeezenet", "lstm")


def bound(case: ModelCase, recorded_head: str) -> graph.Graph:
    """Return the graph of a model with all params bound that the recorded graph has no input
    for.
    """
    arguments = zip(case.specs(), case.arguments(), strict=True)
    params = {spec["name"]: array for spec, array in arguments if f"{spec['name']}:0" not in recorded_head}
    return graph.from_relay(relay_ir.load_json(case.json), params)[0]


def comparable(line: str) -> str:
    """Return a line without what differs on purpose.

    MSC lists attributes in hash order, and gives batch_norm one output where it has three; our
    weights carry the parameters' names, and floats that six decimals do not tell exactly have more.
    """
    if line.startswith("  ATTRS: "):
        attrs = re.sub(r"=(\d\.\d+e-\d+)", lambda found: f"={float(found[1]):.6f}", line[9:])
        return " ".join(sorted(attrs.split()))
    line = re.sub(r"^(    \w+: [^<(]*)\([^<]*\)<", r"\1<", line)
    return re.sub(r",batch_norm(_\d+)?:[12]<\d+\|float32>", "", line)


@pytest.mark.parametrize("name", PLAIN)
def test_text_is_what_msc_printed(get_model_case: Callable[[str], ModelCase], name: str) -> None:
    case = get_model_case(name)
    expected = (case.folder.parent.parent / "msc_models" / f"{name}.graph.txt").read_text()
    found = graph.to_text(bound(case, expected.split("\n", 1)[0]), msc=True)
    assert list(map(comparable, found.splitlines())) == list(map(comparable, expected.splitlines()))


@pytest.mark.parametrize("name", ["mlp", "dqn", "unet", "squeezenet"])
def test_json_is_what_msc_wrote(get_model_case: Callable[[str], ModelCase], name: str) -> None:
    case = get_model_case(name)
    expected = json.loads((case.folder.parent.parent / "msc_models" / f"{name}.graph.json").read_text())
    found = json.loads(graph.to_json(bound(case, str(expected["inputs"])), extras=False))
    for node in found["nodes"]:
        for tensor in node["weights"].values():
            assert tensor.pop("alias")
            tensor["alias"] = ""
    assert list(found) == list(expected)
    assert found == expected


def test_the_layout() -> None:
    data, weight = var("data", shape=(relay_ir.Any(), 784)), relay_ir.const(np.zeros((10, 784), np.float32))
    dense = op.nn.dense(data, weight, units=10)
    mod = IRModule({GlobalVar("main"): Function((data,), op.split(dense, indices_or_sections=[4], axis=1))})
    found, _ = graph.from_relay(mod)
    assert graph.to_text(found) == (
        "main <INPUTS: data:0| OUTPUTS: split:0,split:1>\n"
        "P_0 d <PARENTS: | CHILDREN: >\n"
        "  OPTYPE: shape\n"
        "  ATTRS: producer=data out_idx=0 dim=0 \n"
        "\n"
        "N_0 data <PARENTS: | CHILDREN: dense>\n"
        "  OUT: data:0(data)<d,784|float32>\n"
        "  OPTYPE: input\n"
        "\n"
        "N_1 const <PARENTS: | CHILDREN: dense>\n"
        "  OUT: const:0<10,784|float32>\n"
        "  OPTYPE: constant\n"
        "  WEIGHTS: \n"
        "    const: const<10,784|float32>\n"
        "\n"
        "N_2 dense <PARENTS: data,const| CHILDREN: split>\n"
        "  IN: data:0(data)<d,784|float32>,const:0<10,784|float32>\n"
        "  OUT: dense:0<d,10|float32>\n"
        "  OPTYPE: nn.dense\n"
        "  SCOPE: block\n"
        "  ATTRS: units=10 out_dtype= \n"
        "\n"
        "N_3 split <PARENTS: dense| CHILDREN: >\n"
        "  IN: dense:0<d,10|float32>\n"
        "  OUT: split:0(split_0)<d,4|float32>,split:1(split_1)<d,6|float32>\n"
        "  OPTYPE: split\n"
        "  SCOPE: block\n"
        "  ATTRS: indices_or_sections=4, axis=1 \n"
        "\n"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (True, "1"), (3, "3"), (0.5, "0.500000"), (1e-5, "0.000010"), (1e-7, "1e-07"),
        (float("-inf"), "-inf"), ("NCHW", "NCHW"), ((1,), "1,"), ((1, 2), "1,2"), (((0, 0), (1, 2)), "0,0,1,2"),
        ((), ""),
    ],
)  # fmt: skip
def test_values_of_attributes(value: object, text: str) -> None:
    assert value_text(value) == text


def small() -> str:
    x, n = var("x", shape=(2, relay_ir.Any())), var("n", shape=(2, relay_ir.Any()))
    helper = Function((n,), op.nn.softmax(n, axis=1), attrs={"flag": 1})
    body = op.add(relay_ir.Call(helper, (x,)), relay_ir.const(1e-7))
    found, _ = graph.from_relay(IRModule({GlobalVar("main"): Function((x,), body)}))
    return graph.to_json(found)


def test_json_without_the_extras_is_refused() -> None:
    document = json.loads(small())
    del document["relay2relax"]
    with pytest.raises(ParseError, match="the key 'relay2relax' is missing"):
        graph.from_json(json.dumps(document))
    with pytest.raises(ParseError, match="version"):
        graph.from_json(json.dumps({"relay2relax": {"version": 99}}))
    for text in ("", "[]", "{", '{"relay2relax": 1}', "[" * 100000):
        with pytest.raises(ParseError):
            graph.from_json(text)


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the paths to everything in a JSON value."""
    if isinstance(value, dict):
        return [path] + [place for key, item in value.items() for place in places(item, (*path, key))]
    if isinstance(value, list):
        return [path] + [place for index, item in enumerate(value) for place in places(item, (*path, index))]
    return [path]


SMALL = small()
RELAX = """
@R.function
def main(x: R.Tensor(("n", 2), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor(("n", 2), dtype="float32"):
    y = R.multiply(x, R.const([1, 2], "float32"))
    if c:
        z = R.add(y, R.const(0.5, "float32"))
    else:
        z = x
    return z
"""
WEIGHTS = {"const": np.array(1e-7, np.float32)}
RELAX_GRAPH, RELAX_WEIGHTS = graph.from_relax(relax_ir.parse(RELAX))
DOCUMENTS: dict[str, tuple[str, Mapping[str, np.ndarray]]] = {
    "relay": (SMALL, WEIGHTS),
    "relax": (graph.to_json(RELAX_GRAPH), RELAX_WEIGHTS),
}
CHANGES: list[Any] = [None, -1, 3, 10**30, "x", "3", [], [1], {}, True, 0.5]


@pytest.mark.parametrize("kind", DOCUMENTS)
@settings(max_examples=200)
@given(draw=st.data())
def test_damage_is_refused_with_a_reason(kind: str, draw: st.DataObject) -> None:
    text, weights = DOCUMENTS[kind]
    document = json.loads(text)
    found_places = [place for place in places(document) if place]
    for path, value in draw.draw(
        st.lists(st.tuples(st.sampled_from(found_places), st.sampled_from(CHANGES)), min_size=1, max_size=2)
    ):
        target: Any = document
        for step in path[:-1]:
            target = target[step] if _has(target, step) else None
        if _has(target, path[-1]):
            target[path[-1]] = value
    try:
        found = graph.from_json(json.dumps(document))
        graph.to_text(found)
        graph.to_relax(found, weights)
        graph.to_relay(found, weights)
    except Relay2RelaxError as error:
        assert str(error).startswith("error[R2R-")  # noqa: PT017 - some changes do no harm


def _has(target: object, step: str | int) -> bool:
    if isinstance(target, dict):
        return step in target
    return isinstance(target, list) and isinstance(step, int) and step < len(target)


def damaged(kind: str, path: str, value: object) -> str:
    """Return a document with ``value`` at a path of keys; ``...`` takes the key away."""
    document = json.loads(DOCUMENTS[kind][0])
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    target = document
    for step in steps:
        target = target[step]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("kind", "path", "value", "said"),
    [
        (
            "relax",
            "relay2relax/weights/0/shape/0",
            True,
            "expected `int`, found `bool` at $.relay2relax.weights[0].shape[0]",
        ),
        (
            "relax",
            "relay2relax/weights/0/shape/0",
            2.0,
            "expected `int`, found `float` at $.relay2relax.weights[0].shape[0]",
        ),
        ("relax", "relay2relax/weights/0/shape/0", -1, "weight 'const' cannot be what its tensor says"),
        (
            "relax",
            "relay2relax/weights/0/shape/0",
            2**63,
            "expected `int` <= 9223372036854775807 at $.relay2relax.weights",
        ),
        ("relax", "relay2relax/weights/0/shape", [2**62, 2**62], "weight 'const' cannot be what its tensor says"),
        ("relax", "relay2relax/weights/0/shape", 2, "expected `array`, found `int` at $.relay2relax.weights[0].shape"),
        (
            "relax",
            "relay2relax/weights/0/dtype",
            "float31",
            "weight 'const' cannot be what its tensor says: dtype 'float31'",
        ),
        (
            "relax",
            "relay2relax/weights/0/dtype",
            None,
            "expected `str`, found `null` at $.relay2relax.weights[0].dtype",
        ),
        ("relax", "relay2relax/weights/1/scalar", "1_0.5", "weight 'const_1': '1_0.5' is not a number"),
        (
            "relax",
            "relay2relax/weights/1/scalar",
            0.5,
            "expected `str | null`, found `float` at $.relay2relax.weights[1].scalar",
        ),
        ("relax", "relay2relax/names/main", ["x"], "has no name"),
        ("relax", "relay2relax/names/other", ["x"], "the names are not those of the nodes of its script"),
        ("relax", "relay2relax/script", ..., "the key 'relay2relax' is missing at $.nodes[0]"),
        ("relax", "relay2relax/version", True, "expected `int`, found `bool` at $.relay2relax.version"),
        ("relax", "relay2relax/colour", "red", "the key 'colour' is unknown at $.relay2relax"),
        ("relay", "nodes/0/outputs/0/shape/0", False, "expected `int`, found `bool` at $.nodes[0].outputs[0].shape[0]"),
        ("relay", "nodes/0/outputs/0/shape/1", -2, "expected `int` >= -1 at $.nodes[0].outputs[0].shape[1]"),
        ("relay", "nodes/0/outputs/0/prims", [], "tensor 'x:0' has the extents (2, -1) and the prims ()"),
        ("relay", "nodes/0/outputs/0/prims/1", "m", "tensor 'x:0' has the extents (2, -1) and the prims ('2', 'm')"),
        ("relay", "nodes/0/outputs/0/shape/0", 3, "tensor 'x:0' has the extents (3, -1) and the prims ('2', 'd')"),
        ("relay", "nodes/0/index", 1, "node 0 (x): its index is 1"),
        ("relay", "nodes/0/index", 0.0, "expected `int`, found `float` at $.nodes[0].index"),
        ("relay", "nodes/0/name", ..., "the key 'name' is missing at $.nodes[0]"),
        ("relay", "nodes/0/parents", ["x"], "node 0 (x): its parents are"),
        (
            "relay",
            "nodes/0/relay2relax/span",
            True,
            "expected `int | null`, found `bool` at $.nodes[0].relay2relax.span",
        ),
        ("relay", "nodes/0/relay2relax/span", 10**6, "node 0 (x): there is no object 1000000"),
        (
            "relay",
            "nodes/0/relay2relax/attrs/captured",
            1,
            "expected `bool`, found `int` at $.nodes[0].relay2relax.attrs.captured",
        ),
        (
            "relay",
            "nodes/0/relay2relax/attrs/kind",
            "operator",
            "the key 'hint' is unknown at $.nodes[0].relay2relax.attrs",
        ),
        ("relay", "nodes/0/optype", "tuple", "the parameter 'x' of 'main' is not an input"),
        ("relay", "nodes/1/optype", "tuple", "node 'function' is not well formed: tuple with FunctionAttrs"),
        ("relay", "nodes", {}, "expected `array`, found `object` at $.nodes"),
        (
            "relay",
            "relay2relax/graphs/0/relay2relax/params",
            [True],
            "expected `str`, found `bool` at $.relay2relax.graphs[0].relay2relax.params[0]",
        ),
        ("relay", "relay2relax/params", ["call"], "the parameter 'call' of 'main' is not an input"),
        ("relay", "relay2relax/functions", {"other": 9}, "function 'other': there is no graph 9 behind it"),
        (
            "relay",
            "relay2relax/functions",
            {"other": True},
            "expected `int`, found `bool` at $.relay2relax.functions.other",
        ),
        ("relay", "relay2relax/objects", [], "expected `object`, found `array` at $.relay2relax.objects"),
    ],
)
def test_damage_is_named_with_its_place(kind: str, path: str, value: object, said: str) -> None:
    with pytest.raises(Relay2RelaxError) as caught:
        graph.from_json(damaged(kind, path, value))
    assert isinstance(caught.value, ParseError)
    assert said in str(caught.value)


def test_a_key_that_stands_twice_is_refused() -> None:
    text = SMALL.replace('"shared_ref": "",', '"shared_ref": "", "shared_ref": "x",', 1)
    with pytest.raises(ParseError, match=r"the key 'shared_ref' stands twice at \$\.nodes\[0\]"):
        graph.from_json(text)
    with pytest.raises(ParseError, match="NaN is not a number of JSON"):
        graph.from_json(SMALL.replace('"index": 0', '"index": NaN', 1))


def test_dot() -> None:
    found = graph.from_json(SMALL)
    text = graph.to_dot(found)
    assert text.startswith('digraph "main" {')
    assert text.count("{") == text.count("}") == 2
    assert '"0/x" -> "0/call" [label="float32[2, d]"];' in text
    assert "subgraph cluster_1 {" in text


def test_weights_and_fields_are_lines_and_marks() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(6, 4), float32]) {
  %0 = split(nn.dense(%x, %w, units=6), indices_or_sections=2, axis=1);
  multiply(add(%0.0, %0.1), 2f)
}
"""
    found, _ = graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))
    folded, drawn = graph.to_dot(found), graph.to_dot(found, weights=True)
    assert '"0/dense" [label="nn.dense\\ldense\\lunits=6\\lw: float32[6, 4]\\l"];' in folded
    assert 'const: float32[] = 2.0\\l"];' in folded
    assert '"0/split" -> "0/add" [label=".0 float32[3, 3]"];' in folded
    assert '"0/split" -> "0/add" [label=".1 float32[3, 3]"];' in folded
    assert '"0/w"' not in folded
    assert '"0/w" -> "0/dense" [label="float32[6, 4]"];' in drawn


def test_edges_from_far_above_are_lines() -> None:
    lines = "".join(f"  %{number + 1} = nn.relu(%{number});\n" for number in range(50))
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {{\n  %0 = abs(%x);\n{lines}  add(%50, %0)\n}}\n'
    found, _ = graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))
    picture = graph.to_dot(found)
    assert 'from abs: float32[2]\\l"];' in picture
    assert '"0/abs" -> "0/add"' not in picture


@pytest.mark.sweep(every=2)
def test_dot_of_a_thousand_nodes_is_drawn_in_seconds() -> None:
    dot = shutil.which("dot")
    if dot is None:
        pytest.skip("needs Graphviz")
    lines = "".join(
        f"  %{3 * n + 1} = nn.relu(%{3 * n});\n  %{3 * n + 2} = tanh(%{3 * n + 1});\n"
        f"  %{3 * n + 3} = add(%{3 * n + 2}, %{3 * n});\n"
        for n in range(334)
    )
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {{\n  %0 = abs(%x);\n{lines}  abs(%1002)\n}}\n'
    found, _ = graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))
    assert len(found) > 1000
    done = subprocess.run([dot, "-Tsvg"], input=graph.to_dot(found), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('class="node"') == len(found)


def test_names_in_dot_are_quoted() -> None:
    x = var('a"b\\c', shape=(2,))
    found, _ = graph.from_relay(IRModule({GlobalVar("main"): Function((x,), op.nn.relu(x))}))
    assert '"0/a\\"b\\\\c" ->' in graph.to_dot(found)
