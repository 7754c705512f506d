"""The map covers every node of every recorded program, and what it names is there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, TypeAlias, cast

import pytest
from sweep import sampled
from typed import present

from relay2relax import relax_ir, relay_ir, translator
from relay2relax.core import ParseError, Relay2RelaxError
from relay2relax.core.dtype import of_array
from relay2relax.core.source import SourceRange
from relay2relax.relax_ir.ir.visit import all_sequences, bindings, values
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import IntImm
from relay2relax.tir.ir.stmt import PrimFunc

FILES = (
    "operators", "dynamic", "language", "frontend_onnx", "frontend_torch", "random", "passes", "mutated", "msc",
)  # fmt: skip
BINDING = translator.PlaceKind.BINDING
VIAS: tuple[translator.Via, ...] = ("tir", "graph")

TEXT = """#[version = "0.0.5"]
def @main(%data: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  let %h = nn.dense(%data, %w, units=None);
  let %unused = nn.relu(%data);
  let %f = fn (%v: Tensor[(2, 4), float32]) { nn.relu(%v) };
  add(%f(%h), 1f)
}
def @other(%x: Tensor[(2), float32]) { negative(%x) }
"""


def parts(root: object) -> Iterator[relay_ir.Expr]:
    """Yield every expression in ``root`` once, variables with what binds them, as dataclasses hold
    them: no walk of the package is asked.
    """
    seen: set[int] = set()
    stack: list[Any] = [root]
    while stack:
        one = stack.pop()
        if isinstance(one, tuple):
            stack += one
            continue
        if isinstance(one, relay_ir.Op) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, relay_ir.RelayExpr):
            yield cast("relay_ir.Expr", one)
        if is_dataclass(one):
            inside = ("attrs", "type_annotation", "inputs", "belong_to", "span", "virtual_device")
            stack += [getattr(one, field.name) for field in fields(one) if field.name not in inside]


def programs(recorded: Any, file: str, step: int) -> Iterator[tuple[str, Mapping[str, Any], relay_ir.IRModule]]:
    for place, case in enumerate(sampled(recorded(file), step)):
        try:
            mod = relay_ir.load_json(case["json"]) if place % 2 and case.get("json") else relay_ir.parse(case["text"])
        except Relay2RelaxError:
            continue
        if mod.functions:
            yield f"{file} {case['id']}", case, mod


def mapped(mod: relay_ir.IRModule, via: translator.Via) -> translator.Traced | None:
    try:
        return translator.translate_with_map(mod, via)
    except Relay2RelaxError:
        return None


def check(name: str, case: Mapping[str, Any], mod: relay_ir.IRModule, traced: translator.Traced) -> None:
    found = traced.map
    wanted = {id(part) for function in mod.functions.values() for part in parts(function)}
    assert len(found.relay) == len(wanted), name
    document = json.loads(case["json"], strict=False)["nodes"] if mod.document_nodes else []
    for node in found.relay:
        assert (node.fate is translator.Fate.KEPT) == any(found.graph[one].relax for one in node.graph), (name, node)
        assert node.note or node.fate is translator.Fate.KEPT, (name, node)
        if mod.document_nodes:
            key = document[present(node.json)]["type_key"]
            assert key.rsplit(".", 1)[-1] == node.kind, (name, node)
        elif node.kind == "Call" and node.name not in ("", "add", "subtract", "multiply", "divide", "less"):
            text = present(node.text)
            assert node.name in "\n".join(case["text"].splitlines()[text.line - 1 : text.end_line]), (name, node)
    check_receipt(name, mod, traced)
    claimed = {place for one in found.graph for place in one.relax}
    for number, place in enumerate(found.relax):
        assert number in claimed or place.kind is translator.PlaceKind.CONSTANT, (name, place)


def said(expr: relay_ir.Expr) -> Counter[str]:
    """Return how many things of each kind an expression says, read off its dataclass alone."""
    found: Counter[str] = Counter()
    for field in fields(expr):
        value = getattr(expr, field.name)
        if field.name in ("span", "virtual_device", "type_annotation", "ret_type", "type_args"):
            found["type" if "type" in field.name else field.name] += value not in (None, ())
        elif field.name == "attrs":
            own = (name for name in value) if isinstance(value, dict) else map(str, fields(value))
            found["attrs"] += len(value.fields) if isinstance(value, relay_ir.OpaqueAttrs) else len(tuple(own))
        elif field.name == "type_params":
            found["type"] += len(value)
        elif field.name == "name":
            found["name"] += 1
    return found


ASPECTS = {
    "span": "span", "virtual_device": "device", "type": "annotation", "attrs": "attribute", "name": "name",
}  # fmt: skip


def check_receipt(name: str, mod: relay_ir.IRModule, traced: translator.Traced) -> None:
    """Everything that expressions say has an item, and what is called kept stands in the script."""
    wanted: Counter[str] = Counter()
    # Functions share what names the others.
    for part in parts(tuple(mod.functions.values())):
        for key, count in said(part).items():
            wanted[ASPECTS[key]] += count
    found = Counter(item.aspect for item in traced.map.receipt if item.node >= 0)
    # Marks of partitions are attributes of functions, and what a mark on a value says is dropped.
    found["attribute"] += found["partition"]
    marks = sum(item.aspect == "annotation" and item.note.endswith("mark on a value") for item in traced.map.receipt)
    found["annotation"] -= marks
    found["name"] -= sum(node.kind == "Function" and bool(node.name) for node in traced.map.relay)
    assert {key: found[key] for key in wanted} == dict(wanted), name
    read = read_there(mod)
    for item in traced.map.receipt:
        assert item.note or item.fate is translator.Fate.KEPT, (name, item)
        if item.fate is translator.Fate.KEPT and item.node >= 0:
            check_kept(name, item, traced, read)
        if item.note.startswith("op_attrs of the PrimFunc"):
            check_moved(name, item, traced, read)


Read: TypeAlias = "dict[tuple[str, SourceRange | int | None], list[Any]]"


def read_there(mod: relay_ir.IRModule) -> Read:
    """Return what was read, by its kind, or an operator's name, and its place in the text or
    document: attributes of calls and functions, annotated types of variables and results.
    """
    found: Read = {}
    for part in parts(tuple(mod.functions.values())):
        place = mod.document_nodes.get(part) if mod.document_nodes else mod.locations.get(part)
        match part:
            case relay_ir.Call(relay_ir.Op(name), _, attrs):
                found.setdefault((name, place), []).append(attrs)
            case relay_ir.Function():
                found.setdefault(("Function", place), []).append(dict(part.attrs))
                found.setdefault(("result", place), []).append(part.ret_type)
            case relay_ir.Var():
                found.setdefault(("type", place), []).append(part.type_annotation)
    return found


def check_kept(name: str, item: translator.Item, traced: translator.Traced, read: Read) -> None:
    """What is kept has the value that was read, where it stands in the script."""
    node, places = traced.map.relay[item.node], list(traced.map.places(item.node))
    assert places, (name, item)
    at = node.text if node.json is None else node.json
    lines, functions = read_bindings(traced), read_functions(traced)
    bound = [lines[place.function, place.name] for place in places if place.kind is BINDING]
    where = (name, item, node)
    match item.aspect, node.kind:
        case "name", _:
            assert item.name in {place.name for place in places}, where
        case "dtype", "Call":
            assert any(f"dtype='{item.name}'" in str(one.var.info) for one in bound), where
        case "dtype", "Constant":
            assert item.name in dtypes_of_constants(traced), where
        case "attribute", "Call":
            said = [getattr(one, item.name) for one in read[node.name, at]]
            calls = [one.value.attrs for one in bound if isinstance(one.value, relax_ir.Call)]
            written = [getattr(one, item.name) for one in calls if hasattr(one, item.name)]
            assert any(one in said for one in written), (*where, said, written)
        case (("attribute" | "partition"), "Function"):
            said = [one[item.name] for one in read["Function", at] if item.name in one]
            local = [one.value for one in bound if isinstance(one.value, relax_ir.Function)]
            made = [functions[place.function] for place in places if place.kind is translator.PlaceKind.FUNCTION]
            assert any(one.attrs.get(item.name) in said for one in (*made, *local)), (*where, said)
        case "annotation", _:
            # A constant has the type that it is written with.
            there = [place for place in places if place.kind is not translator.PlaceKind.CONSTANT]
            infos = [info for place in there for info in declared(place, functions, bound, item.name == "result")]
            said = read["result" if item.name == "result" else "type", at]
            assert any(alike(one, info) for one in said for info in infos), (*where, said, infos)
        case other:
            raise AssertionError((other, *where))


def declared(
    place: translator.Place,
    functions: Mapping[str, relax_ir.Function],
    bound: list[relax_ir.Binding | relax_ir.MatchCast],
    of_result: bool,
) -> list[relax_ir.StructInfo]:
    """Return what the script declares at a place: of the result of a function there, or of a
    parameter, of a local function as well.
    """
    here = functions[place.function]
    local = [one.value for seq in all_sequences([here.body]) for one in bindings(seq)]
    inner = [one for one in local if isinstance(one, relax_ir.Function)]
    if of_result:
        own = [here] if place.kind is translator.PlaceKind.FUNCTION else []
        return [one.ret for one in (*own, *(b.value for b in bound if isinstance(b.value, relax_ir.Function)))]
    return [param.info for one in (here, *inner) for param in one.params if param.name == place.name]


def alike(said: relay_ir.Type | None, info: relax_ir.StructInfo) -> bool:
    """Whether struct info says what a type does; extents that are not numbers are others there."""
    match said, info:
        case relay_ir.TensorType(shape, dtype), relax_ir.TensorStructInfo(extents, other) if extents is not None:
            pairs = list(zip(shape, extents, strict=True)) if len(shape) == len(extents) else [(0, 1)]
            return dtype == other and all(static(a) == static(b) for a, b in pairs)
        case relay_ir.TupleType(fields), relax_ir.TupleStructInfo(others):
            return len(fields) == len(others) and all(map(alike, fields, others))
    return False


@lru_cache(maxsize=1)
def read_functions(traced: translator.Traced) -> dict[str, relax_ir.Function]:
    """Return the functions of the script, by their names."""
    module = relax_ir.parse(traced.module.script(), check_well_formed=False)
    return {var.name: one for var, one in module.functions.items() if isinstance(one, relax_ir.Function)}


@lru_cache(maxsize=1)
def dtypes_of_constants(traced: translator.Traced) -> set[str]:
    found = [
        value
        for one in read_functions(traced).values()
        for seq in all_sequences([one.body])
        for expr in (*(step.value for step in bindings(seq)), seq.body)
        for value in values(expr)
    ]
    return {of_array(one.data) for one in found if isinstance(one, relax_ir.Constant)}


def check_moved(name: str, item: translator.Item, traced: translator.Traced, read: Read) -> None:
    """What moved to the attributes of a PrimFunc has the value that was read."""
    node = traced.map.relay[item.node]
    kernel = traced.module[item.note.removeprefix("op_attrs of the PrimFunc ")]
    said = [getattr(one, item.name) for one in read[node.name, node.text if node.json is None else node.json]]
    written = cast("Mapping[str, object]", kernel.attrs["op_attrs"])[item.name]
    assert any(plain(one) == plain(written) for one in said), (name, item, said, written)


def plain(value: object) -> object:
    """Return an attribute as text, lists and tuples alike; a number may be a constant."""
    match value:
        case relay_ir.Constant(data) if data.ndim == 0:
            return float(data)
        case IntImm(number) | (int() | float() as number):
            return float(number)
    return tuple(map(plain, value)) if isinstance(value, (list, tuple)) else str(value)


@lru_cache(maxsize=1)
def read_bindings(traced: translator.Traced) -> dict[tuple[str, str], relax_ir.Binding | relax_ir.MatchCast]:
    """Return what the script binds, by the names of function and variable."""
    module = relax_ir.parse(traced.module.script(), check_well_formed=False)
    return {
        (var.name, binding.var.name): binding
        for var, func in module.functions.items()
        if isinstance(func, relax_ir.Function)
        for seq in all_sequences([func.body])
        for binding in bindings(seq)
    }


def check_script(name: str, traced: translator.Traced) -> None:
    """The script has the functions, parameters and bindings that the map names, and no others."""
    module = relax_ir.parse(traced.module.script(), check_well_formed=False)
    there: set[tuple[str, str, str, str]] = set()
    for var, func in module.functions.items():
        if isinstance(func, PrimFunc):
            continue
        there.add(("function", var.name, var.name, ""))
        there |= {("parameter", var.name, param.name, "") for param in func.params}
        for seq in all_sequences([func.body]):
            for binding in bindings(seq):
                value = binding.value
                called = value.func.name if isinstance(value, relax_ir.CallTIR) else ""
                there.add(("binding", var.name, binding.var.name, called))
                if isinstance(value, relax_ir.Function):
                    there |= {("parameter", var.name, param.name, "") for param in value.params}
    named = {(one.kind.value, one.function, one.name, one.prim_func) for one in traced.map.relax}
    assert {one for one in named if one[0] != "constant"} == there, name


@pytest.mark.golden
@pytest.mark.parametrize("file", FILES)
@pytest.mark.sweep(every=2)
def test_every_node_of_recorded_programs_is_in_the_map(recorded: Any, file: str) -> None:
    count = 0
    for name, case, mod in programs(recorded, file, 20):
        for via in VIAS:
            traced = mapped(mod, via)
            if traced is None:
                continue
            assert relax_ir.structural_equal(traced.module, translator.translate(mod, via)), name
            check(name, case, mod, traced)
            check_script(name, traced)
            count += 1
    assert count


@pytest.mark.golden
@pytest.mark.parametrize("via", VIAS)
@pytest.mark.sweep(every=7)
def test_every_node_of_recorded_models_is_in_the_map(model_case: Any, via: translator.Via) -> None:
    mod = relay_ir.parse(model_case.text)
    traced = translator.translate_with_map(mod, via)
    check(model_case.name, {"text": model_case.text}, mod, traced)
    dropped = [node for node in traced.map.relay if node.fate is translator.Fate.DROPPED]
    # It takes the last states of cells apart, and uses none of them.
    assert not dropped or model_case.name == "lstm_relay"


@pytest.mark.golden
@pytest.mark.sweep(every=2)
def test_a_prim_func_computes_the_operator_that_the_map_says(model_case: Any) -> None:
    traced = translator.translate_with_map(relay_ir.parse(model_case.text), "tir")
    calls = 0
    for number, node in enumerate(traced.map.relay):
        if node.kind == "Call" and "." in node.name:
            called = {place.prim_func for place in traced.map.places(number)} - {""}
            assert {traced.module[one].attrs["op_name"] for one in called} == {node.name}, node
            calls += 1
    assert calls or model_case.name == "lstm"


def test_what_is_dropped_says_why() -> None:
    found = translator.translate_with_map(relay_ir.parse(TEXT)).map
    dropped = {(node.kind, node.name): node.note for node in found.relay if node.fate is translator.Fate.DROPPED}
    unreached, unused = "the entry function does not come to it", "nothing uses its value"
    assert dropped == {
        ("Var", "unused"): unused, ("Var", "x"): unreached, ("Call", "negative"): unreached,
        ("Function", "other"): unreached, ("Call", "nn.relu"): unused,
    }  # fmt: skip
    implied = {(node.kind, node.name): node.note for node in found.relay if node.fate is translator.Fate.IMPLIED}
    function = "a function that the translation knows"
    assert implied == {("Function", ""): function, ("Var", "f"): function}


def test_lets_and_inlined_functions_are_followed() -> None:
    traced = translator.translate_with_map(relay_ir.parse(TEXT))
    relay = traced.map.relay
    dense, h = (next(i for i, one in enumerate(relay) if one.name == name) for name in ("nn.dense", "h"))
    assert set(traced.map.places(dense)) <= set(traced.map.places(h))
    text = present(relay[dense].text)
    assert (text.line, text.column) == (3, 12)
    inner = next(i for i, one in enumerate(relay) if one.name == "nn.relu" and one.fate is translator.Fate.KEPT)
    (place,) = traced.map.places(inner)
    assert f"{place.name}: R.Tensor((2, 4)" in traced.module.script()
    assert "R.nn.relu" in next(line for line in traced.module.script().splitlines() if f" {place.name}: " in line)


def test_bound_params_and_dims_are_followed() -> None:
    import numpy as np

    mod = relay_ir.parse(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(?, 3), float32], %w: Tensor[(4, 3), float32]) {\n'
        "  nn.dense(%x, %w, units=None)\n}\n"
    )
    values = {"w": np.ones((4, 3), "float32")}
    traced = translator.translate_with_map(mod, params=values, dims={"x": (2, None)})
    (weight,) = [i for i, one in enumerate(traced.map.relay) if one.name == "w"]
    assert [place.kind for place in traced.map.places(weight)] == [translator.PlaceKind.CONSTANT]
    assert {node.fate for node in traced.map.relay} == {translator.Fate.KEPT}


def test_a_row_of_operators_is_traced_without_recursion() -> None:
    value: relay_ir.Expr = relay_ir.var("x", shape=(2,))
    x = value
    for _ in range(5_000):
        value = relay_ir.Call(relay_ir.Op("nn.relu"), (value,))
    found = translator.translate_with_map(relay_ir.Function((x,), value)).map  # type: ignore[arg-type]
    assert sum(place.kind is translator.PlaceKind.BINDING for place in found.relax) >= 5_000
    assert all(node.fate is translator.Fate.KEPT for node in found.relay)


@pytest.mark.golden
def test_operators_are_followed_into_the_prim_funcs_of_a_schedule(get_model_case: Any) -> None:
    """Which kernel computes a layer, its weights tell: they are among what that is called with."""
    mod = relay_ir.parse(get_model_case("dqn").text)
    weights = [param.name for param in mod["main"].params[1:]]
    traced = translator.translate_with_map(mod, "tir", schedule="cpu", weights=weights)
    found = traced.map
    places = {number: next(found.places(number)) for number, node in enumerate(found.relay) if node.kind == "Call"}
    layers = [number for number in places if found.relay[number].name in ("nn.conv2d", "nn.dense")]
    assert len({places[number].prim_func for number in layers}) == len(layers) == 5
    lines = read_bindings(traced)
    for layer, weight in zip(layers, weights[::2], strict=True):
        value = lines[places[layer].function, places[layer].name].value
        assert isinstance(value, relax_ir.CallTIR)
        names = [arg.name for arg in value.args if isinstance(arg, relax_ir.Var)]
        assert any(name.startswith(weight) for name in names), (weight, names)
        # The bias, and what is positive of it, are in the same kernel.
        assert places[layer + 2].prim_func == places[layer].prim_func
    assert {found.relay[number].fate for number in places} == {translator.Fate.KEPT}


@pytest.mark.golden
@pytest.mark.sweep(every=9)
def test_scheduled_operators_have_places_that_are_there(model_case: Any) -> None:
    traced = translator.translate_with_map(relay_ir.parse(model_case.text), "tir", schedule="cpu")
    calls = [number for number, node in enumerate(traced.map.relay) if node.kind == "Call"]
    lines = read_bindings(traced)
    kept = 0
    for number in calls:
        bound = [place for place in traced.map.places(number) if place.kind is BINDING]
        kept += bool(bound)
        for place in bound:
            value = lines[place.function, place.name].value
            assert not place.prim_func or isinstance(value, relax_ir.CallTIR)
    assert kept >= 0.8 * len(calls)


MARKED = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 4, 4), float32], %w: Tensor[(3, 2, 1, 1), float32]) {
  let %y = nn.conv2d(%x, %w, strides=[2, 2], padding=[0, 0, 0, 0], channels=3, kernel_size=[1, 1]);
  let %z = annotation.stop_fusion(%y);
  @region(%z)
}
def @region(%a: Tensor[(1, 3, 2, 2), float32], Compiler="dnnl", global_symbol="region", Primitive=1)
    -> Tensor[(1, 3, 2, 2), float32] {
  nn.relu(%a)
}
"""


def told(found: translator.Map, name: str, aspect: str) -> dict[str, tuple[str, str]]:
    """Return what the receipt says of the nodes called ``name``."""
    return {
        item.name: (item.fate.value, item.note)
        for item in found.receipt
        if item.aspect == aspect and item.node >= 0 and found.relay[item.node].name == name
    }


def test_the_receipt_says_what_is_kept_moved_implied_and_dropped() -> None:
    found = translator.translate_with_map(relay_ir.parse(MARKED)).map
    attributes = told(found, "nn.conv2d", "attribute")
    assert attributes["strides"] == ("kept", "")
    assert attributes["channels"] == ("implied", "R.nn.conv2d has no such argument; its operands say it")
    assert told(found, "x", "name") == {"x": ("kept", "")}
    assert told(found, "y", "name") == {"y": ("moved", "the map")}
    assert told(found, "region", "partition") == {"Compiler": ("moved", "Codegen of the function")}
    assert told(found, "annotation.stop_fusion", "annotation")["annotation.stop_fusion"][0] == "dropped"


def test_a_lowered_operator_has_its_attributes_on_the_prim_func() -> None:
    traced = translator.translate_with_map(relay_ir.parse(MARKED), "tir", partitions="inline")
    fate, note = told(traced.map, "nn.conv2d", "attribute")["strides"]
    assert (fate, note) == ("moved", "op_attrs of the PrimFunc conv2d")
    attributes = traced.module["conv2d"].attrs["op_attrs"]
    assert isinstance(attributes, Mapping)
    assert list(attributes["strides"]) == [2, 2]
    assert told(traced.map, "region", "partition") == {"Compiler": ("dropped", "the function is inlined")}


def test_every_dtype_of_a_tuple_has_an_item() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) { topk(%x, k=2, ret_type="both", dtype="int64") }"""
    found = translator.translate_with_map(relay_ir.infer_type(relay_ir.parse(text))).map
    dtypes = [(item.name, item.fate) for item in found.receipt if item.aspect == "dtype"]
    assert dtypes == [("float32", translator.Fate.KEPT), ("int64", translator.Fate.KEPT)]


def test_devices_are_dropped_with_a_word() -> None:
    param = relay_ir.Var("x", relay_ir.TensorType((2,), "float32"), None, relay_ir.VirtualDevice(2, 0))
    found = translator.translate_with_map(relay_ir.Function((param,), relay_ir.op.nn.relu(param))).map
    (item,) = [item for item in found.receipt if item.aspect == "device"]
    assert (item.fate, item.note) == (translator.Fate.DROPPED, "the Relax module names no devices")


def test_a_document_reads_back_and_damaged_ones_are_refused() -> None:
    found = translator.translate_with_map(relay_ir.parse(MARKED)).map
    text = translator.map_to_json(found)
    assert translator.map_from_json(text) == found
    document = json.loads(text)
    for path, value, why in (
        ("version", 2, "none of the values allowed"),
        ("format", "something", "none of the values allowed"),
        ("graph", [], "is not one of 0"),
        ("receipt", [[1_000_000, "a", "b", "kept", ""]], "is not one of"),
        ("relay", [{"kind": "Var"}], "is missing"),
    ):
        with pytest.raises(ParseError, match=why):
            translator.map_from_json(json.dumps({**document, path: value}))
    with pytest.raises(ParseError, match="not a JSON document"):
        translator.map_from_json(text[:-20])
