"""The facade: it is there only when it is asked for, and old programs run on it."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from relay2relax import compat, relay_ir
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relay_ir.testing.type_solver import TypeSolver

SCRIPT = """
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor

x = relay.var("x", shape=(2, 3))
w = relay.var("w", relay.TensorType([4, 3], "float32"))
f = relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w) - relay.const(1.0)))
mod = relay.transform.InferType()(tvm.IRModule.from_expr(f))
assert mod["main"].body.checked_type == relay.TensorType((2, 4), "float32")
assert [p.name_hint for p in mod["main"].params] == ["x", "w"]
data, weight = np.full((2, 3), 2, "float32"), np.eye(4, 3, dtype="float32")
found = relay.create_executor("graph", mod=mod).evaluate()(data, weight)
print(found.numpy().tolist())
lib = relay.build(mod, target="llvm", params={"w": tvm.nd.array(weight)})
run = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
run.set_input("x", tvm.nd.array(data))
run.run()
print(run.get_output(0).numpy().tolist())
"""


def python(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.compiler
def test_an_old_script_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(SCRIPT, encoding="utf-8")
    done = python("-m", "relay2relax.compat", "old.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    # max(x @ w.T - 1, 0) of x = 2 and w = the unit matrix of 4 rows and 3 columns.
    expected = [[1.0, 1.0, 1.0, 0.0]] * 2
    assert done.stdout.splitlines() == [str(expected)] * 2


def test_what_cannot_be_run_is_said(tmp_path: Path) -> None:
    missing = python("-m", "relay2relax.compat", "old.py", folder=tmp_path)
    assert (missing.returncode, "there is no script old.py" in missing.stderr) == (3, True)
    version = python("-m", "relay2relax.compat", "--tvm", "7", "-c", "pass", folder=tmp_path)
    assert version.returncode != 0
    assert "version of TVM" in version.stderr
    assert "Traceback" not in missing.stderr + version.stderr


def test_nothing_of_the_facade_is_imported_otherwise(tmp_path: Path) -> None:
    program = "import sys, relay2relax.cli.app, relay2relax.relay_ir, relay2relax.backends, relay2relax.translator\n"
    program += "print([one for one in sys.modules if 'compat' in one.split('.')[1:2]], 'tvm' in sys.modules)"
    done = python("-c", program, folder=tmp_path)
    assert done.stdout.strip() == "[] False", done.stderr


def test_the_facade_is_a_thin_one() -> None:
    files = Path(compat.__file__).parent.rglob("*.py")
    assert sum(len(one.read_text(encoding="utf-8").splitlines()) for one in files) < 6000


def test_what_nodes_are_taught_is_forgotten() -> None:
    x = relay_ir.var("x", shape=(2,))
    before = (relay_ir.Function.__init__, vars(relay_ir.Constant)["data"], relay_ir.IRModule.__setitem__)
    installed = sys.modules.get("tvm")
    with compat.installed():
        import tvm

        assert x.name_hint == "x"  # type: ignore[attr-defined]
        assert isinstance(relay_ir.const(1.0).data, tvm.nd.NDArray)
    assert not hasattr(x, "name_hint")
    assert type(relay_ir.const(1.0).data) is np.ndarray
    assert before == (relay_ir.Function.__init__, vars(relay_ir.Constant)["data"], relay_ir.IRModule.__setitem__)
    assert sys.modules.get("tvm") is installed


def test_the_version_is_that_of_the_tvm_asked_for() -> None:
    for version in ("0.6", "0.18"):
        with compat.installed(version):
            import tvm

            assert tvm.__version__ == f"{version}.0"


def test_versions_that_relay_is_not_known_of_are_refused() -> None:
    with pytest.raises(Relay2RelaxError, match=r"0\.20"):
        compat.install("0.20")


def test_what_is_installed_last_is_taken_out_first() -> None:
    outer, inner = compat.install("0.18"), compat.install("0.6")
    with pytest.raises(Relay2RelaxError, match="taken out first"):
        outer()
    inner()
    import tvm

    assert tvm.__version__ == "0.18.0"
    outer()


CHILDREN = """
import multiprocessing
from tvm import relay

def doubled(value):
    from tvm import relay
    return relay.create_executor().evaluate(relay.const(value) + relay.const(value)).numpy().tolist()

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(doubled, [1, 2]))
"""


@pytest.mark.sweep(every=2)
def test_processes_of_a_script_have_the_facade_too(tmp_path: Path) -> None:
    # A new process imports the script before it does anything.
    (tmp_path / "old.py").write_text(CHILDREN, encoding="utf-8")
    done = python("-m", "relay2relax.compat", "old.py", folder=tmp_path)
    assert done.stdout == "[2, 4]\n", done.stderr


def test_names_that_are_absent_say_why() -> None:
    with compat.installed():
        from tvm import relay

        with pytest.raises(Relay2RelaxError, match="models of Keras are imported by way of ONNX"):
            relay.frontend.from_keras(None)
        with pytest.raises(ModuleNotFoundError, match="is not provided by relay2relax"):
            __import__("tvm.nothing")


def test_the_importer_of_onnx_takes_all_of_tvms_arguments(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    x, y = (onnx.helper.make_tensor_value_info(name, 1, [2, 3]) for name in ("x", "y"))
    node = onnx.helper.make_node("Softplus", ["x"], ["y"])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y]))
    with compat.installed():
        from tvm import relay

        mod, _ = relay.frontend.from_onnx(
            model, {"x": [4, 3]}, {"x": "float16"}, export_node_renamed_model_path=str(tmp_path / "named")
        )
        # As TVM 0.18's test of spans and test_wrong_input say.
        function = mod["main"]
        assert function.ret_type == relay.TensorType((4, 3), "float16")
        assert [function.params[0].span.source_name, function.body.span.source_name] == [
            "Softplus_0.x", "Softplus_0",
        ]  # fmt: skip
        with pytest.raises(AssertionError, match="Z"):
            relay.frontend.from_onnx(model, {"Z": [2, 3]})
    (written,) = (tmp_path / "named").iterdir()
    assert written.name.startswith("tvm_exported_model_")
    assert [one.name for one in onnx.load(written).graph.node] == ["Softplus_0"]


def test_targets_that_do_not_exist_are_refused_by_name() -> None:
    with compat.installed():
        from tvm import relay

        with pytest.raises(Relay2RelaxError, match="cuda"):
            relay.build(relay_ir.IRModule.from_expr(relay_ir.var("x", shape=(2,))), target="cuda")


def test_devices_are_planned_by_a_configuration() -> None:
    # As TVM 0.18's test_pass_plan_devices.py: all else is on the device that the option names.
    with compat.installed():
        import tvm
        from tvm import relay

        host = tvm.target.Target("llvm")
        targets = [tvm.target.Target("llvm", host), tvm.target.Target("cuda", host)]
        context = tvm.transform.PassContext(config={"relay.fallback_device_type": tvm.device("cuda").device_type})
        config = tvm.target.make_compilation_config(context, targets)
        x = relay.var("x", shape=(2,))
        on_cpu = relay.annotation.on_device(relay.exp(x), tvm.cpu())
        mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.negative(on_cpu)))
        planned = relay.transform.PlanDevices(config)(mod)
        recover = tvm.get_global_func("relay.transform.RecoverVirtualDeviceMap")
        found = recover(planned, planned["main"])
        kinds = {one.op.name: place.device_type for one, place in found.items() if isinstance(one, relay.Call)}
        assert kinds == {"exp": 1, "on_device": 1, "device_copy": 2, "negative": 2}


def test_operators_of_scripts_have_the_types_that_these_say() -> None:
    # As TVM 0.18's test_type_infer.py has it.
    with compat.installed():
        from tvm import relay

        relay.op.op.register("custom_outer_add", "adds, and adds an axis")
        made = relay.op.get("custom_outer_add")
        made.add_argument("data", "Tensor", "what is added to itself")
        made.add_type_rel("outer", lambda types, attrs: relay.TensorType((1, *types[0].shape), types[0].dtype))
        x = relay.var("x", shape=(2, 3))
        mod = relay.transform.InferType()(relay_ir.IRModule.from_expr(relay.exp(relay.Call(made, [x]))))
        assert mod["main"].ret_type == relay.TensorType((1, 2, 3), "float32")
        with pytest.raises(Relay2RelaxError, match="custom_outer_add is registered before"):
            relay.op.op.register("custom_outer_add")


def test_the_prelude_reads_back() -> None:
    # Types that differ in free type variables only are two: `fn (A) -> B` and `fn (B) -> C`.
    with compat.installed():
        import tvm

        mod = tvm.IRModule()
        mod.import_from_std("prelude.rly")
        assert "@compose[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B) -> fn (A) -> C" in mod.astext()
        tvm.ir.assert_structural_equal(tvm.relay.parse(mod.astext()), tvm.relay.transform.InferType()(mod))


def test_large_constants_are_kept_apart(tmp_path: Path) -> None:
    with compat.installed():
        import tvm
        from tvm import relay
        from tvm.runtime import vm

        held = np.arange(100, dtype="float32")
        x = relay.var("x", shape=(100,))
        exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], x + relay.const(held))), target="llvm")
        exe.move_late_bound_consts(str(tmp_path / "constants"), byte_limit=256)
        exe.mod.export_library(str(tmp_path / "code"))
        assert (tmp_path / "constants").stat().st_size > 400
        loaded = tvm.runtime.load_module(str(tmp_path / "code"))
        with pytest.raises(Relay2RelaxError):
            vm.VirtualMachine(loaded, tvm.cpu()).invoke("main", held)
        loaded["load_late_bound_consts"](str(tmp_path / "constants"))
        found = vm.VirtualMachine(loaded, tvm.cpu()).invoke("main", held)
        np.testing.assert_array_equal(found.numpy(), 2 * held)


def test_types_are_solved_by_hand() -> None:
    # As TVM 0.18's test_type_solver.py: what an unknown is follows from what is made of it.
    solver = TypeSolver()
    unknown, result = relay_ir.IncompleteType(), relay_ir.IncompleteType()
    solver.relate("add", [relay_ir.TensorType((10, 20), "float32"), unknown], result)
    assert not solver.solve()
    solver.relate(None, [unknown], relay_ir.TensorType((10, 1, 1), "float32"))
    assert solver.solve()
    assert solver.resolve(result) == relay_ir.TensorType((10, 10, 20), "float32")
    inner = relay_ir.IncompleteType()
    with pytest.raises(Relay2RelaxError, match="contain itself"):
        TypeSolver().unify(inner, relay_ir.TupleType((inner, inner)))


def test_options_that_change_nothing_are_said_once() -> None:
    with compat.installed():
        import tvm

        with pytest.warns(UserWarning, match="tir.disable_assert changes nothing here"):
            tvm.transform.PassContext(config={"tir.disable_assert": True})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tvm.transform.PassContext(config={"tir.disable_assert": True, "relay.FuseOps.max_depth": 5})
        with pytest.raises(Relay2RelaxError, match=r"relay\.nothing"):
            tvm.transform.PassContext(config={"relay.nothing": 1})


@pytest.mark.parametrize("text", ["[" * 200_000, "{}", '{"root": 99, "nodes": []}', "", '{"root": 0, "nodes": [[]]}'])
def test_documents_that_hold_no_object_are_refused(text: str) -> None:
    with compat.installed():
        import tvm

        with pytest.raises(tvm.TVMError, match="document"):
            tvm.ir.load_json(text)


def test_objects_come_back_from_json() -> None:
    with compat.installed():
        import tvm
        from tvm import relay

        x = relay.var("x", shape=(4,))
        func = relay.Function([x], x + x)
        for one in (tvm.IRModule.from_expr(func), func, func.body, relay.TensorType((2, 3))):
            found = tvm.ir.load_json(tvm.ir.save_json(one))
            assert type(found) is type(one)
            assert tvm.ir.structural_equal(found, one, map_free_vars=True)
