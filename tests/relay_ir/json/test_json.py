"""Relay's JSON: reading what TVM 0.18 wrote, writing what it reads, refusing the rest with a
reason.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweep import CHAIN
from typed import of_type

from relay2relax import relay_ir
from relay2relax.core import ParseError, Relay2RelaxError
from relay2relax.core.source import SequentialSpan, Span
from relay2relax.ops.registry.attributes import BoxInt, attr_fields
from relay2relax.relay_ir.compat.attrs_codec import attrs_class
from relay2relax.relay_ir.ir.device import BuildOption
from relay2relax.relay_ir.json.reader import decode_nodes, load_json_object
from relay2relax.relay_ir.json.writer import encode_metadata, type_key
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import IntImm, SizeVar, Var

if TYPE_CHECKING:
    from model_cases import ModelCase

# The example of the format's description: fn (%x: Tensor[(2, ?), float32]) { nn.softmax(%x, axis=1)
# }
SOFTMAX = {
    "root": 1,
    "nodes": [
        {"type_key": ""},
        {
            "type_key": "relay.Function",
            "attrs": {
                "params": "2", "body": "12", "ret_type": "0", "type_params": "17", "attrs": "18",
                "virtual_device_": "10", "span": "0", "_checked_type_": "0",
            },
        },
        {"type_key": "Array", "data": [3]},
        {
            "type_key": "relay.Var",
            "attrs": {
                "vid": "4", "type_annotation": "6", "virtual_device_": "10", "span": "0", "_checked_type_": "0"
            },
        },
        {"type_key": "relay.Id", "attrs": {"name_hint": "5"}},
        {"type_key": "runtime.String", "repr_str": "x"},
        {"type_key": "relay.TensorType", "attrs": {"shape": "7", "dtype": "float32", "span": "0"}},
        {"type_key": "Array", "data": [8, 9]},
        {"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "2", "span": "0"}},
        {"type_key": "tir.Any", "attrs": {"dtype": "int32", "span": "0"}},
        {
            "type_key": "VirtualDevice",
            "attrs": {"device_type_int": "-1", "virtual_device_id": "-1", "target": "0", "memory_scope": "11"},
        },
        {"type_key": "runtime.String"},
        {
            "type_key": "relay.Call",
            "attrs": {
                "op": "13", "args": "14", "attrs": "15", "type_args": "16", "virtual_device_": "10", "span": "0",
                "_checked_type_": "6",
            },
        },
        {"type_key": "Op", "repr_str": "nn.softmax"},
        {"type_key": "Array", "data": [3]},
        {"type_key": "relay.attrs.SoftmaxAttrs", "attrs": {"axis": "1"}},
        {"type_key": "Array"},
        {"type_key": "Array"},
        {"type_key": "DictAttrs", "attrs": {"__dict__": "19"}},
        {"type_key": "Map"},
    ],
    "b64ndarrays": [],
    "attrs": {"tvm_version": "0.18.0"},
}  # fmt: skip


def softmax(**changes: dict[str, Any]) -> str:
    """Return the example with nodes replaced: ``n12={"op": "3"}`` changes fields of node 12."""
    document = json.loads(json.dumps(SOFTMAX))
    for key, fields in changes.items():
        document["nodes"][int(key[1:])]["attrs"].update(fields)
    return json.dumps(document)


# --- what a document means, independently of the reader ---

_VALUES = {
    "", "Array", "Map", "IntImm", "tir.Any", "relay.TensorType", "TupleType", "FuncType", "runtime.String",
    "runtime.BoxInt", "Span", "SourceName", "Op", "VirtualDevice", "DictAttrs", "IRModule", "SourceMap", "Source",
}  # fmt: skip
_TEXT_FIELDS = {
    ("IntImm", "value"), ("IntImm", "dtype"), ("tir.Any", "dtype"), ("relay.TensorType", "dtype"),
    ("relay.TupleGetItem", "index"), ("VirtualDevice", "device_type_int"), ("VirtualDevice", "virtual_device_id"),
    ("Span", "line"), ("Span", "column"), ("Span", "end_line"), ("Span", "end_column"),
}  # fmt: skip


def meaning(text: str, table: dict[Any, int]) -> tuple[Any, list[int]]:
    """Return a document with values spelt out (as numbers in ``table``), and what has identity
    numbered in order.
    """
    document = json.loads(text)
    nodes = document["nodes"]
    done: dict[int, Any] = {0: None}
    bodies: dict[int, int] = {}

    def fields(node: dict[str, Any]) -> dict[str, tuple[bool, str]]:
        """Return (is a reference, text) by field."""
        key, result = node["type_key"], {}
        cls = attrs_class(key)
        inline = (
            {f.name for f in attr_fields(cls) if f.kind in ("int", "bool", "double", "string", "DataType")}
            if cls
            else ()
        )
        for name, value in node.get("attrs", {}).items():
            if name in ("source_map", "global_infos"):
                continue
            if (key, name) == ("relay.Constant", "data"):
                result[name] = (False, document["b64ndarrays"][int(value)])
            else:
                result[name] = (not (name in inline or (key, name) in _TEXT_FIELDS), value)
        return result

    def below(index: int) -> list[int]:
        node = nodes[index]
        references = [int(text) for _, (is_reference, text) in sorted(fields(node).items()) if is_reference]
        data: list[int] = node.get("data", [])
        return references + data

    numbers: dict[int, int] = {}
    stack = [(document["root"], iter(below(document["root"])))]
    numbers[document["root"]] = 0
    while stack:
        index, rest = stack[-1]
        other = next((one for one in rest if one not in done and one not in numbers), None)
        if other is not None:
            numbers[other] = -1
            stack.append((other, iter(below(other))))
            continue
        stack.pop()
        node = nodes[index]
        parts = [
            (name, done[int(text)] if is_reference else text)
            for name, (is_reference, text) in sorted(fields(node).items())
        ]
        spelt = (
            node["type_key"], tuple(parts), tuple(done[one] for one in node.get("data", [])),
            tuple(node.get("keys", ())), node.get("repr_str"), node.get("repr_b64"),
        )  # fmt: skip
        number = table.setdefault(spelt, len(table))
        if node["type_key"] in _VALUES or node["type_key"].startswith("relay.attrs."):
            done[index] = number
        else:
            done[index] = ("identity", len(bodies))
            bodies[index] = number
    return done[document["root"]], list(bodies.values())


# --- recorded models ---


def assert_same_text(found: str, expected: str) -> None:
    """Compare line by line: a difference of two texts of a megabyte takes minutes to compute."""
    pairs = zip(found.splitlines(), expected.splitlines(), strict=False)
    assert next(((a, b) for a, b in pairs if a != b), None) is None
    assert len(found.splitlines()) == len(expected.splitlines())


def test_models_print_as_recorded(model_case: ModelCase) -> None:
    mod = relay_ir.load_json(model_case.json)
    assert_same_text(mod.astext(), model_case.text)
    inferred = relay_ir.infer_type(mod).astext(show_meta_data=False)
    assert_same_text(inferred.split("\n\n/* For debugging")[0], model_case.typed.rstrip("\n"))


@pytest.mark.sweep(every=2)
def test_models_are_written_as_tvm_wrote_them(model_case: ModelCase) -> None:
    mod = relay_ir.load_json(model_case.json)
    written = relay_ir.save_json(mod)
    table: dict[Any, int] = {}
    assert meaning(written, table) == meaning(model_case.json, table)
    again = relay_ir.load_json(written)
    assert relay_ir.first_difference(mod, again) is None
    assert relay_ir.save_json(again) == written
    assert len(again.types) == len(mod.types)


def test_layout_of_the_written_text(get_model_case: Callable[[str], ModelCase]) -> None:
    recorded = get_model_case("bert_tiny").json

    def shapes(text: str) -> set[str]:
        return {re.sub(r"\d+", "0", line) for line in text.split("\n")}

    written = relay_ir.save_json(relay_ir.load_json(recorded))
    assert shapes(written) <= shapes(recorded) | {'        "source_map": "0", '}
    assert written.splitlines()[:4] == recorded.splitlines()[:4]
    assert written.splitlines()[-3:] == recorded.splitlines()[-3:]


# --- small documents ---


def test_the_example() -> None:
    mod = relay_ir.load_json(json.dumps(SOFTMAX))
    function = mod["main"]
    (param,) = function.params
    assert param.name == "x"
    assert param.type_annotation == relay_ir.TensorType((2, ANY), "float32")
    assert param.virtual_device is None
    call = of_type(function.body, relay_ir.Call)
    assert call.op == relay_ir.Op("nn.softmax")
    assert call.args == (param,)
    assert call.attrs.axis == 1
    assert mod.types[call] == relay_ir.TensorType((2, ANY), "float32")
    assert param not in mod.types


def test_a_missing_reference_is_null_and_a_missing_number_the_default() -> None:
    document = json.loads(json.dumps(SOFTMAX))
    del document["nodes"][1]["attrs"]["attrs"], document["nodes"][12]["attrs"]["virtual_device_"]
    document["nodes"][15].pop("attrs")
    call = of_type(relay_ir.load_json(json.dumps(document))["main"].body, relay_ir.Call)
    assert call.attrs.axis == -1


def test_two_var_nodes_with_one_id_are_one_variable() -> None:
    document = json.loads(json.dumps(SOFTMAX))
    document["nodes"].append(document["nodes"][3])
    document["nodes"][14]["data"] = [20]
    function = relay_ir.load_json(json.dumps(document))["main"]
    assert of_type(function.body, relay_ir.Call).args[0] is function.params[0]


def test_var_nodes_with_one_id_and_different_types_are_different_variables() -> None:
    # TVM's gradient leaves such behind, and its inference and its printer tell them apart.
    document = json.loads(json.dumps(SOFTMAX))
    nodes = document["nodes"]
    nodes += [json.loads(json.dumps(nodes[3])), {"type_key": "IncompleteType", "attrs": {"kind": "0", "span": "0"}}]
    nodes[20]["attrs"]["type_annotation"] = "21"
    nodes[14]["data"] = [20]
    function = relay_ir.load_json(json.dumps(document))["main"]
    assert of_type(function.body, relay_ir.Call).args[0] is not function.params[0]


def test_what_a_module_says_of_its_executor_is_kept() -> None:
    mod = relay_ir.parse('#[version = "0.0.5"]\ndef @main(%x: int32) { %x }')
    mod = replace(mod, attrs={"executor": BuildOption("Executor", "aot", {"link-params": True})})
    again = relay_ir.load_json(relay_ir.save_json(mod))
    assert relay_ir.structural_equal(again, mod)
    assert of_type(again.attrs["executor"], BuildOption).attrs == {"link-params": True}


def test_an_expression_becomes_main_with_its_free_variables() -> None:
    document = {**SOFTMAX, "root": 12}
    mod = relay_ir.load_json(json.dumps(document))
    assert [param.name for param in mod["main"].params] == ["x"]
    assert load_json_object(json.dumps({**SOFTMAX, "root": 6})) == relay_ir.TensorType((2, ANY), "float32")
    with pytest.raises(ParseError, match="expected a module"):
        relay_ir.load_json(json.dumps({**SOFTMAX, "root": 6}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n12": {"op": "99"}}, r"node 12 \(relay.Call\): refers to node 99"),
        ({"n12": {"op": "-1"}}, r"node 12 \(relay.Call\): refers to node -1"),
        ({"n12": {"op": "x"}}, r"node 12 \(relay.Call\): field 'op': expected the index of a node, found 'x'"),
        ({"n12": {"op": "6"}}, r"node 12 \(relay.Call\): field 'op': expected an expression, found a TensorType"),
        ({"n12": {"args": "13"}}, r"field 'args': expected an array"),
        ({"n12": {"args": "7"}}, r"field 'args': element 0: expected an expression"),
        ({"n12": {"attrs": "19"}, "n13": {}}, r""),
        ({"n12": {"op": "3", "attrs": "6"}}, r"field 'attrs': expected attributes, found a TensorType"),
        ({"n15": {"axis": "one"}}, r"node 15 \(relay.attrs.SoftmaxAttrs\): field 'axis': expected an integer"),
        ({"n8": {"value": "9" * 30}}, r"node 8 \(IntImm\): field 'value': expected an integer of 64 bits"),
        ({"n1": {"body": "1"}}, r"cycle"),
        ({"n6": {"shape": "2"}}, r"node 6 \(relay.TensorType\): field 'shape'|cycle"),
        ({"n10": {"device_type_int": "2"}}, r"a relay.Call is placed on"),
    ],
)
def test_bad_documents(changes: dict[str, dict[str, str]], message: str) -> None:
    document = json.loads(json.dumps(SOFTMAX))
    for key, fields in changes.items():
        document["nodes"][int(key[1:])].setdefault("attrs", {}).update(fields)
    if not message:
        call = of_type(relay_ir.load_json(json.dumps(document))["main"].body, relay_ir.Call)
        assert call.attrs.type_key == "DictAttrs"
        return
    with pytest.raises(Relay2RelaxError, match=message):
        relay_ir.load_json(json.dumps(document))


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", '{"nodes": []}', '{"root": 0, "nodes": {}}', '{"root": 5, "nodes": [{"type_key": ""}]}',
        '{"root": 0, "nodes": [{"type_key": 3}]}', '{"root": 0, "nodes": [{"type_key": "", "data": ["1"]}]}',
        '{"root": true, "nodes": [{"type_key": ""}]}', "[" * 100000, '{"root": ' + "9" * 5000 + "}",
        '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "relay.Constant", "attrs": {"data": "0"}}]}',
        '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "relay.Constant", "attrs": {"data": "0"}}],'
        ' "b64ndarrays": ["P6G0lvBAXt0="]}',
        '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "data": [2, 0]}, {"type_key": "Map"}]}',
    ],
)  # fmt: skip
def test_no_documents(text: str) -> None:
    with pytest.raises(ParseError):
        relay_ir.load_json(text)


def test_tensors_are_read_as_they_are_described() -> None:
    # float32 [1, 2], the example of the format's description.
    blob = "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAAEA="
    document = {
        "root": 1,
        "nodes": [{"type_key": ""}, {"type_key": "relay.Constant", "attrs": {"data": "0"}}],
        "b64ndarrays": [blob],
    }
    constant = of_type(load_json_object(json.dumps(document)), relay_ir.Constant)
    np.testing.assert_array_equal(constant.data, np.array([1, 2], np.float32))
    assert constant.data.dtype == np.float32
    assert not constant.data.flags.owndata
    assert json.loads(relay_ir.save_json(constant))["b64ndarrays"] == [blob]


def test_metadata_tables() -> None:
    shape = SizeVar("n", "int32")
    table: dict[str, list[object]] = {
        "runtime.BoxInt": [BoxInt(4), BoxInt(4)],
        "relay.Constant": [relay_ir.const([1, 2], "int64")],
        "tir.SizeVar": [shape],
        "tir.Var": [Var("m", "int64")],
    }
    assert {type_key(value) for values in table.values() for value in values} == set(table)
    read = decode_nodes(encode_metadata(table))
    assert list(read) == list(table)
    assert read["runtime.BoxInt"] == [4, 4]
    assert all(isinstance(value, BoxInt) for value in read["runtime.BoxInt"])
    assert isinstance(read["tir.SizeVar"][0], SizeVar)
    np.testing.assert_array_equal(
        of_type(read["relay.Constant"][0], relay_ir.Constant).data, np.array([1, 2], np.int64)
    )
    with pytest.raises(ParseError, match="expected a map"):
        decode_nodes(json.dumps(SOFTMAX))


def test_what_text_cannot_hold() -> None:
    spans = SequentialSpan.of((Span("aten::linear_0", 1, 2, 3, 4), Span("größe\n")))
    value = {
        "flag": True, "number": 3, "wide": IntImm(3, "int64"), "boxed": BoxInt(3), "half": 0.5, "words": ("a", "β"),
    }  # fmt: skip
    body = relay_ir.Tuple((), spans)
    function = relay_ir.Function((), body, attrs=value)
    read = of_type(load_json_object(relay_ir.save_json(function)), relay_ir.Function)
    assert of_type(read.body, relay_ir.Tuple).span == spans
    assert dict(read.attrs) == value
    assert [type(one) for one in read.attrs.values()] == [type(one) for one in value.values()]


def test_a_long_chain() -> None:
    param = relay_ir.var("x", shape=(1,))
    expr: relay_ir.Expr = param
    for _ in range(CHAIN):
        expr = relay_ir.op.nn.relu(expr)
    mod = relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function((param,), expr)})
    again = relay_ir.load_json(relay_ir.save_json(mod))
    assert relay_ir.first_difference(mod, again) is None


@settings(max_examples=200)
@given(data=st.data())
def test_damage_is_refused_with_a_reason(data: st.DataObject) -> None:
    document = json.loads(json.dumps(SOFTMAX))
    for _ in range(data.draw(st.integers(1, 3))):
        node = data.draw(st.sampled_from(document["nodes"][1:]))
        kind = data.draw(st.sampled_from(["type_key", "attrs", "data", "drop"]))
        if kind == "type_key":
            node["type_key"] = data.draw(st.sampled_from([n["type_key"] for n in document["nodes"]] + ["tir.PrimFunc"]))
        elif kind == "attrs" and node.get("attrs"):
            field = data.draw(st.sampled_from(sorted(node["attrs"])))
            node["attrs"][field] = data.draw(
                st.one_of(st.integers(-2, 25).map(str), st.text(max_size=3), st.just("float32"))
            )
        elif kind == "data":
            node["data"] = data.draw(st.lists(st.integers(-2, 25), max_size=3))
        elif node.get("attrs"):
            del node["attrs"][data.draw(st.sampled_from(sorted(node["attrs"])))]
    with contextlib.suppress(Relay2RelaxError):
        mod = relay_ir.load_json(json.dumps(document))
        relay_ir.save_json(mod)
