"""Files that are not read are named by what they are, however short they are."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
import zipfile

import pytest

from relay2relax import relay_ir
from relay2relax.core.errors import ParseError
from relay2relax.core.file_kinds import describe_content


def archive(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for name in names:
            made.writestr(name, b"x")
    return stream.getvalue()


def tar() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as made:
        made.addfile(tarfile.TarInfo("mod.so"))
    return stream.getvalue()


FILES = {
    "a TorchScript program": archive("m/data.pkl", "m/constants.pkl", "m/code/f.py"),
    "a zip archive": archive("weights.bin"),
    "a gzip file": gzip.compress(b"x" * 100),
    "a tar archive": tar(),
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


@pytest.mark.parametrize("what", FILES)
def test_beginnings_of_files(what: str) -> None:
    for end in range(min(300, len(FILES[what]))):
        assert len(describe_content(memoryview(FILES[what][:end]))) < 300
