"""Where values lie: devices that struct info and operators name, and layouts that an index map
describes.
"""

from __future__ import annotations

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends, graph
from relay2relax import relax_ir as rx
from relay2relax.core.errors import UnsupportedError
from relay2relax.relax_ir.transform import LegalizeOps, RemoveIdentities

PLACED = """# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_attrs({"attr": 10, "nested": {"list": [1, 2.5, "x"], "none": None, "yes": True}})
    I.module_global_infos({"dummy": [I.dummy_global_info()], "vdevice": [I.vdevice("llvm", 0, "global"), \
I.vdevice({"arch": "sm_50", "kind": "cuda"}, 0, "global"), I.vdevice({"kind": "cuda"}, 1, "global")]})
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32", vdevice="llvm:0:global")) -> \
R.Tensor(("n", 4), dtype="float32", vdevice="llvm:0:global"):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n, 4), dtype="float32", vdevice="llvm:0:global") = R.add(x, x)
            lv1: R.Tensor((n, 4), dtype="float32", vdevice="cuda:1:global") = R.to_vdevice(lv, "cuda:1:global")
            lv2: R.Tensor((n, 4), dtype="float32", vdevice="cuda:1:global") = R.multiply(lv1, lv1)
            lv3: R.Tensor((n, 4), dtype="float32", vdevice="llvm:0:global") = R.to_vdevice(lv2, "llvm:0:global")
            gv: R.Tensor((n, 4), dtype="float32", vdevice="llvm:0:global") = \
R.hint_on_device(lv3, R.device(1, 0), "global")
            R.output(gv)
        return gv"""


def test_placed_tensors_are_kept() -> None:
    mod = rx.parse(PLACED)
    assert mod.script() == PLACED
    assert mod.global_infos["vdevice"][0] == rx.VDevice("llvm")
    # What operators make of placed tensors lies there too.
    bare = PLACED.replace(': R.Tensor((n, 4), dtype="float32", vdevice="llvm:0:global") =', " =")
    bare = bare.replace(': R.Tensor((n, 4), dtype="float32", vdevice="cuda:1:global") =', " =")
    assert rx.parse(bare).script() == PLACED
    assert rx.structural_hash(rx.parse(bare)) == rx.structural_hash(mod)
    other = PLACED.replace('I.vdevice("llvm", 0, "global")', 'I.vdevice("llvm", 1, "global")')
    assert "global infos" in str(rx.first_difference(rx.parse(other), mod))


@pytest.mark.parametrize(
    ("said", "meant"),
    [("llvm", "llvm:0:global"), ("cuda", "cuda:0:global"), ("cuda:1", "cuda:1:global"), ("vdevice:2", "cuda:1:global")],
)
def test_devices_by_shorter_names(said: str, meant: str) -> None:
    text = PLACED.replace('R.to_vdevice(lv, "cuda:1:global")', f'R.to_vdevice(lv, dst_vdevice="{said}")')
    text = text.replace(', vdevice="cuda:1:global")', f', vdevice="{said}")')
    assert f'R.to_vdevice(lv, "{meant}")' in rx.parse(text).script()


@pytest.mark.parametrize("device", ["R.device(device_type=1, index=0)", "R.device(dev_type=1)", "tvm.cpu()"])
def test_spellings_of_the_machine_s_devices(device: str) -> None:
    text = PLACED.replace('R.device(1, 0), "global"', f'{device}, memory_scope="global"')
    assert 'memory_scope="global"' not in PLACED
    assert "R.device(1, 0)" in rx.parse(text).script()


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
def test_there_is_one_device_when_it_runs(target: str) -> None:
    mod = rx.parse(PLACED)
    data = np.arange(8, dtype="float32").reshape(2, 4)
    result = backends.VirtualMachine(backends.build(mod, target))["main"](data)
    np.testing.assert_array_equal(result, 4 * data * data)


def test_identities_are_removed() -> None:
    for lower in (RemoveIdentities(), LegalizeOps()):
        text = lower(rx.parse(PLACED)).script()
        assert "to_vdevice" not in text
        assert "hint_on_device" not in text


def test_gradient_annotations_pass_their_argument_through() -> None:
    mod = rx.parse("""
@R.function
def main(x: R.Tensor((2,), dtype="float32")):
    a = R.grad.start_checkpoint(x)
    b = R.grad.no_grad(R.power(a, R.const(2, "float32")))
    return R.builtin.stop_lift_params(R.grad.end_checkpoint(b))
""")
    main = mod["main"]
    assert isinstance(main, rx.Function)
    assert main.ret == rx.TensorStructInfo((2,), "float32")
    result = backends.VirtualMachine(backends.build(mod))["main"](np.array([3, 4], "float32"))
    np.testing.assert_array_equal(result, [9, 16])


def test_graphs_have_no_devices() -> None:
    with pytest.raises(UnsupportedError, match="devices"):
        graph.from_relax(rx.parse(PLACED))


def transformed(index_map: str, shape: str = "(2, 10)", options: str = "") -> str:
    return f"""
@R.function
def main(x: R.Tensor({shape}, dtype="float32")):
    return R.layout_transform(x, {index_map}{options})
"""


DATA = np.arange(20, dtype="float32").reshape(2, 10)
LAYOUTS = [
    ("lambda i, j: (j, i)", "", DATA.T),
    ("index_map=lambda i, j: (i * 10 + j,)", "", DATA.reshape(20)),
    ("index_map=T.index_map(lambda a, b: (b // 5, a, b % 5))", "", DATA.reshape(2, 2, 5).transpose(1, 0, 2)),
    (
        "index_map=T.index_map(lambda i, j: (i, j // 4, j % 4))",
        ", pad_value=R.prim_value(T.float32(7)), axis_separators=[], input_axis_separators=[]",
        np.pad(DATA, [(0, 0), (0, 2)], constant_values=7).reshape(2, 3, 4),
    ),
    ("lambda i, j: [i + 1, j]", ", pad_value=1.5", np.pad(DATA, [(1, 0), (0, 0)], constant_values=1.5)),
]


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
@pytest.mark.parametrize("shape", ["(2, 10)", '("n", 10)'])
@pytest.mark.parametrize(("index_map", "options", "expected"), LAYOUTS, ids=lambda one: "")
def test_layouts(index_map: str, options: str, expected: np.ndarray, shape: str, target: str) -> None:
    mod = rx.parse(transformed(index_map, shape, options))
    assert rx.first_difference(rx.parse(mod.script()), mod) is None
    assert rx.structural_hash(rx.parse(mod.script())) == rx.structural_hash(mod)
    result = backends.VirtualMachine(backends.build(mod, target))["main"](DATA)
    np.testing.assert_array_equal(result, expected)


def test_layouts_of_other_maps_are_told_apart() -> None:
    mod = rx.parse(transformed("lambda i, j: (j, i)"))
    assert rx.first_difference(rx.parse(transformed("lambda a, b: (b, a)")), mod) is None
    assert rx.first_difference(rx.parse(transformed("lambda i, j: (i, j)")), mod) is not None


def test_extents_of_layouts() -> None:
    main = rx.parse(transformed("lambda i, j: (j // 4, i, j % 4)", '("n", "m")'))["main"]
    assert isinstance(main, rx.Function)
    assert rx.print_struct_info(main.ret) == 'R.Tensor(("(m + 3) // 4", "n", 4), dtype="float32")'
    # As TVM, which pads what does not fill the inner axis.
    main = rx.parse(transformed("lambda i: (i % 16,)", "(14,)"))["main"]
    assert isinstance(main, rx.Function)
    assert main.ret == rx.TensorStructInfo((16,), "float32")


def test_separated_axes_are_written_where_they_can_be() -> None:
    mod = rx.parse(transformed("lambda i, j: (i, T.AXIS_SEPARATOR, j)"))
    assert "axis_separators=[1]" in mod.script("tvm-0.18")
    assert "R.call_tir(cls.layout_transform" in mod.script()


@pytest.mark.tvm
def test_tvm_reads_what_is_placed() -> None:
    from tvm.script import from_source

    mod = rx.parse(PLACED)
    back = rx.from_tvm(rx.to_tvm(mod))
    # TVM completes the targets.
    assert [of_type(one, rx.VDevice).kind for one in back.global_infos["vdevice"]] == ["llvm", "cuda", "cuda"]
    assert rx.from_tvm(from_source(back.script())).script() == back.script()
    for index_map, options, expected in LAYOUTS[:4]:  # TVM inverts maps, and cannot invert the last
        layout = rx.parse(transformed(index_map, "(2, 10)", options))
        assert rx.first_difference(rx.from_tvm(rx.to_tvm(layout)), layout) is None
        machine = backends.VirtualMachine(backends.build(layout, "tvm"))
        np.testing.assert_array_equal(np.asarray(machine["main"](DATA)), expected)
