"""Weights that are read only if they have the hash that is stated of them; hashlib witnesses."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from relay2relax import relay_ir
from relay2relax.core.errors import FileError, ParseError

WEIGHTS = {"w": np.arange(6, dtype=np.float32).reshape(2, 3)}


@pytest.fixture
def params(tmp_path: Path) -> Path:
    path = tmp_path / "m.params"
    path.write_bytes(relay_ir.save_params(WEIGHTS))
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "line", ["{hash}", "{hash}  m.params", "{hash} *m.params", "{hash}  ./some/m.params", "{upper}\n"]
)
def test_hash_beside(params: Path, line: str) -> None:
    found = digest(params)
    beside = params.with_name("m.params.sha256")
    beside.write_text(line.format(hash=found, upper=found.upper()))
    np.testing.assert_array_equal(relay_ir.load_params(params, verify=True)["w"], WEIGHTS["w"])
    params.write_bytes(params.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ParseError, match=r"not the one that m.params.sha256 was made of"):
        relay_ir.load_params(params, verify=True)
    assert relay_ir.load_params(params)["w"][1, 2] != 5


def test_many_hashes_beside(params: Path) -> None:
    other = "0" * 64
    params.with_name("m.params.sha256").write_text(f"{other}  n.params\n{digest(params)}  m.params\n")
    relay_ir.load_params(params, verify=True)


@pytest.mark.parametrize(("text", "said"), [
    ("", "states no SHA-256"), ("0" * 63, "states no SHA-256"), ("0" * 64 + "  n.params", "states no SHA-256"),
    ("0" * 64 + "\n" + "1" * 64, "states no SHA-256"), ("0" * 64, "not the one"),
])  # fmt: skip
def test_what_states_nothing_of_the_file(params: Path, text: str, said: str) -> None:
    params.with_name("m.params.sha256").write_text(text)
    with pytest.raises(ParseError, match=said):
        relay_ir.load_params(params, verify=True)


def test_no_hash(params: Path) -> None:
    with pytest.raises(ParseError, match=r"there is no m.params.sha256 beside it"):
        relay_ir.load_params(params, verify=True)
    params.with_name("m.params.sha256").write_bytes(b"\xff")
    with pytest.raises(FileError, match="cannot read"):
        relay_ir.load_params(params, verify=True)


def test_hash_in_the_metadata(tmp_path: Path) -> None:
    content = save(WEIGHTS)
    start = 8 + int.from_bytes(content[:8], "little")
    path = tmp_path / "m.safetensors"
    path.write_bytes(save(WEIGHTS, metadata={"sha256": hashlib.sha256(content[start:]).hexdigest()}))
    relay_ir.load_params(path, verify=True)
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ParseError, match="SHA-256 that the metadata states"):
        relay_ir.load_params(path, verify=True)
