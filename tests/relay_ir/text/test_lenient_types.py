"""Calls that TVM's inference lets pass: they have TVM's types, and are refused when they are to be
computed.
"""

from __future__ import annotations

import numpy as np
import pytest
from typed import of_type, present

from relay2relax import backends, relay_ir, translator
from relay2relax.core import Relay2RelaxError
from relay2relax.ops.registry.attributes import BoxInt
from relay2relax.ops.tensor.joining import SplitAttrs
from relay2relax.tir.extent import static

# The program, the type that TVM 0.18 gives it, and what is said when it is to run.
CASES = {
    "window of no elements": (
        "%x: Tensor[(1, 1, 4, 4), float32]",
        "nn.max_pool2d(%x, pool_size=[0, 1], padding=[0, 0, 0, 0])",
        "Tensor[(1, 1, 5, 4), float32]",
        r"pool_size is \[0, 1\], expected at least 1",
    ),
    "dilation 0": (
        "%x: Tensor[(1, 1, 4, 4), float32], %y: Tensor[(1, 1, 2, 2), float32]",
        "nn.conv2d(%x, %y, padding=[0, 0, 0, 0], dilation=[1, 0])",
        "Tensor[(1, 1, 3, 4), float32]",
        r"dilation is \[1, 0\], expected at least 1",
    ),
    "number of windows": (
        "%x: Tensor[(1, 1, 4, 4), float32]",
        "nn.adaptive_avg_pool2d(%x, output_size=[0, 2])",
        "Tensor[(1, 1, 0, 2), float32]",
        "output_size is .*, expected at least 1",
    ),
    "broadcast": (
        "%x: Tensor[(0, 3), float32]",
        "broadcast_to(%x, shape=[2, 3])",
        "Tensor[(2, 3), float32]",
        "broadcast",
    ),
    "tuple": (
        "%x: Tensor[(2), float32]",
        "nn.relu((%x, %x))",
        "(Tensor[(2), float32], Tensor[(2), float32])",
        "tensor",
    ),
    "axis": (
        "%x: Tensor[(2), float32]",
        "nn.l2_normalize(%x, eps=0.1f, axis=[7])",
        "Tensor[(2), float32]",
        "axis 7 is outside",
    ),
    "axis after the last": (
        "%x: Tensor[(2), float32], %y: Tensor[(3), int32]",
        "take(%x, %y, axis=1)",
        "Tensor[(2, 3), float32]",
        "axis 1 is outside",
    ),
    "stack": (
        "%x: Tensor[(5), float32], %y: Tensor[(2), float32]",
        "stack((%x, %y))",
        "Tensor[(2, 5), float32]",
        "shape",
    ),
    "targets": (
        "%x: Tensor[(1, 5), float32], %y: Tensor[(10), int32], %z: Tensor[(5), float32]",
        "nn.nll_loss(%x, %y, %z, ignore_index=-100)",
        "float32",
        "targets has shape (10), expected (1)",
    ),
    "axis to sort": (
        "%x: Tensor[(5), float32]",
        'argsort(%x, axis=3, dtype="int32")',
        "Tensor[(5), int32]",
        "axis 3 is outside",
    ),
    "axis to scatter along": (
        "%x: Tensor[(5), float32], %y: Tensor[(2), int32], %z: Tensor[(2), float32]",
        'scatter_elements(%x, %y, %z, axis=4, reduction="update")',
        "Tensor[(5), float32]",
        "axis 4 is outside",
    ),
    "scale": (
        "%x: Tensor[(1, 1, 4, 4), float32]",
        'nn.upsampling(%x, scale_h=0f, scale_w=2f, layout="NCHW", method="bilinear", align_corners=False)',
        "Tensor[(1, 1, 0, 8), float32]",
        "expected a positive number",
    ),
    "mode of padding": (
        "%x: Tensor[(3), float32], %y: Tensor[(2), float32]",
        'nn.pad(%x, %y, pad_mode="odd", pad_width=[[1, 1]])',
        "Tensor[(5), float32]",
        "",
    ),
    "axis to sum along": (
        "%x: Tensor[(3), float32]",
        "cumsum(%x, axis=9)",
        "Tensor[(3), float32]",
        "axis 9 is outside",
    ),
    "triangle of a vector": (
        "%x: Tensor[(3), float32], %y: int32",
        "trilu(%x, %y)",
        "Tensor[(3), float32]",
        "matrices has 1 dimensions, expected at least 2",
    ),
    "diagonals": (
        "%x: Tensor[(3, 3), float32], %y: Tensor[(7), float32]",
        "matrix_set_diag(%x, %y)",
        "Tensor[(3, 3), float32]",
        "diagonals has shape",
    ),
}
DTYPES = {"float32": np.float32, "int32": np.int32}


def module(params: str, body: str) -> relay_ir.IRModule:
    return relay_ir.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{\n  {body}\n}}\n')


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_typed_as_by_tvm_and_refused_when_run(case: tuple[str, str, str, str]) -> None:
    params, body, expected, message = case
    mod = relay_ir.infer_type(module(params, body))
    assert f"-> {expected} {{" in mod.astext(show_meta_data=False)
    types = [of_type(param.type_annotation, relay_ir.TensorType) for param in mod["main"].params]
    shapes = [([present(static(e)) for e in type_.shape], type_.dtype) for type_ in types]
    arrays = [np.ones(shape, DTYPES[dtype]) for shape, dtype in shapes]
    for kind in ("debug", "graph", "vm"):
        with pytest.raises(Relay2RelaxError, match=r"(?s).*" + message.replace("(", r"\(").replace(")", r"\)")):
            backends.create_executor(kind, mod).evaluate("main")(*arrays)
    for translate in (translator.lower_to_tir, translator.via_graph):
        with pytest.raises(Relay2RelaxError):
            backends.build(translate(mod), target="numpy")


def test_a_declared_result_must_be_what_the_data_broadcasts_to() -> None:
    mod = relay_ir.parse(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(0, 3), float32]) -> Tensor[(2, 3), float32] {\n  broadcast_to(%x, shape=[2, 3])\n}\n"
    )
    with pytest.raises(relay_ir.TypeInferenceError, match="broadcast"):
        relay_ir.infer_type(mod)


def test_what_is_learnt_of_an_element_wise_result_is_learnt_of_its_argument() -> None:
    mod = relay_ir.infer_type(
        module("%x, %w: Tensor[(3), float32]", "fn (%y: Tensor[(3), float32]) { %y }(nn.relu(%x))")
    )
    assert "%x: Tensor[(3), float32]" in mod.astext(show_meta_data=False)


def test_symbolic_extents_are_written_as_tvm_writes_them() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(meta[tir.SizeVar][0], 4), float32]) {
  BODY
}

#[metadata]
{
  "root": 1,
  "nodes": [
    {"type_key": ""},
    {"type_key": "Map", "keys": ["tir.SizeVar"], "data": [2]},
    {"type_key": "Array", "data": [3]},
    {"type_key": "tir.SizeVar", "attrs": {"dtype": "int32", "name": "4", "span": "0", "type_annotation": "5"}},
    {"type_key": "runtime.String", "repr_str": "n"},
    {"type_key": "PrimType", "attrs": {"dtype": "int32"}}
  ],
  "b64ndarrays": [],
  "attrs": {"tvm_version": "0.18.0"}
}
"""
    written = {
        "concatenate((%x, %x))": "Tensor[(meta[tir.Add][0], 4), float32]",
        "nn.pad(%x, 0f, pad_width=[[-1, -1], [0, 0]])": "Tensor[(meta[tir.Add][0], 4), float32]",
        "tile(%x, reps=[2, 1])": "Tensor[(?, 4), float32]",
    }
    for body, expected in written.items():
        found = relay_ir.infer_type(relay_ir.parse(text.replace("BODY", body))).astext(show_meta_data=False)
        assert f"-> {expected} {{" in found


def test_relay_splits_into_equal_parts_only() -> None:
    x = relay_ir.var("x", shape=(7,), dtype="float32")
    body = relay_ir.Call(relay_ir.Op("split"), (x,), SplitAttrs(BoxInt(3), 0))
    with pytest.raises(relay_ir.TypeInferenceError, match="7 cannot be split into 3 equal parts"):
        relay_ir.infer_type(relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function((x,), body)}))


@pytest.mark.parametrize(
    ("params", "body", "message"),
    [
        ("%x: Tensor[(1, ?), float32]", "squeeze(%x)", "have to be listed"),
        (
            "%x: Tensor[(3), float32], %y: Tensor[(2), float32]",
            "take(%x, %y, axis=0)",
            "places has dtype float32, expected integers",
        ),
        (
            "%x: Tensor[(3, 4), float32], %y: Tensor[(4), uint8]",
            "reverse_sequence(%x, %y, seq_axis=0, batch_axis=1)",
            "lengths has dtype uint8, expected signed integers",
        ),
        (
            "%x: Tensor[(3, 4), float32], %y: Tensor[(3), float32]",
            "nn.batch_norm(%x, %y, %y, %y, %y, axis=-2)",
            "expected -1, or counted from the front",
        ),
    ],
)
def test_what_tvm_refuses(params: str, body: str, message: str) -> None:
    with pytest.raises(relay_ir.TypeInferenceError, match=message):
        relay_ir.infer_type(module(params, body))


def test_an_axis_may_be_squeezed_twice() -> None:
    mod = relay_ir.infer_type(module("%x: Tensor[(1, 4), float32]", "squeeze(%x, axis=[0, -2])"))
    assert "-> Tensor[(4), float32] {" in mod.astext(show_meta_data=False)
