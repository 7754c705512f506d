"""``target="tvm"``: an installed apache-tvm runs programs in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from types import ModuleType

import numpy as np
import pytest

from relay2relax import compat, relay_ir
from relay2relax.core.errors import UnsupportedError

DATA, WEIGHT = np.array([[1, -2, 3], [4, 5, -6]], "float32"), np.arange(12, dtype="float32").reshape(4, 3)


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_programs_are_built_by_an_installed_tvm() -> None:
    pytest.importorskip("tvm")
    before = set(sys.modules)
    with compat.installed():
        import tvm
        from tvm import relay
        from tvm.contrib import graph_executor

        x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
        results = relay.Tuple([relay.nn.relu(relay.nn.dense(x, w)), relay.cast(relay.argmax(x, axis=1), "bool")])
        mod = tvm.IRModule.from_expr(relay.Function([x, w], results))
        lib = relay.build(mod, target="tvm", params={"w": WEIGHT})
        module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
        for data in (DATA, -DATA):
            module.run(x=data)
            np.testing.assert_allclose(module.get_output(0).numpy(), np.maximum(data @ WEIGHT.T, 0), rtol=1e-6)
            assert module.get_output(1).numpy().tolist() == np.argmax(data, 1).astype(bool).tolist()
        # In this process there is the facade alone.
        assert {name for name in sys.modules if name.startswith("tvm_ffi")} <= before
        assert tvm.__version__ == "0.18.0"
        with pytest.raises(UnsupportedError, match="only a library that was built for llvm or c"):
            lib.export_library("net.so")
        with pytest.raises(UnsupportedError, match="'tvm'"):
            relay.vm.compile(mod, target="tvm")


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_executors_ask_it_too() -> None:
    pytest.importorskip("tvm")
    with compat.installed():
        import tvm
        from tvm import relay

        x = relay.var("x", shape=(2, 3))
        mod = tvm.IRModule.from_expr(relay.Function([x], relay.sum(x, axis=1)))
        found = relay.create_executor("graph", mod=mod, target="tvm").evaluate()(DATA)
        np.testing.assert_allclose(found.numpy(), DATA.sum(1), rtol=1e-6)


def test_without_it_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    find = PathFinder.find_spec

    def without_tvm(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> object:
        return None if name == "tvm" else find(name, path, target)

    monkeypatch.setattr(PathFinder, "find_spec", without_tvm)
    with compat.installed():
        from tvm import relay

        with pytest.raises(UnsupportedError, match="apache-tvm"):
            relay.build(relay_ir.IRModule.from_expr(relay_ir.var("x", shape=(2,))), target="tvm")
