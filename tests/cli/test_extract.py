"""``relay2relax extract`` and ``split``: files that are models again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run_here

from relay2relax import backends, relay_ir

MODEL = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = exp(%x);
  %1 = tanh(%0);
  add(%1, %0)
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.relay").write_text(MODEL)
    np.savez(tmp_path / "x.npz", x=np.arange(6, dtype="float32").reshape(2, 3) / 4)
    return tmp_path


def computed(path: Path, inputs: Path) -> list[np.ndarray]:
    mod = relay_ir.infer_type(relay_ir.parse(path.read_text()))
    with np.load(inputs) as given:
        value = backends.create_executor("debug", mod).evaluate()(**given)
    return list(value) if isinstance(value, tuple) else [value]


def test_nodes_are_listed(folder: Path) -> None:
    found = run_here(["extract", "net.relay", "--json"], folder)
    assert found.returncode == 0
    nodes = json.loads(found.stdout)["nodes"]
    assert [(node["name"], node["computes"]) for node in nodes] == [("%x", "given"), ("%0", "exp"), ("%1", "tanh")]


def test_a_node_with_its_values(folder: Path) -> None:
    found = run_here(["extract", "net.relay", "--inputs", "x.npz", "--node", "%1", "--json"], folder)
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert document["parts"] == [{"name": "net", "inputs": {"t0": "Tensor[(2, 3), float32]"}, "outputs": 1}]
    with np.load(folder / "net_extract/net_inputs.npz") as inputs, np.load(folder / "x.npz") as given:
        np.testing.assert_allclose(inputs["t0"], np.exp(given["x"]), rtol=1e-6)
        wanted = np.tanh(np.exp(given["x"]))
    with np.load(folder / "net_extract/net_expected.npz") as expected:
        np.testing.assert_allclose(expected["out0"], wanted, rtol=1e-6)
        (value,) = computed(folder / "net_extract/net.relay", folder / "net_extract/net_inputs.npz")
        np.testing.assert_array_equal(value, expected["out0"])


def test_all_parts(folder: Path) -> None:
    found = run_here(["split", "net.relay", "--inputs", "x.npz", "--at", "%1"], folder)
    assert found.returncode == 0, found.stderr
    made = folder / "net_parts"
    for number, outputs in ((0, 2), (1, 1)):
        with np.load(made / f"net_part_{number}_expected.npz") as expected:
            values = computed(made / f"net_part_{number}.relay", made / f"net_part_{number}_inputs.npz")
            assert len(values) == len(expected.files) == outputs
            assert all(value.tobytes() == expected[f"out{place}"].tobytes() for place, value in enumerate(values))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["extract", "net.relay", "--node", "%7"], 3, "@main has no node '%7'"),
        (["extract", "net.relay", "--node", "%1", "--between", "%0", "%1"], 2, "not both"),
        (["extract", "net.relay", "--between", "%1", "%0"], 3, "no way leads from %1 to %0"),
        (["split", "net.relay"], 2, "--at once for each node"),
    ],
)
def test_what_is_refused(folder: Path, arguments: list[str], code: int, message: str) -> None:
    found = run_here(arguments, folder)
    assert message in found.stderr
    assert found.returncode == code
    assert not list(folder.glob("net_*"))
