"""Regions, fused functions and calibration; the cases are those of TVM's test_annotated_regions.py,
test_analysis_extract_fused_functions.py, test_analysis_extract_operators.py and
test_analysis_get_calibration_data.py, by their meaning.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from relay2relax import backends, relay_ir
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import Call, Expr, Function, IRModule, Op, Tuple, op, transform, var
from relay2relax.relay_ir.analysis import AnnotatedRegionSet, analyze_operations_distribution, list_op_freqs
from relay2relax.relay_ir.transform.partition.annotations import BEGIN, END, annotated


def begin(node: Expr, target: str = "test_target") -> Expr:
    return annotated(BEGIN, node, target)


def end(node: Expr, target: str = "test_target") -> Expr:
    return annotated(END, node, target)


def regions_of(expr: Expr) -> AnnotatedRegionSet:
    return AnnotatedRegionSet(expr, Op(BEGIN), Op(END))


def check(
    regions: AnnotatedRegionSet, target: str, args: Sequence[Expr], nodes: Sequence[Expr], rets: Sequence[Expr]
) -> None:
    region = regions.get_region(args[0])
    assert region is not None
    assert region.target == target
    assert (set(region.args), set(region.nodes), set(region.rets)) == (set(args), {*args, *nodes, *rets}, set(rets))


def test_a_diamond() -> None:
    data = var("data", shape=(10, 10))
    begin_1 = begin(data)
    absolute = op.abs(begin_1)
    end_1, end_2 = end(absolute), end(absolute)
    begin_2 = begin(end_1)
    relu = op.nn.relu(begin_2)
    end_3 = end(relu)
    begin_other = begin(end_2, "default")
    tanh = op.tanh(begin_other)
    end_other = end(tanh, "default")
    begin_3, begin_4 = begin(end_3), begin(end_other)
    added = op.add(begin_3, begin_4)
    end_4 = end(added)
    regions = regions_of(Function((data,), end_4))
    assert len(regions) == 4
    check(regions, "test_target", [begin_1], [absolute], [end_1, end_2])
    check(regions, "test_target", [begin_2], [relu], [end_3])
    check(regions, "default", [begin_other], [tanh], [end_other])
    check(regions, "test_target", [begin_3, begin_4], [added], [end_4])
    assert regions.get_region(data) is None


def test_regions_that_go_on() -> None:
    data = var("data", shape=(10, 10))
    begin_1 = begin(data)
    absolute = op.abs(begin_1)
    end_2 = end(absolute)
    relu = op.nn.relu(absolute)
    end_3 = end(relu)
    begin_other = begin(end_2, "default")
    tanh = op.tanh(begin_other)
    end_other = end(tanh, "default")
    begin_3, begin_4 = begin(end_3), begin(end_other)
    one, two = op.add(begin_3, begin_4), op.add(begin_3, begin_4)
    both = Tuple((one, two))
    end_4 = end(both)
    regions = regions_of(Function((data,), end_4))
    assert len(regions) == 3
    assert [region.target for region in regions] == ["test_target", "test_target", "default"]
    check(regions, "test_target", [begin_1], [absolute, relu], [end_2, end_3])
    check(regions, "test_target", [begin_3, begin_4], [one, two, both], [end_4])


def test_ends_without_beginnings_are_refused() -> None:
    data = var("data", shape=(10, 10))
    with pytest.raises(UnsupportedError, match="has no beginning"):
        regions_of(end(op.abs(data)))
    with pytest.raises(UnsupportedError, match="ends as one of"):
        regions_of(end(op.abs(begin(data)), "other"))


def convolutions(branches: int) -> IRModule:
    """A convolution, and others of it that are added up."""
    x = var("x", shape=(1, 1, 5, 1))
    first = op.nn.conv2d(x, var("w1"), kernel_size=(3, 3), padding=(1, 1), channels=1)
    others = [
        op.nn.conv2d(first, var(f"w{place}"), kernel_size=(3, 3), padding=(1, 1), channels=1)
        for place in range(2, 2 + branches)
    ]
    total = first if branches == 1 else others.pop(0)
    for other in others:
        total = op.add(total, other) if branches == 1 else op.add(other, total)
    return relay_ir.infer_type(IRModule.from_expr(total))


def test_operators_are_counted_within_fused_functions() -> None:
    mod = convolutions(1)
    wanted = {"add": 1, "nn.conv2d": 2}
    assert list_op_freqs(mod) == wanted
    assert list_op_freqs(transform.FuseOps(3)(mod)) == wanted


def test_fused_functions_of_branches() -> None:
    found = transform.extract_fused_functions(convolutions(3))
    bodies = [function.body for function in found.values()]
    assert all(isinstance(body, Call) for body in bodies)
    plain, added = sorted(bodies, key=lambda body: body.op == Op("add") if isinstance(body, Call) else False)
    assert isinstance(plain, Call)
    assert isinstance(added, Call)
    assert (plain.op, added.op) == (Op("nn.conv2d"), Op("add"))
    assert [isinstance(arg, Call) and arg.op == Op("nn.conv2d") for arg in added.args].count(True) == 1
    assert len(found) == 2


def test_one_fused_function() -> None:
    x, w = var("x", shape=(1, 56, 56, 64)), var("w", shape=(3, 3, 64, 32))
    conv = op.nn.conv2d(x, w, channels=32, kernel_size=(3, 3), padding=(1, 1), data_layout="NHWC", kernel_layout="HWIO")
    (function,) = transform.extract_fused_functions(IRModule.from_expr(conv)).values()
    assert function.attrs["Primitive"]
    assert relay_ir.structural_equal(function.body, conv, map_free_vars=True)


SQUARE = "Tensor[(8, 8), float32]"
CALIBRATED = f"""#[version = "0.0.5"]
def @g0(%x: {SQUARE}, %y: {SQUARE}, Compiler="test") -> ({SQUARE}, {SQUARE}) {{
  (add(%x, %y), subtract(%x, %y))
}}
def @g1(%x: {SQUARE}, %y: {SQUARE}, Compiler="test") -> {SQUARE} {{
  subtract(%x, %y)
}}
def @main(%x: {SQUARE}, %y: {SQUARE}, %z: {SQUARE}) -> {SQUARE} {{
  %0 = @g0(%x, %y);
  @g1(%0.0, %z)
}}
"""


def test_calibration_data() -> None:
    mod = relay_ir.parse(CALIBRATED)
    x, y, z = (np.random.default_rng(seed).random((8, 8), "float32") for seed in range(3))
    data = backends.get_calibration_data(mod, {"x": x, "y": y, "z": z})
    named = {var.name: found for var, found in data.items()}
    assert list(named) == ["g0", "g1"]
    for found, wanted in (
        (named["g0"], {"inputs": [x, y], "outputs": [x + y, x - y]}),
        (named["g1"], {"inputs": [x + y, z], "outputs": [x + y - z]}),
    ):
        for part, arrays in wanted.items():
            assert len(found[part]) == len(arrays)
            for one, array in zip(found[part], arrays, strict=True):
                assert np.allclose(one, array, rtol=1e-6)


def test_who_computes_what() -> None:
    mod = relay_ir.parse("""#[version = "0.0.5"]
def @g(%x: Tensor[(4), float32], Compiler="mine") -> Tensor[(4), float32] {
  %1 = fn (%p: Tensor[(4), float32], Composite="mine.two") -> Tensor[(4), float32] { exp(log(%p)) };
  tanh(%1(%x))
}
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { abs(@g(%x)) }
""")
    found = {call.op.name: who for call, who in analyze_operations_distribution(mod).items() if isinstance(call.op, Op)}
    assert found == {
        "exp": ("mine", "mine.two"),
        "log": ("mine", "mine.two"),
        "tanh": ("mine", "generic"),
        "abs": ("generic", "generic"),
    }
