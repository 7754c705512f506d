"""The facade: it is there only when it is asked for, and old programs run on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from relay2relax import compat, relay_ir
from relay2relax.core.errors import Relay2RelaxError

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


def test_versions_that_relay_is_not_known_of_are_refused() -> None:
    with pytest.raises(Relay2RelaxError, match=r"0\.20"):
        compat.install("0.20")


def test_names_that_are_absent_say_why() -> None:
    with compat.installed():
        from tvm import relay

        with pytest.raises(Relay2RelaxError, match="imports ONNX and TorchScript"):
            relay.frontend.from_keras(None)
        with pytest.raises(ModuleNotFoundError, match="is not provided by relay2relax"):
            __import__("tvm.nothing")


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
