"""Passes that mark what external compilers get, against what TVM made of the same modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from passes_swept.recorded import failures
from typed import of_type

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import Call, Expr, Function, IRModule, Op, TensorType, Type, op
from relay2relax.relay_ir.dataflow_pattern import DFPattern, is_op, is_tuple, is_tuple_get_item, wildcard
from relay2relax.relay_ir.ir.expr import children
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform import (
    AnnotateTarget,
    FunctionPass,
    MergeCompilerRegions,
    MergeComposite,
    PartitionGraph,
    Sequential,
)
from relay2relax.relay_ir.transform.partition.annotations import BEGIN, END, annotated, annotation

Types = Mapping[Expr, Type]


def sum_times_difference() -> DFPattern:
    x, y = wildcard(), wildcard()
    return (x + y) * (x - y)


def biased() -> DFPattern:
    return is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard())


def thrice() -> DFPattern:
    x, y = wildcard(), wildcard()
    once = is_op("add")(x, y)
    return is_op("add")(is_op("add")(x, once), once)


def clipped() -> DFPattern:
    conv = is_op("nn.relu")(biased())
    return is_op("multiply")(conv, is_op("clip")(conv, wildcard(), wildcard()))


def einsum() -> DFPattern:
    x, y = wildcard(), wildcard()
    made = is_op("einsum")(is_tuple([is_op("reshape")(x) | x, is_op("reshape")(y) | y]))
    return is_op("reshape")(made) | made


def in_nchw(node: Expr, types: Types) -> bool:
    bias = of_type(of_type(node, Call).args[0], Call)
    return bool(of_type(bias.args[0], Call).attrs.data_layout == "NCHW")


def of_batch(extent: int) -> Callable[[Expr, Types], bool]:
    """Return a check whether the convolution's data have so many rows."""

    def check(node: Expr, types: Types) -> bool:
        bias = of_type(of_type(node, Call).args[0], Call)
        data = of_type(bias.args[0], Call).args[0]
        return bool(of_type(types[data], TensorType).shape[0] == extent)

    return check


SUM_AND_RELU = is_op("nn.relu")(wildcard() + wildcard())
NORMALISED = is_op("nn.batch_norm")(*(wildcard() for _ in range(5)))
# What each of TVM's tests asked for.
TABLES: Mapping[str, Any] = {
    "test_simple_merge": [("add_relu", SUM_AND_RELU)],
    "test_branch_merge": [("add_sub_mul", sum_times_difference())],
    "test_reuse_call_merge": [("add_add_add", thrice())],
    "test_multiple_patterns": [("conv2d_bias_relu", is_op("nn.relu")(biased())), ("add_relu", SUM_AND_RELU)],
    "test_optional_pattern": [("layer", biased().optional(lambda x: is_op("nn.relu")(x)))],
    "test_merge_order": [
        ("A", is_op("nn.relu")(is_op("abs")(wildcard() + wildcard()))),
        ("B", is_op("abs")(wildcard() + wildcard())),
        ("C", is_op("nn.relu")(is_op("abs")(wildcard()))),
    ],
    "test_parallel_merge": [("add_sub_mul", sum_times_difference())],
    "test_multiple_input_subgraphs": [("add_sub_mul", sum_times_difference()), ("add_relu", SUM_AND_RELU)],
    "test_tuple_get_item_merge": [("bn_relu", is_op("nn.relu")(is_tuple_get_item(NORMALISED, 0)))],
    "test_pattern_with_check": [("conv_bias_relu", is_op("nn.relu")(biased()), in_nchw)],
    "test_diamond_not_merge": [("pat", clipped())],
    "test_type_check": [("add_relu", SUM_AND_RELU), ("conv_bias_relu", is_op("nn.relu")(biased()), of_batch(2))],
    "test_einsum_reshape_pattern": [("einsum_reshape", einsum())],
}


def test_composites_are_those_of_tvm(recorded: Any) -> None:
    cases = [case for case in recorded("passes") if case["passes"] == ["MergeComposite"]]
    assert failures(cases, lambda case: MergeComposite(TABLES[name_of(case)])) == []
    assert len(cases) == 13


def name_of(case: Mapping[str, Any]) -> str:
    return str(case["origin"].split("::")[1])


def in_float32(node: Call, types: Types) -> bool:
    return of_type(types[node.args[0]], TensorType).dtype == "float32"


# What the targets of TVM's tests support; the second run of a test adds a target to the first.
SUPPORTED: Mapping[str, Any] = {
    "test_composite_function": {"test": []},
    "test_double_target": {"double.A": ["nn.relu"]},
    "test_ends_with_tuple": {"clip": ["clip"]},
    "test_free_vars_zeros": {"test_free_vars_zeros": []},
    "test_ref_create_read_write": {"relu": ["nn.relu"]},
    "test_tuple": {"test_tuple": ["nn.relu", "concatenate"]},
    "test_extern_dnnl": {"dnnl": ["nn.conv2d", "add"]},
    "test_type_propagation": {"test_type_propagation": {"nn.relu": in_float32}},
    "test_if_else": {"test_if_else_merge": ["sigmoid", "erf", "add"]},
}
FIRST, SECOND = {"A": ["nn.relu"]}, {"B": ["add"]}
SUPPORTED_IN: Mapping[str, Any] = {
    "4d274d24237e": FIRST,
    "4ac52239952f": SECOND,
    "e00b6bbd1b83": {"different.A": ["nn.relu"]},
    "6dc7d7124a57": {"different.B": ["add"]},
}
# Tests whose recorded run annotated calls only.
CALLS_ONLY = frozenset({"49a22ed8774f", "ed4e3bbc1572", "d79c9e11c6f6"})


def annotate(case: Mapping[str, Any]) -> AnnotateTarget:
    targets = SUPPORTED_IN.get(case["id"]) or SUPPORTED[name_of(case)]
    return AnnotateTarget(targets, case["id"] not in CALLS_ONLY)


def test_annotations_are_those_of_tvm(recorded: Any) -> None:
    cases = [case for case in recorded("passes") if case["passes"] == ["AnnotateTargetFunc"]]
    assert failures(cases, annotate) == []
    assert len(cases) == 13


# The operators that the targets of TVM's tests of partitioning support.
PARTITIONED: Mapping[str, Sequence[str]] = {
    "test_duplicate_outputs": ["abs"],
    "test_flatten_tuple_output": ["split", "abs"],
    "test_constant_tuples": ["qnn.concatenate"],
}
TARGET_OF = {"test_constant_tuples": "const_tuples"}


def test_partitions_are_those_of_tvm(recorded: Any) -> None:
    """Annotated, merged and partitioned, one after the other."""

    def partition(case: Mapping[str, Any]) -> Sequential[IRModule]:
        name = name_of(case)
        annotated_for = AnnotateTarget({TARGET_OF.get(name, name): PARTITIONED[name]})
        return Sequential([annotated_for, MergeCompilerRegions(), PartitionGraph()])

    cases = [case for case in recorded("passes") if case["passes"] == ["AnnotateTarget", "sequential", "sequential"]]
    assert failures(cases, partition) == []
    assert len(cases) == 3


def test_regions_are_those_of_tvm(recorded: Any) -> None:
    cases = [case for case in recorded("passes") if case["passes"] == ["MergeCompilerRegions"]]
    assert failures(cases, lambda case: MergeCompilerRegions()) == []
    assert len(cases) == 4


def test_a_long_row_of_regions_becomes_one() -> None:
    body: Expr = relay_ir.var("x", shape=(2,))
    for _ in range(3_000):
        body = annotated(END, op.abs(annotated(BEGIN, body, "one")), "one")
    found = MergeCompilerRegions()(IRModule.from_expr(body))["main"]
    assert [annotation(node) for node in nodes(found) if annotation(node)] == [BEGIN, END]


def test_a_value_that_is_not_annotated_is_refused() -> None:
    x = relay_ir.var("x", shape=(2,))
    mixed = annotated(END, op.add(annotated(BEGIN, x, "one"), op.abs(x)), "one")
    with pytest.raises(UnsupportedError, match="takes a value that is not annotated"):
        MergeCompilerRegions()(IRModule.from_expr(mixed))
    with pytest.raises(UnsupportedError, match="none begins before"):
        MergeCompilerRegions()(IRModule.from_expr(annotated(END, x, "one")))


def test_regions_do_not_call_in_another_branch() -> None:
    """The product is computed in both branches, and the sum behind a call that ends in one only."""
    text = """#[version = "0.0.5"]
    def @f(%n: int64) -> int64 {
      %0 = multiply(%n, 2i64);
      if (equal(%n, 0i64)) { %0 } else { add(%0, @f(subtract(%n, 1i64))) }
    }
    def @main(%n: int64) -> int64 { @f(%n) }
    """
    parts = [AnnotateTarget({"own": ["multiply", "add"]}), MergeCompilerRegions(), PartitionGraph()]
    after = Sequential(parts)(relay_ir.infer_type(relay_ir.parse(text)))
    assert sum("Compiler" in one.attrs for one in after.functions.values()) == 2
    assert create_executor("debug", after).evaluate()(np.int64(5)) == 2 * (1 + 2 + 3 + 4 + 5)


def test_regions_of_cells_and_functions() -> None:
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(2), float32]) {
      let %f = fn (%y: Tensor[(2), float32]) { add(%y, ones(shape=[2], dtype="float32")) };
      let %cell = ref(%f(%x));
      let %old = ref_read(%cell);
      let %done = ref_write(%cell, add(%old, %old));
      fn (%y: Tensor[(2), float32]) { multiply(%y, ref_read(%cell)) }(%x)
    }
    """
    parts = [AnnotateTarget({"own": ["multiply", "add"]}), MergeCompilerRegions(), PartitionGraph()]
    after = Sequential(parts)(relay_ir.infer_type(relay_ir.parse(text)))
    x = np.asarray([1, 2], "float32")
    np.testing.assert_array_equal(create_executor("debug", after).evaluate()(x), 2 * (x + 1) * x)


# What TVM's tests of partitioning annotated by a class of their own, which is also how users do.
ALLOWED: Mapping[str, tuple[Sequence[str], str]] = {
    "test_extern_ccompiler": (("add", "subtract", "multiply"), "ccompiler"),
    "test_extern_ccompiler_default_ops": (("add", "subtract", "multiply"), "ccompiler"),
    "test_extern_ccompiler_multiple_functions": (("add", "subtract", "multiply"), "ccompiler"),
    "test_function_lifting": (("nn.batch_norm", "nn.conv2d"), "test_compiler"),
    "test_function_lifting_inline": (("nn.batch_norm", "nn.conv2d"), "test_compiler"),
    "test_constant_propagation": (("add",), "ccompiler"),
    "test_multiple_use_of_an_output": (("subtract", "log", "multiply"), "ccompiler"),
}


def allowed_list_annotator(case: Mapping[str, Any]) -> FunctionPass:
    operators, compiler = ALLOWED[name_of(case)]

    def annotate_function(function: Function, mod: IRModule) -> Function:
        done: dict[Expr, Expr] = {}
        for node in nodes(function):
            parts = [done[child] for child in children(node)]
            if isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in operators:
                begun = [annotated(BEGIN, part, compiler) for part in parts[1:]]
                done[node] = annotated(END, with_children(node, [node.op, *begun]), compiler)
            else:
                done[node] = with_children(node, parts)
        return of_type(done[function], Function)

    return FunctionPass(annotate_function)


def test_a_pass_of_users_annotates_as_in_tvm(recorded: Any) -> None:
    cases = [case for case in recorded("passes") if case["passes"] == ["AllowedListAnnotator"]]
    assert failures(cases, allowed_list_annotator) == []
    assert len(cases) == 7
