"""Modules with functions that were lowered to TensorIR: read, written, and refused by whoever would
look into them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typed import of_type, present

from relay2relax import backends, graph, relay_ir, translator
from relay2relax.core import ParseError, UnsupportedError
from relay2relax.relay_ir import OpaqueNode
from relay2relax.relay_ir.json import reader as json_reader

# @scale doubles four numbers and calls @helper, of which no type is recorded; @main calls @scale by
# call_lowered.
DOCUMENT = (Path(__file__).parent.parent / "cases" / "json" / "lowered.json").read_text()


@pytest.fixture
def lowered() -> relay_ir.IRModule:
    return relay_ir.load_json(DOCUMENT)


def changed(**nodes: dict[str, Any]) -> str:
    """Return the document with nodes of a type updated; only the first of each."""
    document = json.loads(DOCUMENT)
    for key, change in nodes.items():
        node = next(one for one in document["nodes"] if one["type_key"] == key.replace("_", "."))
        node |= {**change, "attrs": {**node.get("attrs", {}), **change.get("attrs", {})}}
    return json.dumps(document)


def tree(document: dict[str, Any], index: int) -> Any:
    """Return what a TensorIR node of a document stands for, whatever the numbers of nodes are."""
    references = {
        "tir.PrimFunc": ["params", "body", "ret_type", "buffer_map", "attrs"], "tir.SeqStmt": ["seq", "span"],
        "tir.For": ["loop_var", "min", "extent", "body", "thread_binding", "annotations"],
        "tir.BufferStore": ["buffer", "value", "indices", "predicate"], "tir.Mul": ["a", "b"],
        "tir.BufferLoad": ["buffer", "indices", "predicate"], "tir.Evaluate": ["value"], "tir.Call": ["op", "args"],
        "tir.Buffer": ["data", "shape", "strides", "axis_separators", "elem_offset", "name"],
        "tir.Var": ["name", "type_annotation"], "PointerType": ["element_type", "storage_scope"],
        "Span": ["source_name"], "DictAttrs": ["__dict__"], "GlobalVar": ["name_hint"], "TupleType": ["fields"],
    }  # fmt: skip
    node = document["nodes"][index]
    key, fields = node["type_key"], dict(node.get("attrs", {}))
    below = {name: tree(document, int(fields.pop(name))) for name in references.get(key, ())}
    if key == "GlobalVar":
        fields = {}
    fields.pop("span", None)
    items = [tree(document, item) for item in node.get("data", [])]
    return key, node.get("repr_str", ""), fields, below, node.get("keys", []), items


def function_in(text: str, name: str) -> Any:
    document = json.loads(text)
    nodes = document["nodes"]
    functions = nodes[int(nodes[document["root"]]["attrs"]["functions"])]["data"]
    names = [nodes[int(nodes[var]["attrs"]["name_hint"])]["repr_str"] for var in functions[0::2]]
    return tree(document, functions[2 * names.index(name) + 1])


@pytest.mark.parametrize("name", ["scale", "helper"])
def test_nothing_of_a_function_is_lost(lowered: relay_ir.IRModule, name: str) -> None:
    written = relay_ir.save_json(lowered)
    assert function_in(written, name) == function_in(DOCUMENT, name)
    again = relay_ir.load_json(written)
    assert relay_ir.first_difference(again, lowered) is None
    assert relay_ir.save_json(again) == written


def test_variables_and_buffers_stay_one_node_each(lowered: relay_ir.IRModule) -> None:
    keys = [n.type_key for f in lowered.opaque_functions.values() for n in f.nodes if isinstance(n, OpaqueNode)]
    assert (keys.count("tir.Buffer"), keys.count("tir.Var")) == (2, 5)
    # Global variables are those of the module.
    (scale, helper), (function, _) = lowered.opaque_functions, lowered.opaque_functions.values()
    assert [node for node in function.nodes if isinstance(node, relay_ir.GlobalVar)] == [helper]
    assert (scale.name, helper.name) == ("scale", "helper")


def test_a_call_of_what_was_lowered_has_its_recorded_type(lowered: relay_ir.IRModule) -> None:
    typed = relay_ir.infer_type(lowered)
    assert typed.types[typed["main"].body] == relay_ir.TensorType((4,), "float32")
    assert typed.opaque_functions is lowered.opaque_functions
    again = relay_ir.load_json(relay_ir.save_json(typed))
    assert relay_ir.first_difference(relay_ir.infer_type(again), typed) is None


def test_functions_that_differ_are_told_apart(lowered: relay_ir.IRModule) -> None:
    other = relay_ir.load_json(changed(FloatImm={"attrs": {"value": "3"}}))
    assert present(relay_ir.first_difference(lowered, other)).startswith("@scale.nodes")
    without = lowered.without_functions(["helper"])
    assert "only one of the modules has @helper" in present(relay_ir.first_difference(lowered, without))


def test_calls_that_cannot_be(lowered: relay_ir.IRModule) -> None:
    x = relay_ir.var("x", shape=(4,), dtype="float32")
    scale, helper = lowered.opaque_functions
    direct = relay_ir.Function((x,), relay_ir.Call(scale, (x,)))
    with pytest.raises(relay_ir.TypeInferenceError, match=r"@scale` is a tir\.PrimFunc: it cannot be called directly"):
        lowered["direct"] = direct
    call = of_type(lowered["main"].body, relay_ir.Call)
    untyped = relay_ir.Function(
        lowered["main"].params, relay_ir.Call(call.op, (helper, relay_ir.Tuple(())), call.attrs)
    )
    with pytest.raises(relay_ir.TypeInferenceError, match=r"@helper is a tir\.PrimFunc, and its type is not recorded"):
        lowered["untyped"] = untyped


def test_a_function_of_the_same_name_replaces_it(lowered: relay_ir.IRModule) -> None:
    x = relay_ir.var("x", shape=(4,), dtype="float32")
    after = lowered.with_function(relay_ir.GlobalVar("helper"), relay_ir.Function((x,), x))
    assert [var.name for var in after.opaque_functions] == ["scale"]


REFUSALS: dict[str, Callable[[relay_ir.IRModule], object]] = {
    "text": lambda mod: mod.astext(),
    "graph executor": lambda mod: backends.create_executor("graph", mod),
    "debug executor": lambda mod: backends.create_executor("debug", mod),
    "vm executor": lambda mod: backends.create_executor("vm", mod),
    "translator": lambda mod: translator.lower_to_tir(mod, {}),
    "graph": lambda mod: graph.from_relay(mod),
    "devices": lambda mod: relay_ir.transform.PlanDevices()(mod),
    "function": lambda mod: mod["scale"],
}


@pytest.mark.parametrize("name", sorted(REFUSALS))
def test_who_would_look_into_a_function_names_it(lowered: relay_ir.IRModule, name: str) -> None:
    with pytest.raises(UnsupportedError, match=r"@scale is a tir\.PrimFunc[;,]"):
        REFUSALS[name](lowered)


PASSES = [
    "DeadCodeElimination",
    "EtaExpand",
    "FoldConstant",
    "LambdaLift",
    "RemoveUnusedFunctions",
    "ToANormalForm",
    "Inline",
]


@pytest.mark.parametrize("name", PASSES)
def test_passes_leave_functions_alone(lowered: relay_ir.IRModule, name: str) -> None:
    options = {"expand_global_var": True} if name == "EtaExpand" else {}
    after = getattr(relay_ir.transform, name)(**options)(lowered)
    assert after.opaque_functions is lowered.opaque_functions
    relay_ir.infer_type(after)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (changed(tir_Mul={"type_key": "tir.Strange"}), UnsupportedError, r"'tir\.Strange' cannot be read in a tir"),
        (changed(tir_For={"attrs": {"step": "1"}}), UnsupportedError, "a tir.For with a field 'step' cannot be read"),
        (changed(relay_attrs_CallLoweredAttrs={"attrs": {"metadata": "2"}}), ParseError, "'metadata': expected Map"),
        (changed(tir_For={"attrs": {"kind": "serial"}}), ParseError, r"\(tir\.For\)"),
        (changed(tir_For={"attrs": {"body": "100000"}}), ParseError, r"\(tir\.For\): refers to node 100000"),
        (changed(tir_For={"attrs": {"body": "x"}}), ParseError, r"\(tir\.For\)"),
        (changed(tir_Evaluate={"attrs": {"value": "-1"}}), ParseError, r"\(tir\.Evaluate\): refers to node -1"),
    ],
)  # fmt: skip
def test_damaged_functions(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        relay_ir.load_json(text)


def with_body(statements: list[dict[str, Any]], last: int) -> str:
    """Return the document in which @scale's body is the last of ``statements``; they are numbered
    from 107.
    """
    document = json.loads(DOCUMENT)
    assert len(document["nodes"]) == 107
    document["nodes"] += statements
    next(one for one in document["nodes"] if one["type_key"] == "tir.PrimFunc")["attrs"]["body"] = str(last)
    return json.dumps(document)


def test_a_cycle_is_refused() -> None:
    loop = {"type_key": "tir.While", "attrs": {"condition": "1", "body": "107", "span": "0"}}
    with pytest.raises(ParseError, match="node 107 refers to node 107, which depends on it"):
        relay_ir.load_json(with_body([loop], 107))


@pytest.mark.sweep(every=2)
def test_deep_functions() -> None:
    loops = [
        {"type_key": "tir.While", "attrs": {"condition": "1", "body": str(index + 1), "span": "0"}}
        for index in range(107, 20_107)
    ]
    end = {"type_key": "tir.Evaluate", "attrs": {"value": "1", "span": "0"}}
    mod = relay_ir.load_json(with_body([*loops, end], 107))
    again = relay_ir.load_json(relay_ir.save_json(mod))
    assert relay_ir.structural_equal(mod, again)
    assert "PrimFunc" not in repr(mod.opaque_functions)


def test_functions_that_share_their_bodies_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_reader, "MAX_SIZE", 10_000)
    document = json.loads(DOCUMENT)
    nodes = document["nodes"]
    module = nodes[document["root"]]
    table = nodes[int(module["attrs"]["functions"])]["data"]
    nodes.append({"type_key": "Array", "data": list(range(len(nodes) + 1, len(nodes) + 2001))})
    body = len(nodes) - 1
    nodes.extend({"type_key": "runtime.String"} for _ in range(2000))
    template = next(one for one in nodes if one["type_key"] == "tir.PrimFunc")
    for index in range(10):
        nodes.append({"type_key": "runtime.String", "repr_str": f"copy{index}"})
        nodes.append({"type_key": "GlobalVar", "attrs": {"name_hint": str(len(nodes) - 1)}})
        nodes.append({"type_key": "tir.PrimFunc", "attrs": {**template["attrs"], "body": str(body)}})
        table += [len(nodes) - 2, len(nodes) - 1]
    with pytest.raises(ParseError, match="more than 10000 nodes in common"):
        relay_ir.load_json(json.dumps(document))
