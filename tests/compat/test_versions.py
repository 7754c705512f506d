"""Spellings of old releases: there where TVM of that version had them, not elsewhere."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import numpy as np
import pytest

from relay2relax import compat
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relay_ir import testing

VERSIONS = ("0.5", "0.6", "0.7", "0.8", "0.12", "0.18", "0.19")
# The last version whose files have the name: `git show v0.7.0:python/tvm/__init__.py` and the like.
LAST = {
    "tvm.relay.ir_pass": "0.5",
    "tvm.relay.Module": "0.6",
    "tvm.relay.module.Module": "0.6",
    "tvm.relay.vm.VirtualMachine": "0.6",
    "tvm.ndarray.array": "0.6",
    "tvm.module.load": "0.6",
    "tvm.build_config": "0.6",
    "tvm.var": "0.6",
    "nnvm.compiler.build": "0.6",
    "nnvm.frontend.from_onnx": "0.6",
    "nnvm.testing.resnet.get_workload": "0.6",
    "tvm.context": "0.7",
    "tvm.TVMContext": "0.7",
    "tvm.relay.build_config": "0.19",
    "tvm.contrib.util.tempdir": "0.7",
    "tvm.gpu": "0.19",
    "tvm.contrib.graph_runtime.create": "0.19",
    "tvm.contrib.debugger.debug_runtime.create": "0.19",
}


def found(path: str) -> bool:
    """Whether a dotted name can be imported."""
    module, *rest = path.split(".")
    try:
        value: object = importlib.import_module(module)
        for part in rest:
            module = f"{module}.{part}"
            if not hasattr(value, part):
                importlib.import_module(module)
            value = getattr(value, part)
    except (ImportError, AttributeError):
        return False
    return True


def cases() -> Iterator[tuple[str, str, bool]]:
    for name, last in LAST.items():
        for version in VERSIONS:
            yield name, version, VERSIONS.index(version) <= VERSIONS.index(last)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_spelling_is_there_where_tvm_had_it(version: str) -> None:
    with compat.installed(version):
        wrong = [(name, there) for name, of, there in cases() if of == version and found(name) != there]
    assert wrong == []


def test_passes_are_functions_of_ir_pass() -> None:
    with compat.installed("0.5"):
        from tvm import relay

        x = relay.var("x", shape=(2, 3))
        half = relay.multiply(relay.const(np.float32(0.25)), relay.const(np.float32(2)))
        func = relay.ir_pass.infer_type(relay.Function([x], relay.add(x, half)))
        folded = relay.ir_pass.fold_constant(func)
        expected = relay.ir_pass.infer_type(relay.Function([x], relay.add(x, relay.const(np.float32(0.5)))))
        assert relay.ir_pass.alpha_equal(folded, expected)
        assert [one.name for one in relay.ir_pass.free_vars(relay.add(x, x))] == ["x"]
        assert relay.ir_pass.infer_type(relay.add(x, x)).checked_type == relay.TensorType((2, 3))
        with pytest.raises(AttributeError, match="no 'nothing' here"):
            _ = relay.ir_pass.nothing


@pytest.mark.compiler
def test_a_network_as_nnvm_and_graph_runtime_ran_it() -> None:
    with compat.installed("0.5"):
        import nnvm.compiler  # type: ignore[import-not-found]
        import nnvm.testing  # type: ignore[import-not-found]
        import tvm
        from tvm.contrib import graph_runtime

        net, params = nnvm.testing.mlp.get_workload(batch_size=1)
        with nnvm.compiler.build_config(opt_level=2):
            graph, lib, params = nnvm.compiler.build(net, "llvm", {"data": (1, 1, 28, 28)}, params=params)
        module = graph_runtime.create(graph, lib, tvm.context("cpu", 0))
        module.set_input("data", tvm.nd.array(np.ones((1, 1, 28, 28), "float32"), ctx=tvm.cpu(0)))
        module.set_input(**params)
        module.run()
        out = module.get_output(0, tvm.nd.empty((1, 10), ctx=tvm.cpu(0))).asnumpy()
    hidden = np.ones((1, 784), "float32")
    _, values = testing.mlp.get_workload(1)
    for name in ("fc1", "fc2", "fc3"):
        hidden = hidden @ values[f"{name}_weight"].T + values[f"{name}_bias"]
        hidden = np.maximum(hidden, 0) if name != "fc3" else hidden
    expected = np.exp(hidden - hidden.max())
    np.testing.assert_allclose(out, expected / expected.sum(), rtol=1e-4)


def test_parameters_of_unknown_names_are_refused() -> None:
    with compat.installed("0.6"):
        from tvm import relay

        body = relay.nn.bias_add(relay.var("data", shape=(2, 3)), relay.var("b"))
        with pytest.raises(Relay2RelaxError, match="`b` are not known: names end in weight"):
            relay.testing.create_workload(body)
