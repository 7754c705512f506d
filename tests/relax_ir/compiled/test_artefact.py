"""Programs of what TVM compiled: graphs of its graph executor, alone, in libraries, in archives.

The documents are laid out as TVM's tests and sources have them: ``test_graph_executor.py``,
``graph_executor_factory.cc``. The kernels are given here, so that what is read can be run.
"""

from __future__ import annotations

import io
import json
import struct
import tarfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, graph, relax_ir
from relay2relax.core.errors import ParseError, Relay2RelaxError
from relay2relax.core.tensor_blob import write_tensor
from relay2relax.relax_ir.compiled.graph_executor import kernels_of

WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4)


def kernel(name: str, inputs: list[list[int]], outputs: int = 1, flat: int = 0) -> dict[str, Any]:
    counts = {"num_inputs": str(len(inputs)), "num_outputs": str(outputs)}
    return {"op": "tvm_op", "name": f"n_{name}", "inputs": inputs,
            "attrs": {"func_name": name, "flatten_data": str(flat), "hash": "0", **counts}}  # fmt: skip


def document() -> dict[str, Any]:
    """A layer, cut into two, of which one half is turned flat and negated."""
    nodes = [
        {"op": "null", "name": "data", "inputs": []},
        {"op": "null", "name": "p0", "inputs": []},
        kernel("tvmgen_default_fused_nn_dense", [[0, 0, 0], [1, 0, 0]]),
        kernel("fused_split", [[2, 0, 0]], outputs=2),
        kernel("__nop", [[3, 1, 0]]),
        kernel("__copy", [[4, 0, 0]]),
        kernel("fuse_negative", [[5, 0]], flat=1),
    ]
    shapes = [[2, 4], [3, 4], [2, 3], [2, 1], [2, 2], [4, 1], [4, 1], [4, 1]]
    return {
        "nodes": nodes,
        "arg_nodes": [0, 1],
        "heads": [[3, 0, 0], [6, 0, 0]],
        "node_row_ptr": [0, 1, 2, 3, 5, 6, 7, 8],
        "attrs": {
            "dltype": ["list_str", ["float32"] * 8],
            "device_index": ["list_int", [1] * 8],
            "storage_id": ["list_int", list(range(8))],
            "shape": ["list_shape", shapes],
        },
    }


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def factory(key: str, graph_json: str) -> bytes:
    """A library that holds a factory between code and what follows."""
    blob = string(key) + string(graph_json) + struct.pack("<QQ", 1, 1) + string("p0")
    head, data = write_tensor(WEIGHT)
    return b"\x7fELF" + bytes(100) + blob + head + data.tobytes() + string("default") + bytes(50)


def archive(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as made:
        for name, content in members.items():
            entry = tarfile.TarInfo(name.replace("__", "/").replace("_json", ".json").replace("_so", ".so"))
            entry.size = len(content)
            made.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


@pytest.fixture
def kernels() -> None:
    """The kernels of the library, as Python has them."""

    def dense(data: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
        np.matmul(data, weight.T, out=out)

    def split(data: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        left[...], right[...] = data[:, :1], data[:, 1:]

    def negative(data: np.ndarray, out: np.ndarray) -> None:
        assert data.shape == out.shape == (4,)
        np.negative(data, out=out)

    named: dict[str, Callable[..., None]] = {
        "tvmgen_default_fused_nn_dense": dense,
        "fused_split": split,
        "fuse_negative": negative,
    }
    for name, function in named.items():
        backends.register_func(name, override=True)(function)


TEXT = json.dumps(document(), indent=2)
FORMS = {
    "document": TEXT.encode(),
    "package of tvmc": archive(mod_so=b"\x7fELF", mod_json=TEXT.encode()),
    "archive": archive(metadata_json=b"{}", **{"executor-config__graph__default.graph": TEXT.encode()}),
    "library": factory("GraphExecutorFactory", TEXT),
    "library of 0.7": factory("GraphRuntimeFactory", TEXT),
    "library in a package": archive(mod_so=factory("GraphExecutorFactory", TEXT)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("kernels")
def test_programs_run_where_their_kernels_are(form: str) -> None:
    found = relax_ir.read_compiled(FORMS[form], form)
    assert found is not None
    assert kernels_of(found.module) == ["tvmgen_default_fused_nn_dense", "fused_split", "fuse_negative"]
    if "library" in form:
        np.testing.assert_array_equal(found.weights["p0"], WEIGHT)
    data = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    left, right = backends.VirtualMachine(backends.build(found.module))["main"](data, WEIGHT)
    product = data @ WEIGHT.T
    np.testing.assert_allclose(left, product[:, :1], rtol=1e-6)
    np.testing.assert_allclose(right, -product[:, 1:].reshape(4, 1), rtol=1e-6)


def test_apache_tvm_runs_programs_where_their_kernels_are() -> None:
    tvm = pytest.importorskip("tvm")
    content = document()
    nodes = [*content["nodes"][:2], kernel("r2r_test_artefact.dense", [[0, 0, 0], [1, 0, 0]])]
    shapes = [[2, 4], [3, 4], [2, 3]]
    tensors = {"dltype": ["list_str", ["float32"] * 3], "shape": ["list_shape", shapes]}
    one = {"nodes": nodes, "arg_nodes": [0, 1], "heads": [[2, 0, 0]], "node_row_ptr": [0, 1, 2, 3], "attrs": tensors}
    found = relax_ir.read_compiled(json.dumps(one).encode(), "deploy_graph.json")
    assert found is not None

    @tvm.register_global_func("r2r_test_artefact.dense", override=True)  # type: ignore[untyped-decorator]
    def dense(data: Any, weight: Any, out: Any) -> None:
        out.copyfrom(data.numpy() @ weight.numpy().T)

    data = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    machine = tvm.relax.VirtualMachine(tvm.compile(relax_ir.to_tvm(found.module), target="llvm"), tvm.cpu())
    result = machine["main"](tvm.runtime.tensor(data), tvm.runtime.tensor(WEIGHT)).numpy()
    np.testing.assert_allclose(result, data @ WEIGHT.T, rtol=1e-6)


def test_programs_are_graphs_and_scripts_like_others() -> None:
    found = relax_ir.read_compiled(FORMS["library"], "deploy.so")
    assert found is not None
    relax_ir.check_well_formed(found.module)
    assert relax_ir.structural_equal(relax_ir.parse(found.module.script()), found.module)
    shown, weights = graph.from_relax(found.module, found.weights)
    assert [one.name for one in shown.get_inputs()] == ["data:0"]
    [weight] = weights.values()
    np.testing.assert_array_equal(weight, WEIGHT)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x7fELF" + bytes(100), b'{"root": 1, "nodes": []}', archive(mod_so=b"\x7fELF"), b"#[version = \"0.0.5\"]",
     b'{"nodes": [], "node_row_ptr": [0], "arg_nodes": [], "heads": [], "attrs": {}}'],
)  # fmt: skip
def test_what_has_no_graph_is_something_else(content: bytes) -> None:
    assert relax_ir.read_compiled(content, "file") is None


def damaged(**changes: Any) -> bytes:
    return json.dumps({**document(), **changes}).encode()


DAMAGED: dict[str, tuple[bytes, str]] = {
    "output that is not there": (damaged(heads=[[3, 2, 0]]), "heads takes output 2 of node 3"),
    "later node": (
        damaged(nodes=[*document()["nodes"][:2], kernel("early", [[3, 0, 0]]), *document()["nodes"][3:]]),
        "node 'n_early' takes output 0 of node 3, which no node before it gives",
    ),
    "rows": (damaged(node_row_ptr=[0, 1]), "do not fit 7 nodes"),
    "falling rows": (damaged(node_row_ptr=[0, 1, 2, 5, 3, 6, 7, 8]), "do not fit 7 nodes"),
    "no heads": (damaged(heads=[]), "no heads"),
    "arguments": (damaged(arg_nodes=[0, 2]), "arg_nodes"),
    "operator": (
        damaged(nodes=[*document()["nodes"][:6], {"op": "relu", "name": "r", "inputs": []}]), "node 'r' is neither"
    ),
    "dtype": (
        damaged(attrs={**document()["attrs"], "dltype": ["list_str", ["float32\"); import os #"] * 8]}), "dtype"
    ),
    "extent": (damaged(attrs={**document()["attrs"], "shape": ["list_shape", [[-1]] * 8]}), "shape"),
    "kinds": (damaged(nodes=[1]), r"nodes[0]"),
    "cut library": (FORMS["library"][:500], "found the end of the file"),
    "foreign library": (factory("GraphExecutorFactory", '{"nodes": []}'), "no graph of a graph executor"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_told(name: str) -> None:
    content, said = DAMAGED[name]
    with pytest.raises(Relay2RelaxError) as caught:
        relax_ir.read_compiled(content, "deploy")
    assert said in str(caught.value)


def test_every_cut_of_a_library_is_told() -> None:
    whole = FORMS["library"]
    last = len(whole) - 50 - len(string("default"))
    for end in range(150, last, 7):
        with pytest.raises(ParseError):
            relax_ir.read_compiled(whole[:end], "deploy.so")
