"""Files that are not read are named by what they are, however short they are."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest
from wrong_files import archive, tar

from relay2relax import relay_ir
from relay2relax.core.errors import ParseError
from relay2relax.core.file_kinds import describe_content

FILES = {
    "a TorchScript program": archive("m/data.pkl", "m/constants.pkl", "m/code/f.py"),
    "a zip archive": archive("weights.bin"),
    "a gzip file": gzip.compress(b"x" * 100),
    "what tvmc compiled": tar("mod.so", "mod.params"),
    "a tar archive; unpack it": tar("weights.bin"),
    "Model Library Format that holds no Relay": tar("./metadata.json", "./src/tir-1.txt"),
    "a pickle of Python": pickle.dumps({"w": 1}, protocol=4),
    "an ONNX model": b"\x08\x08\x12\x07pytorch",
    "a library or program": b"\x7fELF" + bytes(60),
    "a page of HTML": b"<!DOCTYPE html><html></html>",
    "Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
    "an empty file": b"",
    "Relay text": b'#[version = "0.0.5"]\n',
    "of no kind that is known": bytes(range(250, 256)) * 10,
}


@pytest.mark.parametrize("what", FILES)
def test_files_are_named(what: str) -> None:
    with pytest.raises(ParseError, match=f"not a parameter file: it is .*{what}"):
        relay_ir.load_params(FILES[what])


WEIGHTS = {
    "a file of parameters": relay_ir.save_params({"w": np.ones(2, np.float32)}),
    "an npz file of arrays": archive("w.npy"),
    "a file of weights": b"\x40" + bytes(7) + b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
}


@pytest.mark.parametrize("what", FILES | WEIGHTS)
def test_what_is_no_model_is_named(what: str, tmp_path: Path) -> None:
    (tmp_path / "m.relay").write_bytes((FILES | WEIGHTS)[what])
    if what == "Relay text":
        return
    wanted = {"an empty file": "is empty", "of no kind that is known": "is not UTF-8"}.get(what, what)
    with pytest.raises(ParseError, match=wanted) as caught:
        relay_ir.load(tmp_path / "m.relay")
    assert "--params" in str(caught.value) or what not in WEIGHTS


# A graph as graph executors of TVM load it, and what convert writes beside a script.
DOCUMENTS = {
    "graph of a graph executor": (
        '{"nodes": [{"op": "null", "name": "x", "inputs": []}], "arg_nodes": [0], "heads": [[0, 0, 0]], '
        '"attrs": {"dltype": ["list_str", ["float32"]]}, "node_row_ptr": [0, 1]}'
    ),
    "a graph that relay2relax wrote": '{"name": "main", "nodes": [], "prims": [], "relay2relax": {}}',
    "a summary that convert wrote": '{"model": "m.relay", "via": "graph", "relay_calls": 1}',
}


@pytest.mark.parametrize("what", DOCUMENTS)
def test_documents_that_are_no_modules_are_named(what: str) -> None:
    with pytest.raises(ParseError, match=f"{what}.*; .*name the mod"):
        relay_ir.load_json(DOCUMENTS[what])


@pytest.mark.parametrize("what", FILES)
def test_beginnings_of_files(what: str) -> None:
    for end in range(min(300, len(FILES[what]))):
        assert len(describe_content(memoryview(FILES[what][:end]), "model")) < 300
