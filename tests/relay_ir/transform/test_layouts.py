"""ConvertLayout, AlterOpLayout and Legalize against TVM's, and by numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from passes_swept.recorded import failures

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.ops.registry.record import OpError
from relay2relax.ops.registry.table import relay_op
from relay2relax.ops.registry.types import Type
from relay2relax.relay_ir import Call, Expr, IRModule, Op, const, op, transform
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.relay_ir.transform import AlterOpLayout, ConvertLayout, LayoutConfig, Legalize, QnnLegalize, TempOpAttr

# What TVM's tests asked for, and in which recorded cases.
DESIRED: Sequence[tuple[Mapping[str, Sequence[str]], str]] = (
    (
        {"nn.conv2d": ["NCHW", "default"]},
        """
        096672a496ad 2f4ff292848d 374df593ed24 3898b53541da 3a9c9dd0896b 3cdcda0fef87 4d657a83c3af 717bcefbbcdb
        7b4ab9170dcd 8d92ce16eeb6 9321f0360530 9795185a6320 9af3e41857e4 9d31562936fe ab44cc74c770 acaa6f04f32e
        be1a4498d8f5 ca6073de5a3a cd8cf7bf3b85 e217220f8826 eba5cb85ca88
    """,
    ),
    (
        {"nn.deformable_conv2d": ["NCHW", "default"]},
        """
        0bac1c3e6cbe
    """,
    ),
    (
        {"image.resize2d": ["NCHW"]},
        """
        11700e837560
    """,
    ),
    (
        {"nn.conv2d": ["NCHW4c", "OIHW4o"]},
        """
        321ad349924c
    """,
    ),
    (
        {"nn.deformable_conv2d": ["NHWC", "default"]},
        """
        34ead5f0171a
    """,
    ),
    (
        {"nn.conv2d": ["NHWC", "OHWI"], "nn.max_pool2d": ["NHWC"]},
        """
        39abe54f6d10
    """,
    ),
    (
        {"qnn.conv2d": ["NCHW", "default"]},
        """
        3e9e009852b9 b6c512d8f223
    """,
    ),
    (
        {"nn.conv2d": ["NHWC", "default"]},
        """
        40b0afeeea04 7ad56fe0bee2 9c7e133315d4 a376316108fd ab1c878164eb ea83b71a9a48
    """,
    ),
    (
        {"nn.conv2d": ["NHWC", "HWIO"], "vision.roi_pool": ["NHWC", "default"]},
        """
        5252e56bb078
    """,
    ),
    (
        {"nn.conv2d": ["NHWC", "HWIO"], "qnn.conv2d": ["NCHW", "OIHW"], "nn.conv2d_transpose": ["NHWC", "HWIO"]},
        """
        6152fa27ddef
    """,
    ),
    (
        {},
        """
        62684e47b9b9
    """,
    ),
    (
        {"nn.conv2d": ["HWNC", "default"]},
        """
        a934b020eef9
    """,
    ),
    (
        {"qnn.conv2d": ["NCHW", "default"], "qnn.avg_pool2d": ["NCHW"]},
        """
        b29c068d133e
    """,
    ),
    (
        {"qnn.conv2d": ["NHWC", "default"]},
        """
        b94235d557e7
    """,
    ),
    (
        {"nn.conv2d": ["NCHW1c", "OIHW1i1o"]},
        """
        cd906e99b7b2
    """,
    ),
    (
        {"nn.conv2d": ["NHWC", "HWIO"], "vision.roi_align": ["NHWC", "default"]},
        """
        cde26bcfe0c4
    """,
    ),
    (
        {"image.resize2d": ["NHWC"]},
        """
        f0ec49f5b0e7
    """,
    ),
    (
        {"nn.conv2d": ["NHWC", "OHWI"]},
        """
        f701f5c8b31b
    """,
    ),
)
# TVM's test ran CanonicalizeOps before, as a Sequential does.
CANONICAL = frozenset({"0bac1c3e6cbe", "34ead5f0171a"})
# The test left the first convolution as it was.
SKIPPED = "a934b020eef9"


def desired(case: Mapping[str, Any]) -> Callable[[IRModule], IRModule]:
    layouts = next(layouts for layouts, cases in DESIRED if case["id"] in cases.split())

    def convert(mod: IRModule) -> IRModule:
        if case["id"] in CANONICAL:
            mod = transform.CanonicalizeOps()(mod)
        with LayoutConfig(skip_layers=[0] if case["id"] == SKIPPED else []):
            return ConvertLayout(layouts)(mod)

    return convert


def test_programs_in_other_layouts_are_those_of_tvm(recorded: Any) -> None:
    cases = [case for case in recorded("passes") if case["passes"] == ["ConvertLayout"]]
    assert failures(cases, desired) == []
    assert len(cases) == 44


# In which layouts the functions of TVM's tests wanted convolutions, where that was not NCHW16c data
# with the kernel as it was.
WANTED = {
    "test_alter_layout": {"data_layout": "NCHW16c", "kernel_layout": "OIHW16i"},
    "test_alter_layout_lrn": {"data_layout": "NCHW16c", "kernel_layout": "OIHW16i"},
    "test_alter_layout_multi": {"data_layout": "NCHW16c", "kernel_layout": "OHWI16i64o2i"},
    "test_alter_layout_nonscalar_broadcast": {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o"},
    "test_alter_layout_blocked_broadcast": {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o"},
    "test_broadcast_non_adaptable": {"data_layout": "NCHW", "kernel_layout": "OIHW"},
    "test_conv2d_strided_slice_arbitrary_stride": {"data_layout": "NCHW3c"},
    "test_conv2d_strided_slice_packed_to_unpacked": {"data_layout": "NCHW", "kernel_layout": "OIHW"},
    "test_not_inplace_modify": {"data_layout": "NCHW16c", "kernel_layout": "OIHW16i"},
}
# The functions of these returned None.
NOTHING = ("test_alter_return_none", "test_alter_layout_nhwc_arm")
# In these dense layers take weights in blocks of 16 units, as x86 wants them.
PACKED = ("test_alter_op_dense", "test_alter_op_dense_packed_data")


def altered(case: Mapping[str, Any]) -> Callable[[IRModule], IRModule]:
    name = case["origin"].split("::")[1]

    def alter(attrs: Any, args: Sequence[Expr], types: Sequence[Type], result: Type) -> Expr | None:
        if name in NOTHING:
            return None
        if name == "test_alter_op":
            return Call(Op("nn.conv2d"), (args[0], op.multiply(args[1], const(2.0))), attrs)
        if name in PACKED:
            layouts = {"data_layout": "NCHW8c", "kernel_layout": "OIHW8i8o", "out_layout": "NCHW8c"}
            return Call(Op("nn.contrib_conv2d_NCHWc"), tuple(args), replace(attrs, **layouts))
        layouts = WANTED.get(name, {"data_layout": "NCHW16c"})
        return Call(Op("nn.conv2d"), tuple(args), replace(attrs, **layouts))

    def packed(attrs: Any, args: Sequence[Expr], types: Sequence[Type], result: Type) -> Expr | None:
        record = relay_op("nn.contrib_dense_pack")
        if name not in PACKED or record is None:
            return None
        return Call(Op(record.name), tuple(args), record.attrs(None, "float32", "NC16n"))

    def run(mod: IRModule) -> IRModule:
        if "CanonicalizeOps" in case["passes"]:
            mod = relay_ir.infer_type(transform.CanonicalizeOps()(mod))
        with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter), TempOpAttr("nn.dense", "FTVMAlterOpLayout", packed):
            return AlterOpLayout()(mod)

    return run


def test_altered_programs_are_those_of_tvm(recorded: Any) -> None:
    cases = [case for case in recorded("passes") if "AlterOpLayout" in case["passes"]]
    assert failures(cases, altered) == []
    assert len(cases) == 26


def names(mod: IRModule) -> list[str]:
    return [node.op.name for node in nodes(mod["main"]) if isinstance(node, Call) and isinstance(node.op, Op)]


def network() -> IRModule:
    """Convolutions with all that usually stands between them."""
    x, w = relay_ir.var("x", shape=(1, 4, 8, 8)), relay_ir.var("w", shape=(8, 4, 3, 3))
    v, b = relay_ir.var("v", shape=(8, 1, 3, 3)), relay_ir.var("b", shape=(8, 1, 1))
    value = op.nn.relu(op.nn.conv2d(x, w, padding=1, channels=8, kernel_size=(3, 3)) + b)
    value = op.nn.max_pool2d(value, (2, 2), (2, 2))
    deep = op.nn.conv2d(value, v, padding=1, channels=8, kernel_size=(3, 3), groups=8)
    value = op.concatenate([deep, value], axis=1)
    left, right = op.split(value, 2, axis=1)
    value = op.strided_slice(left * right, [0, 0, 1, 0], [1, 8, 4, 4])
    value = op.nn.pad(value, [[0, 0], [0, 0], [1, 0], [0, 2]])
    value = op.squeeze(op.mean(value, axis=[2], keepdims=True), axis=[2])
    return relay_ir.infer_type(IRModule.from_expr(op.nn.batch_flatten(value)))


def outputs(*mods: IRModule) -> list[Any]:
    draw = np.random.default_rng(0)
    shapes = {"x": (1, 4, 8, 8), "w": (8, 4, 3, 3), "v": (8, 1, 3, 3), "b": (8, 1, 1)}
    args = [draw.standard_normal(shapes[param.name]).astype(np.float32) for param in mods[0]["main"].params]
    return [np.asarray(create_executor("debug", mod).evaluate()(*args)) for mod in mods]


@pytest.mark.parametrize("layouts", [["NHWC", "default"], ["NHWC", "OHWI"]])
def test_layouts_change_no_numbers(layouts: list[str]) -> None:
    before = network()
    after = relay_ir.infer_type(ConvertLayout({"nn.conv2d": layouts})(before))
    expected, result = outputs(before, after)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_data_are_moved_only_at_the_ends() -> None:
    after = relay_ir.infer_type(ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(network()))
    # The input, two kernels, what is added, and the result.
    assert names(after).count("layout_transform") == 5


def test_a_layout_that_an_operator_cannot_have_is_refused() -> None:
    with pytest.raises(OpError, match="CHWN"):
        ConvertLayout({"nn.conv2d": ["CHWN", "default"]})(network())


def test_users_alter_calls() -> None:
    """As TVM's test_alter_layout: a packed convolution, and what is around it follows."""

    def packed(attrs: Any, args: Sequence[Expr], types: Sequence[Type], result: Type) -> Expr | None:
        if attrs.groups > 1:
            return None
        made: Expr = op.nn.conv2d(
            *args, padding=1, channels=8, kernel_size=(3, 3), data_layout="NCHW4c", kernel_layout="OIHW4i4o"
        )
        return made

    before = network()
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", packed):
        after = relay_ir.infer_type(AlterOpLayout()(before))
    assert names(after).count("layout_transform") > 0
    expected, result = outputs(before, after)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_users_replace_calls() -> None:
    """As TVM's test_legalize: a function is asked once for each call that the program had."""
    asked = []

    def legal(attrs: Any, args: Sequence[Expr], types: Sequence[Type]) -> Expr | None:
        asked.append(len(types))
        made: Expr = op.nn.relu(op.add(args[0], const(1.0)))
        return made

    before = network()
    with TempOpAttr("nn.relu", "FTVMLegalize", legal):
        after = Legalize()(before)
    assert asked == [2]
    assert names(after).count("add") == names(before).count("add") + 1
    assert Legalize()(before) is before
    with TempOpAttr("nn.relu", "mine", lambda attrs, args, types: None):
        assert Legalize("mine")(before) is before


def padded_channels(attrs: Any, args: Sequence[Expr], types: Sequence[Type]) -> Expr:
    """As TVM for int8 images on ARM: channels in eights."""
    data, kernel = args
    kernel = op.nn.pad(kernel, pad_width=[[0, 0], [0, 0], [0, 5], [0, 0]])
    data = op.nn.pad(data, pad_width=[[0, 0], [0, 0], [0, 0], [0, 5]])
    kernel = op.nn.pad(kernel, pad_width=[[0, 0], [0, 0], [0, 0], [0, 4]])
    wide = Call(Op("nn.conv2d"), (data, kernel), replace(attrs, channels=8))
    made: Expr = op.strided_slice(wide, [0, 0, 0, 0], [1, 1, 1, 4])
    return made


# TVM pads data with the integer 0, which stands for another number than 0: the results differ.
PADS_OTHERWISE = "0c07a638e11d"


def legalized(case: Mapping[str, Any]) -> Callable[[IRModule], IRModule]:
    name = case["origin"].split("::")[1]
    if name.startswith("test_conv2d_NHWC_legalize"):

        def run(mod: IRModule) -> IRModule:
            with TempOpAttr("nn.conv2d", "FTVMLegalize", padded_channels):
                return Legalize()(mod)

        return run
    return QnnLegalize("hexagon" if "non_scalar" in name else "llvm -mcpu=cascadelake")


def test_legal_programs_are_those_of_tvm(recorded: Any) -> None:
    tests = ("test_conv2d_NHWC_legalize", "test_qnn_legalize_qnn")
    cases = [case for case in recorded("passes") if case["origin"].split("::")[1].startswith(tests)]
    legal = [case for case in cases if case["passes"] == ["Legalize"]]
    same = [case for case in legal if case["id"] != PADS_OTHERWISE]
    assert failures(same, legalized) == []
    assert (len(same), len(legal)) == (6, 7)


def test_what_nobody_legalizes_stays(recorded: Any) -> None:
    # TVM's tests registered functions that return None, or nothing for these operators.
    names = ("test_legalize_none", "test_legalize_multi_input", "test_check_grad")
    cases = [case for case in recorded("passes") if case["passes"] == ["Legalize"] and case["origin"].endswith(names)]
    assert len(cases) == 3
    with TempOpAttr("concatenate", "FTVMLegalize", lambda attrs, args, types: None):
        assert failures(cases, lambda case: Legalize()) == []
