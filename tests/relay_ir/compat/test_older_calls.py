"""Calls of operators as earlier versions made them mean what they meant, in text and in JSON.

Attributes and inputs are those of TVM's declarations of the version; JSON is built by hand from the
format's rules.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy as np
import pytest
from typed import of_type, present

from relay2relax.core import Relay2RelaxError, UnsupportedError
from relay2relax.relay_ir import Call, Constant, Op, infer_type, load_json, parse, save_json, structural_equal
from relay2relax.relay_ir.ir.device import VirtualDevice

V06 = "v0.0.4\n"
V07 = '#[version = "0.0.5"]\n'

# (text of an earlier version, the same function today)
TEXTS = {
    "pad of 0.7": (
        V07 + "def @main(%x: Tensor[(2), float32]) { nn.pad(%x, pad_value=1.5f, pad_width=[[1, 1]]) }",
        "def @main(%x: Tensor[(2), float32]) { nn.pad(%x, 1.5f, pad_width=[[1, 1]]) }",
    ),
    "pad of 0.7 by zero": (
        V07 + 'def @main(%x: Tensor[(2), float32]) { nn.pad(%x, pad_width=[[1, 1]], pad_mode="edge") }',
        'def @main(%x: Tensor[(2), float32]) { nn.pad(%x, 0f, pad_width=[[1, 1]], pad_mode="edge") }',
    ),
    "resize of 0.6": (
        V06 + "def @main(%x: Tensor[(1, 1, 2, 2), float32]) { image.resize(%x, size=[4, 4]) }",
        "def @main(%x: Tensor[(1, 1, 2, 2), float32]) { image.resize2d(%x, size=[4, 4], "
        'coordinate_transformation_mode="align_corners") }',
    ),
    "resize of 0.6 without aligned corners": (
        V06 + 'def @main(%x: Tensor[(1, 2, 2, 1), float32]) { image.resize(%x, size=[4, 4], layout="NHWC", '
        'method="nearest_neighbor", align_corners=False) }',
        'def @main(%x: Tensor[(1, 2, 2, 1), float32]) { image.resize2d(%x, size=[4, 4], layout="NHWC", '
        'method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="floor") }',
    ),
    "resize of 0.7": (
        V07 + 'def @main(%x: Tensor[(1, 1, 2, 2), float32]) { image.resize(%x, size=[4, 4], method="bicubic") }',
        'def @main(%x: Tensor[(1, 1, 2, 2), float32]) { image.resize2d(%x, size=[4, 4], method="cubic", '
        'rounding_method="floor") }',
    ),
    "resize on the way to 0.8": (
        V07 + "def @main(%x: Tensor[(1, 1, 2, 2), float32]) { image.resize(%x, size=[4, 4], "
        'method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="") }',
        'def @main(%x: Tensor[(1, 1, 2, 2), float32]) { image.resize2d(%x, size=[4, 4], method="nearest_neighbor", '
        'coordinate_transformation_mode="asymmetric", rounding_method="floor") }',
    ),
    "resize on the way to 0.8, as asked for": (
        V07 + 'def @main(%x: Tensor[(1, 1, 2, 2), float32]) { image.resize(%x, size=[4, 4], method="bicubic", '
        'rounding_method="ceil", bicubic_alpha=-0.75f, bicubic_exclude=1) }',
        'def @main(%x: Tensor[(1, 1, 2, 2), float32]) { image.resize2d(%x, size=[4, 4], method="cubic", '
        'rounding_method="ceil", cubic_alpha=-0.75f, cubic_exclude=1) }',
    ),
    "top of 0.6": (
        V06 + 'def @main(%x: Tensor[(5), float32]) { topk(%x, ret_type="values") }',
        'def @main(%x: Tensor[(5), float32]) { topk(%x, k=1, ret_type="values") }',
    ),
    "slice of 0.7": (
        V07 + "def @main(%x: Tensor[(5), float32]) { strided_slice(%x, begin=[1], end=[3], strides=[1]) }",
        "def @main(%x: Tensor[(5), float32]) { strided_slice(%x, begin=[1], end=[3], strides=[1], axes=None) }",
    ),
    "slice of 0.6": (
        V06 + "def @main(%x: Tensor[(5), float32]) { strided_slice(%x, begin=[1], end=[3]) }",
        "def @main(%x: Tensor[(5), float32]) { strided_slice(%x, begin=[1], end=[3], strides=[1], axes=None) }",
    ),
    "the reverse of reshape in 0.6": (
        V06 + "def @main(%x: Tensor[(4, 5), float32]) { _contrib_reverse_reshape(%x, newshape=[-1, 0], reverse=True) }",
        "def @main(%x: Tensor[(4, 5), float32]) { contrib_reverse_reshape(%x, newshape=[-1, 0]) }",
    ),
    "product of batches in 0.6": (
        V06 + "def @main(%x: Tensor[(1, 2, 3), float32], %y: Tensor[(1, 4, 3), float32]) { nn.batch_matmul(%x, %y) }",
        "def @main(%x: Tensor[(1, 2, 3), float32], %y: Tensor[(1, 4, 3), float32]) "
        "{ nn.batch_matmul(%x, %y, transpose_b=True) }",
    ),
    "valid counts of 0.7": (
        V07 + "def @main(%x: Tensor[(1, 5, 6), float32]) { vision.get_valid_counts(%x, score_threshold=0.25f) }",
        "def @main(%x: Tensor[(1, 5, 6), float32]) { vision.get_valid_counts(%x, 0.25f, "
        'attrs_type_key="relay.attrs.GetValidCountsAttrs", score_threshold=None) }',
    ),
    "suppression of 0.6": (
        V06 + "def @main(%x: Tensor[(1, 5, 6), float32], %n: Tensor[(1), int32]) "
        "{ vision.non_max_suppression(%x, %n, iou_threshold=0.75f, return_indices=False) }",
        "def @main(%x: Tensor[(1, 5, 6), float32], %n: Tensor[(1), int32]) { vision.non_max_suppression(%x, %n, %n, "
        '-1, 0.75f, attrs_type_key="relay.attrs.NonMaximumSuppressionAttrs", return_indices=False) }',
    ),
    "suppression of 0.7": (
        V07 + "def @main(%x: Tensor[(1, 5, 6), float32], %n: Tensor[(1), int32], %i: Tensor[(1, 5), int32]) "
        "{ vision.non_max_suppression(%x, %n, %i, 7, max_output_size=None, top_k=3) }",
        "def @main(%x: Tensor[(1, 5, 6), float32], %n: Tensor[(1), int32], %i: Tensor[(1, 5), int32]) "
        "{ vision.non_max_suppression(%x, %n, %i, 7, 0.5f, "
        'attrs_type_key="relay.attrs.NonMaximumSuppressionAttrs", top_k=3) }',
    ),
    "scatter of 0.11": (
        V07 + "def @main(%x: Tensor[(3), float32], %i: Tensor[(3), int64]) { scatter(%x, %i, %x, axis=0) }",
        "def @main(%x: Tensor[(3), float32], %i: Tensor[(3), int64]) { scatter_elements(%x, %i, %x, "
        'attrs_type_key="relay.attrs.ScatterElementsAttrs") }',
    ),
    "adding scatter of 0.11": (
        V07 + "def @main(%x: Tensor[(3), float32], %i: Tensor[(3), int64]) { scatter_add(%x, %i, %x, axis=0) }",
        "def @main(%x: Tensor[(3), float32], %i: Tensor[(3), int64]) { scatter_elements(%x, %i, %x, "
        'attrs_type_key="relay.attrs.ScatterElementsAttrs", reduction="add") }',
    ),
    "adaptive pooling of 0.6": (
        V06 + "def @main(%x: Tensor[(1, 1, 4, 4), float32]) { contrib.adaptive_avg_pool2d(%x, output_size=[2, 2]) }",
        "def @main(%x: Tensor[(1, 1, 4, 4), float32]) { nn.adaptive_avg_pool2d(%x, output_size=[2, 2]) }",
    ),
    "quantisation of 0.6": (
        V06 + 'def @main(%x: Tensor[(2), float32]) { %0 = qnn.quantize(%x, out_dtype="int8", output_zero_point=3, '
        "output_scale=0.5f); %1 = qnn.requantize(%0, input_scale=0.5f, input_zero_point=3, output_scale=0.25f, "
        'output_zero_point=1, out_dtype="int8"); qnn.dequantize(%1, input_zero_point=1, input_scale=0.25f) }',
        'def @main(%x: Tensor[(2), float32]) { %0 = qnn.quantize(%x, 0.5f, 3, out_dtype="int8"); '
        '%1 = qnn.requantize(%0, 0.5f, 3, 0.25f, 1, rounding="UPWARD", out_dtype="int8"); '
        'qnn.dequantize(%1, 0.25f, 1, out_dtype="float32") }',
    ),
    "dequantisation of 0.13": (
        V07 + "def @main(%x: Tensor[(2), int8]) { qnn.dequantize(%x, 0.5f, 3) }",
        'def @main(%x: Tensor[(2), int8]) { qnn.dequantize(%x, 0.5f, 3, out_dtype="float32") }',
    ),
    "quantised convolution of 0.6": (
        V06 + "def @main(%x: Tensor[(1, 1, 3, 3), uint8], %w: Tensor[(1, 1, 2, 2), uint8]) { qnn.conv2d(%x, %w, "
        "input_zero_point=5, kernel_zero_point=3, input_scale=1f, kernel_scale=0.5f, kernel_size=[2, 2], "
        'out_dtype="int32") }',
        "def @main(%x: Tensor[(1, 1, 3, 3), uint8], %w: Tensor[(1, 1, 2, 2), uint8]) { qnn.conv2d(%x, %w, 5, 3, 1f, "
        '0.5f, padding=[0, 0], kernel_size=[2, 2], out_dtype="int32") }',
    ),
    "quantised product of 0.6": (
        V06 + "def @main(%x: Tensor[(1, 4), uint8], %w: Tensor[(2, 4), uint8]) { qnn.dense(%x, %w, units=2, "
        'out_dtype="int32", input_zero_point=5, kernel_zero_point=3, input_scale=1f, kernel_scale=0.5f) }',
        "def @main(%x: Tensor[(1, 4), uint8], %w: Tensor[(2, 4), uint8]) { qnn.dense(%x, %w, 5, 3, 1f, 0.5f, units=2, "
        'out_dtype="int32") }',
    ),
    "quantised sum of 0.6": (
        V06 + "def @main(%x: Tensor[(4), uint8]) { qnn.add(%x, %x, lhs_zero_point=1, lhs_scale=0.5f, rhs_zero_point=2, "
        "rhs_scale=0.25f, output_zero_point=3, output_scale=0.125f) }",
        "def @main(%x: Tensor[(4), uint8]) { qnn.add(%x, %x, 0.5f, 1, 0.25f, 2, 0.125f, 3) }",
    ),
    "quantised concatenation of 0.6": (
        V06 + "def @main(%x: Tensor[(4), uint8]) { %0 = (%x, %x); qnn.concatenate(%0, input_scales=[0.5f, 0.25f], "
        "input_zero_points=[1, 2], output_zero_point=3, output_scale=1f) }",
        "def @main(%x: Tensor[(4), uint8]) { qnn.concatenate((%x, %x), (0.5f, 0.25f), (1, 2), 1f, 3) }",
    ),
    "quantised rectifier of 0.9": (
        V07 + "def @main(%x: Tensor[(4), uint8]) { qnn.leaky_relu(%x, 0.5f, 1, alpha=0.25f) }",
        "def @main(%x: Tensor[(4), uint8]) { qnn.leaky_relu(%x, 0.5f, 1, 0.5f, 1, alpha=0.25f) }",
    ),
    "a device of 0.8": (
        V07 + "def @main(%x: Tensor[(4), float32]) { on_device(%x, device_type=2) }",
        "def @main(%x: Tensor[(4), float32]) { on_device(%x, virtual_device=meta[VirtualDevice][0]) }\n#[metadata]\n"
        '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["VirtualDevice"], "data": [2]}, '
        '{"type_key": "Array", "data": [3]}, {"type_key": "VirtualDevice", "attrs": {"device_type_int": "2", '
        '"virtual_device_id": "0", "target": "0", "memory_scope": "4"}}, {"type_key": "runtime.String"}], '
        '"b64ndarrays": []}',
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_older_calls_in_text(name: str) -> None:
    older, today = TEXTS[name]
    found = parse(older)
    assert structural_equal(found, parse(today))
    infer_type(found)


def test_an_older_operator_may_be_called_twice() -> None:
    text = V07 + "def @main(%x: Tensor[(3), float32], %i: Tensor[(3), int64]) { %0 = scatter(%x, %i, %x, axis=0); "
    found = parse(text + "scatter(%0, %i, %0, axis=0) }")["main"].body
    assert isinstance(found, Call)
    assert found.op == Op("scatter_elements")


def test_what_older_calls_leave_of_mistakes() -> None:
    with pytest.raises(Relay2RelaxError, match=r"operator image\.resize has no attribute `sizes`"):
        parse(V07 + "def @main(%x: Tensor[(1, 1, 2, 2), float32]) { image.resize(%x, sizes=[4, 4]) }")
    with pytest.raises(Relay2RelaxError, match=r"unknown operator `image\.resize`"):
        parse(V07 + "def @main(%x: Tensor[(1, 1, 2, 2), float32]) { image.resize }")
    with pytest.raises(UnsupportedError, match="return_indices"):
        parse(V06 + "fn (%x: Tensor[(1, 5, 6), float32], %n: int32) { vision.non_max_suppression(%x, %n) }")


# --- JSON -----------------------------------------------------------------------------------------


class Document:
    """A document made node by node."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}]
        self.blobs: list[str] = []

    def node(self, type_key: str, **fields: Any) -> int:
        """Append a node of the fields, each a string or the index of a node, and return its
        index.
        """
        known: dict[str, Any] = {
            name: fields.pop(name) for name in ("data", "keys", "global_key", "repr_str") if name in fields
        }
        if type_key == "relay.Constant":
            fields["data"] = known.pop("data")
        node: dict[str, Any] = {"type_key": type_key, **known}
        if fields:
            node["attrs"] = {name: str(value) for name, value in fields.items()}
        self.nodes.append(node)
        return len(self.nodes) - 1

    def array(self, *items: int) -> int:
        return self.node("Array", data=list(items))

    def text(self, root: int) -> str:
        document = {"root": root, "nodes": self.nodes, "b64ndarrays": self.blobs}
        return json.dumps({**document, "attrs": {"tvm_version": self.version}})


EXPR = {"_checked_type_": 0, "span": 0}


class Document06(Document):
    """A document as TVM 0.6 wrote it."""

    def __init__(self) -> None:
        super().__init__("0.6.0")

    def ints(self, *values: int) -> int:
        return self.array(*(self.node("IntImm", dtype="int32", value=value) for value in values))

    def tensor(self, *shape: int, dtype: str = "float32") -> int:
        return self.node("relay.TensorType", dtype=dtype, shape=self.ints(*shape), span=0)

    def var(self, name: str, *shape: int, dtype: str = "float32") -> int:
        ident = self.node("relay.Id", name_hint=name)
        return self.node("relay.Var", vid=ident, type_annotation=self.tensor(*shape, dtype=dtype), **EXPR)

    def call(self, op: str, *args: int, attrs: int = 0) -> int:
        callee = self.node("relay.Op", global_key=op)
        empty = self.array()
        return self.node("relay.Call", op=callee, args=self.array(*args), attrs=attrs, type_args=empty, **EXPR)

    def function(self, params: list[int], body: int) -> int:
        known = {"ret_type": 0, "type_params": self.array(), "attrs": 0}
        return self.node("relay.Function", params=self.array(*params), body=body, **known, **EXPR)

    def body(self, params: list[int], body: int) -> Call:
        found = load_json(self.text(self.function(params, body)))["main"].body
        assert isinstance(found, Call)
        return found


def test_a_module_of_0_6() -> None:
    doc = Document06()
    name = doc.node("Variable", dtype="int32", name="n")
    shape = doc.array(name, doc.node("Any", dtype="int32"), doc.node("UIntImm", dtype="uint32", value=3))
    annotation = doc.node("relay.TensorType", dtype="float32", shape=shape, span=0)
    x = doc.node("relay.Var", vid=doc.node("relay.Id", name_hint="1"), type_annotation=annotation, **EXPR)
    source = doc.node("relay.SourceName", global_key="model")
    span = doc.node("relay.Span", source=source, lineno=3, col_offset=7)
    body = doc.call("nn.relu", x)
    doc.nodes[body]["attrs"]["span"] = str(span)
    variable = doc.node("relay.GlobalVar", name_hint="main", span=0, _checked_type_=0)
    header = doc.node("Variable", dtype="int32", name="List")
    handle = doc.node("relay.GlobalTypeVar", var=header, kind=5, span=0)
    element = doc.node("relay.TypeVar", var=doc.node("Variable", dtype="int32", name="A"), kind=0, span=0)
    inner = doc.node("relay.TypeCall", func=handle, args=doc.array(element), span=0)
    cons = doc.node(
        "relay.Constructor", name_hint="Cons", inputs=doc.array(element, inner), belong_to=handle, tag=0, **EXPR
    )
    nil = doc.node("relay.Constructor", name_hint="Nil", inputs=doc.array(), belong_to=handle, tag=1, **EXPR)
    data = doc.node(
        "relay.TypeData", header=handle, type_vars=doc.array(element), constructors=doc.array(cons, nil), span=0
    )
    root = doc.node(
        "relay.Module",
        functions=doc.node("Map", data=[variable, doc.function([x], body)]),
        type_definitions=doc.node("Map", data=[handle, data]),
        global_var_map_=doc.node("StrMap", keys=["main"], data=[variable]),
        global_type_var_map_=doc.node("StrMap", keys=["List"], data=[handle]),
    )
    mod = load_json(doc.text(root))
    main = mod["main"]
    assert main.params[0].name == "1"
    shape_found = main.params[0].type_annotation.shape  # type: ignore[union-attr]
    assert [str(getattr(one, "name", one)) for one in shape_found][:1] == ["n"]
    assert (shape_found[2].value, shape_found[2].dtype) == (3, "uint32")
    span_found = present(of_type(main.body, Call).span)
    assert str(span_found) == "model:3:7"
    assert span_found.end_line == 3
    ((found, definition),) = mod.type_definitions.items()
    assert found.name == "List"
    assert [one.name for one in definition.type_vars] == ["A"]
    assert [one.name for one in definition.constructors] == ["Cons", "Nil"]
    assert structural_equal(mod, load_json(save_json(mod)))


def test_constants_of_0_6() -> None:
    doc = Document06()
    head = struct.pack("<QQiii", 0xDD5E40F096B4A13F, 0, 1, 0, 1)
    doc.blobs.append(base64.b64encode(head + struct.pack("<BBHqq2f", 2, 32, 1, 2, 8, 1, 2)).decode())
    doc.blobs.append(
        base64.b64encode(head + struct.pack("<BBHqq", 1, 1, 1, 2, 0)).decode()
    )  # bool: 0.6 wrote no elements
    x = doc.var("x", 2)
    body = doc.call("add", x, doc.node("relay.Constant", data=0, **EXPR))
    constant = of_type(doc.body([x], body).args[1], Constant)
    np.testing.assert_array_equal(constant.data, np.array([1, 2], "float32"))
    body = doc.call("logical_not", doc.node("relay.Constant", data=1, **EXPR))
    constant = of_type(doc.body([x], body).args[0], Constant)
    np.testing.assert_array_equal(constant.data, [False, False])


def test_attributes_of_functions_in_0_6() -> None:
    doc = Document06()
    x = doc.var("x", 2)
    function = doc.function([x], x)
    flag = doc.node("IntImm", dtype="int32", value=1)
    text = doc.node("StringImm", dtype="handle", value="ccompiler")
    table = doc.node("StrMap", keys=["Primitive", "Compiler"], data=[flag, text])
    doc.nodes[function]["attrs"]["attrs"] = str(doc.node("DictAttrs", __dict__=table))
    attrs = load_json(doc.text(function))["main"].attrs
    assert attrs["Primitive"] == 1
    assert getattr(attrs["Compiler"], "value", None) == "ccompiler"


# operator, type key, fields (a tuple: an array of integers, nested), expected text of the call's
# end
CALLS_06: list[tuple[str, int, str, dict[str, Any], str]] = [
    ("nn.pad", 1, "Pad", {"pad_value": "1.500000", "pad_width": ((1, 1),), "pad_mode": "constant"},
     "nn.pad(%x, 1.5f, pad_width=[[1, 1]])"),
    ("topk", 1, "Topk", {"k": 3, "axis": -1, "is_ascend": 0, "ret_type": "values", "dtype": "int32"},
     'topk(%x, k=3, ret_type="values", dtype="int32")'),
    ("image.resize", 1, "Resize", {"size": (4, 4), "layout": "NCHW", "method": "bilinear", "align_corners": 1,
     "out_dtype": ""},
     'image.resize2d(%x, size=[4, 4], coordinate_transformation_mode="align_corners")'),
    ("strided_slice", 1, "StridedSlice", {"begin": (0,), "end": (2,), "strides": ()},
     "strided_slice(%x, begin=[0], end=[2], strides=[], axes=None)"),
    ("reshape", 1, "Reshape", {"newshape": (2, 1), "reverse": 0}, "reshape(%x, newshape=[2, 1])"),
    ("argwhere", 1, "ArgWhere", {}, "argwhere(%x)"),
    ("nn.batch_matmul", 2, "", {}, "nn.batch_matmul(%x, %x, transpose_b=True)"),
    ("nn.conv2d_transpose", 2, "Conv2DTranspose", {"channels": 0, "kernel_size": (3, 3), "strides": (1, 1),
     "padding": (0, 0), "output_padding": (0, 0), "dilation": (1, 1), "groups": 1, "data_layout": "NCHW",
     "kernel_layout": "OIHW", "out_layout": "", "out_dtype": ""},
     "nn.conv2d_transpose(%x, %x, kernel_size=[3, 3])"),
    ("nn.conv2d", 2, "Conv2D", {"strides": (2, 2), "padding": (1, 1), "dilation": (1, 1), "groups": 1, "channels": 0,
     "kernel_size": (3, 3), "data_layout": "NHWC", "kernel_layout": "HWIO", "out_layout": "", "out_dtype": "float32"},
     'nn.conv2d(%x, %x, strides=[2, 2], padding=[1, 1], kernel_size=[3, 3], data_layout="NHWC", '
     'kernel_layout="HWIO", out_dtype="float32")'),
    ("qnn.quantize", 1, "Quantize", {"out_dtype": "int8", "output_zero_point": 3, "output_scale": "0.500000"},
     'qnn.quantize(%x, 0.5f, 3, out_dtype="int8")'),
    ("qnn.dense", 2, "QnnDense", {"units": 2, "out_dtype": "int32", "input_zero_point": 1, "kernel_zero_point": 2,
     "input_scale": "0.500000", "kernel_scale": "0.250000"},
     'qnn.dense(%x, %x, 1, 2, 0.5f, 0.25f, units=2, out_dtype="int32")'),
    ("nn.contrib_conv2d_winograd_weight_transform", 1, "Conv2DWinogradWeightTransform", {"tile_size": 4},
     "nn.contrib_conv2d_winograd_weight_transform(%x, tile_size=4)"),
    ("on_device", 1, "OnDevice", {"device_type": 2}, "on_device(%x, virtual_device=VirtualDevice(device_type=2, "
     "virtual_device_id=0))"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "key", "fields", "shown"), CALLS_06, ids=[row[0] for row in CALLS_06])
def test_calls_in_json_of_0_6(op: str, inputs: int, key: str, fields: dict[str, Any], shown: str) -> None:
    doc = Document06()

    def value(item: Any) -> Any:
        if isinstance(item, tuple):
            return doc.array(*(value(one) if isinstance(one, tuple) else doc.ints(one) - 1 for one in item))
        return item

    x = doc.var("x", 2)
    given = {name: value(item) for name, item in fields.items()}
    if "units" in given:
        given["units"] = doc.ints(given["units"]) - 1
    attrs = doc.node(f"relay.attrs.{key}Attrs", **given) if key else 0
    mod = load_json(doc.text(doc.function([x], doc.call(op, *[x] * inputs, attrs=attrs))))
    assert str(mod).split("\n")[1].strip() == shown
    assert structural_equal(mod, load_json(save_json(mod)))


def test_json_of_0_8_and_0_9() -> None:
    """Devices changed their name; a field that later versions added is what it is by default."""
    doc = Document("0.8.0")
    scope = doc.node("runtime.String")
    device = doc.node("SEScope", device_type_int=1, virtual_device_id=0, target=0, memory_scope=scope)
    name = doc.node("runtime.String", repr_str="x")
    x = doc.node("relay.Var", vid=doc.node("relay.Id", name_hint=name), type_annotation=0, **EXPR)
    attrs = doc.node("relay.attrs.DeviceCopyAttrs", src_dev_type=1, dst_dev_type=2)
    args = doc.array(x)
    empty = doc.array()
    call = doc.node(
        "relay.Call", op=doc.node("Op", repr_str="device_copy"), args=args, attrs=attrs, type_args=empty, **EXPR
    )
    known = {"ret_type": 0, "type_params": empty, "attrs": 0}
    function = doc.node("relay.Function", params=doc.array(x), body=call, **known, **EXPR)
    body = load_json(doc.text(function))["main"].body
    assert isinstance(body, Call)
    assert body.op == Op("device_copy")
    assert (body.attrs.src_virtual_device, body.attrs.dst_virtual_device) == (VirtualDevice(1, 0), VirtualDevice(2, 0))
    assert device


def test_scalars_given_to_older_operators_are_constants() -> None:
    call = parse(TEXTS["quantisation of 0.6"][0])["main"].body
    assert isinstance(call, Call)
    scale, zero = call.args[1:]
    assert isinstance(scale, Constant)
    assert isinstance(zero, Constant)
    assert scale.data.dtype == np.float32
    assert zero.data.dtype == np.int32
