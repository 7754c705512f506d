"""Tensors over a mesh of devices: read, printed, compared, inferred as TVM infers them, and not
run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, graph
from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.relax_ir.ir.mesh import DeviceMesh, MeshError, Sharding, placement_text, read_placement
from relay2relax.relax_ir.transform import FoldConstant, LegalizeOps

SPREAD = """# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_attrs({"device_num": 10})
    I.module_global_infos({"mesh": [R.device_mesh((2, 2), I.Range(0, 4)), R.device_mesh((2,), [7, 5])]})
    @T.prim_func(private=True, s_tir=True)
    def double(x: T.Buffer((T.int64(8), T.int64(4)), "float32"), y: T.Buffer((T.int64(8), T.int64(4)), "float32")):
        for i, j in T.grid(T.int64(8), T.int64(4)):
            with T.sblock("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(x[vi, vj])
                T.writes(y[vi, vj])
                y[vi, vj] = x[vi, vj] * T.float32(2.0)

    @R.function
    def main(x: R.DTensor((8, 4), dtype="float32", device_mesh="mesh[0]", placement="S[0], R"), \
w: R.Tensor((8, 4), dtype="float32")) -> R.DTensor((8, 4), dtype="float32", device_mesh="mesh[0]", placement="R, S[0]"):
        cls = Module
        y = R.dist.call_tir(cls.double, (x,), R.DTensor((8, 4), dtype="float32", device_mesh="mesh[0]", \
placement="S[0], R"))
        z: R.DTensor((8, 4), dtype="float32", device_mesh="mesh[0]", placement="S[0], R") = \
R.dist.call_tir_local_view(cls.double, (y,), R.DTensor((8, 4), dtype="float32", device_mesh="mesh[0]", \
placement="S[0], R"))
        a: R.DTensor((8, 4), dtype="float32", device_mesh="mesh[0]", placement="S[0], R") = \
R.add(z, R.dist.const(1.0, R.DTensor((), dtype="float32", device_mesh="mesh[0]", placement="R, R")))
        v: R.Tensor((8, 4), dtype="float32") = R.dist.annotate_sharding(w, "mesh[1]", "S[1]")
        part: R.Tensor((4, 4), dtype="float32") = R.dist.redistribute_replica_to_shard(v, 2, 0)
        b: R.DTensor((8, 4), dtype="float32", device_mesh="mesh[0]", placement="R, S[0]") = \
R.dist.redistribute(a, "mesh[0]", "R, S[0]")
        return b"""


def test_spread_tensors_are_kept() -> None:
    mod = rx.parse(SPREAD)
    assert mod.script() == SPREAD
    assert mod.global_infos["mesh"] == (DeviceMesh((2, 2), range(4)), DeviceMesh((2,), (7, 5)))
    info = mod["main"].params[0].info  # type: ignore[union-attr]
    assert info == rx.TensorStructInfo((8, 4), "float32", sharding=Sharding(DeviceMesh((2, 2), range(4)), (0, -1)))
    # As TVM prints it, and as its authors write it.
    positional = SPREAD.replace(
        '(8, 4), dtype="float32", device_mesh="mesh[0]", placement=', '(8, 4), "float32", "mesh[0]", '
    )
    assert rx.first_difference(rx.parse(positional), mod) is None
    assert rx.structural_hash(rx.parse(positional)) == rx.structural_hash(mod)
    bare = SPREAD.replace(': R.DTensor((8, 4), dtype="float32", device_mesh="mesh[0]", placement="S[0], R") =', " =")
    bare = bare.replace(': R.Tensor((8, 4), dtype="float32") =', " =").replace("(x,), R.DTensor", "x, out_ty=R.DTensor")
    assert rx.parse(bare).script() == SPREAD


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ("R.device_mesh((2,), [7, 5])", "R.device_mesh((2,), [5, 7])", "global infos"),
        ('x: R.DTensor((8, 4), dtype="float32", device_mesh="mesh[0]", placement="S[0], R")',
         'x: R.DTensor((8, 4), dtype="float32", device_mesh="mesh[0]", placement="S[1], R")', "parameter x"),
        ('R.dist.const(1.0, R.DTensor((), dtype="float32", device_mesh="mesh[0]", placement="R, R"))',
         'R.const(1.0, "float32")', "constants differ"),
        ('annotate_sharding(w, "mesh[1]", "S[1]")', 'annotate_sharding(w, "mesh[1]", "S[0]")', "binding v"),
    ],
)  # fmt: skip
def test_spread_otherwise_is_another_program(old: str, new: str, difference: str) -> None:
    assert old in SPREAD
    one, other = (rx.parse(text, check_well_formed=False) for text in (SPREAD, SPREAD.replace(old, new)))
    assert difference in str(rx.first_difference(one, other))
    assert rx.structural_hash(one) != rx.structural_hash(other)


def test_a_mesh_in_a_function_alone_is_written_out() -> None:
    text = """@R.function
def main(x: R.DTensor(("n", 4), "float16", R.device_mesh((2,), R.Range(4, 6)), "S[0]")):
    y = R.exp(x)
    return y
"""
    printed = rx.parse(text).script()
    mesh = "device_mesh=R.device_mesh((2,), I.Range(4, 6))"
    assert f'y: R.DTensor((n, 4), dtype="float16", {mesh}, placement="S[0]") = R.exp(x)' in printed
    assert rx.parse(printed).script() == printed


MODULE = """
@I.ir_module
class Module:
    I.module_global_infos({{"mesh": [R.device_mesh((2, 2), I.Range(0, 4))]}})
    @R.function
    def main({params}):
        with R.dataflow():
            y = {call}
            R.output(y)
        return y
"""
CALLS = [
    ({"x": ((4, 8), "S[0], R")}, "R.sigmoid(x)"),
    ({"x": ((4, 8), "S[0], S[1]")}, "R.nn.gelu(x)"),
    ({"x": ((4, 8), "S[0], R"), "w": ((4, 8), "R, S[1]")}, "R.add(x, w)"),
    ({"x": ((4, 8), "S[1], R"), "w": ((2, 1, 8), "R, S[0]")}, "R.multiply(x, w)"),
    ({"x": ((4, 1), "S[1], R"), "w": ((4, 8), "R, R")}, "R.maximum(x, w)"),
    ({"x": ((4, 8), "S[0], S[1]")}, "R.equal(x, R.const(1.0))"),
    ({"x": ((4, 8), "S[0], S[1]")}, "R.sum(x, axis=[1])"),
    ({"x": ((4, 6, 8), "S[0], S[2]")}, "R.mean(x, axis=[1])"),
    ({"x": ((4, 6, 8), "S[0], S[2]")}, "R.max(x, axis=[-1], keepdims=True)"),
    ({"x": ((4, 8), "S[0], S[1]")}, "R.nn.softmax(x, axis=-1)"),
    ({"x": ((4, 8), "S[0], R"), "w": ((8, 6), "R, S[1]")}, "R.matmul(x, w)"),
    ({"x": ((4, 8), "S[1], R"), "w": ((8, 6), "S[0], R")}, "R.matmul(x, w)"),
    ({"x": ((3, 4, 8), "S[0], R"), "w": ((8, 6), "R, S[1]")}, "R.matmul(x, w)"),
    ({"x": ((3, 4, 8), "S[1], R"), "w": ((3, 8, 6), "R, S[0]")}, "R.matmul(x, w)"),
    ({"x": ((8,), "R, R"), "w": ((8, 6), "R, S[1]")}, "R.matmul(x, w)"),
    ({"x": ((4, 6, 8), "S[0], S[2]")}, "R.permute_dims(x, axes=[2, 0, 1])"),
    ({"x": ((4, 6, 8), "S[0], S[2]")}, "R.permute_dims(x)"),
    ({"x": ((4, 6, 8), "S[0], S[2]")}, "R.reshape(x, R.shape([24, 8]))"),
    ({"x": ((24, 8), "S[0], S[1]")}, "R.reshape(x, R.shape([4, 6, 8]))"),
    ({"x": ((4, 6, 8), "S[1], R")}, "R.reshape(x, R.shape([4, 48]))"),
]  # fmt: skip


def script_of(params: dict[str, tuple[tuple[int, ...], str]], call: str) -> str:
    infos = [f'{name}: R.DTensor({shape}, "float32", "mesh[0]", "{place}")' for name, (shape, place) in params.items()]
    return MODULE.format(params=", ".join(infos), call=call)


@pytest.mark.tvm
@pytest.mark.parametrize(("params", "call"), CALLS, ids=[call for _, call in CALLS])
def test_results_are_spread_as_tvm_says(params: Any, call: str) -> None:
    import tvm
    from tvm import relax

    if "R.const" in call:
        pytest.skip("TVM wants R.dist.const there")
    text = script_of(params, call)
    theirs = tvm.script.from_source(text)["main"].body.blocks[0].bindings[0].var.ty
    assert isinstance(theirs, relax.distributed.DTensorType)
    ours = rx.parse(text)["main"].ret  # type: ignore[union-attr]
    assert isinstance(ours, rx.TensorStructInfo)
    assert ours.sharding is not None
    assert tuple(map(int, theirs.tensor_ty.shape.values)) == ours.shape
    assert str(theirs.tensor_ty.dtype).removeprefix("T.") == ours.dtype
    assert tuple(int(spec.axis) for spec in theirs.placement.dim_specs) == ours.sharding.placement


@pytest.mark.parametrize(
    ("params", "call", "message"),
    [
        ({"x": ((4, 8), "S[0], R")}, "R.nn.leakyrelu(x)", "nothing is known of how its result is spread"),
        ({"x": ((4, 8), "S[0], R")}, "R.split(x, 2)", "several results"),
        ({"x": ((4, 8), "S[0], R")}, "R.dist.redistribute_replica_to_shard(x, 2, 0)", "expected a replica"),
        ({"x": ((4, 8), "S[0], R")}, 'R.dist.redistribute(x, "mesh[0]", "S[3], R")', "no axis 3"),
    ],
)
def test_what_cannot_be_spread(params: Any, call: str, message: str) -> None:
    with pytest.raises(Relay2RelaxError, match=message):
        rx.parse(script_of(params, call))


def test_workers_that_cannot_share_alike() -> None:
    text = MODULE.format(params="x: R.Tensor((5, 8))", call="R.dist.redistribute_replica_to_shard(x, 2, 0)")
    with pytest.raises(Relay2RelaxError, match="axis 0 has 5 elements, which 2 workers cannot share alike"):
        rx.parse(text)


def test_placements() -> None:
    assert read_placement("S[0], R,S[ 2 ]") == (0, -1, 2)
    assert placement_text((0, -1, 2)) == "S[0], R, S[2]"
    with pytest.raises(MeshError, match="'S0' is no placement"):
        read_placement("S0")
    with pytest.raises(MeshError, match="2 are given"):
        DeviceMesh((3,), range(2))


def test_such_programs_do_not_run() -> None:
    mod = rx.parse(SPREAD)
    for target in ("numpy", "c", "tvm"):
        with pytest.raises(UnsupportedError, match=r"R\.DTensor.* do not run here"):
            backends.build(mod, target)
    with pytest.raises(UnsupportedError, match="graph has no place"):
        graph.from_relax(mod)
    # Passes leave what is spread as it is.
    assert rx.first_difference(LegalizeOps()(mod), mod) is None
    assert rx.first_difference(FoldConstant()(mod), mod) is None


def test_a_claim_of_another_placement() -> None:
    text = script_of({"x": ((4, 8), "S[0], R")}, "R.sigmoid(x)")
    claimed = text.replace("y = R", 'y: R.DTensor((4, 8), "float32", "mesh[0]", "R, R") = R')
    with pytest.raises(Relay2RelaxError, match="spread over a mesh in another way"):
        rx.parse(claimed)
    whole = text.replace("y = R", 'y: R.Tensor((4, 8), "float32") = R')
    with pytest.raises(Relay2RelaxError, match="a tensor over a mesh of devices, expected a tensor"):
        rx.parse(whole)


@pytest.mark.tvm
def test_there_and_back() -> None:
    mod = rx.parse(SPREAD)
    assert rx.first_difference(rx.from_tvm(rx.to_tvm(mod)), mod) is None


def test_spread_constants_are_arrays() -> None:
    text = """@R.function
def main():
    mesh = R.dist.const([[1.0, 2.0], [3.0, 4.0]], R.DTensor((2, 2), "float32", R.device_mesh((2,), [0, 1]), "S[1]"))
    return mesh
"""
    (binding,) = rx.parse(text)["main"].body.blocks[0].bindings  # type: ignore[union-attr]
    assert isinstance(binding.value, rx.Constant)
    np.testing.assert_array_equal(binding.value.data, np.array([[1, 2], [3, 4]], "float32"))
