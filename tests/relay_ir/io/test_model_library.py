"""Archives in TVM's Model Library Format, laid out as TVM 0.8 and 0.18 do."""

from __future__ import annotations

import contextlib
import io
import json
import random
import tarfile
from pathlib import Path

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.core import ParseError, Relay2RelaxError

TEXT = """#[version = "0.0.5"]
def @main(%data: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) {
  nn.relu(nn.dense(%data, %w, units=3))
}
"""
VALUES = {"w": np.arange(12, dtype=np.float32).reshape(3, 4)}
# Versions of the format, and where the text lies in them, as TVM's history of its writer has it.
LAYOUTS = {
    **dict.fromkeys((1, 2, 3), "./relay.txt"), **dict.fromkeys((4, 5, 6), "./src/relay.txt"), 7: "./src/net.relay",
}  # fmt: skip


def library(version: int = 5, **more: bytes) -> bytes:
    """Return an archive as ``export_model_library_format`` makes it: folders are there as well."""
    files = {
        "./metadata.json": json.dumps({"version": version, "model_name": "net"}).encode(),
        "./codegen/host/lib/lib0.o": b"\x7fELF",
        "./parameters/net.params": relay_ir.save_params(VALUES),
        LAYOUTS[version]: TEXT.encode(),
        **{f"./src/{name}.relay": content for name, content in more.items()},
    }
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as made:
        for folder in (".", "./codegen", "./codegen/host", "./codegen/host/lib", "./parameters", "./src"):
            one = tarfile.TarInfo(folder)
            one.type = tarfile.DIRTYPE
            made.addfile(one)
        for name, content in files.items():
            one = tarfile.TarInfo(name)
            one.size = len(content)
            made.addfile(one, io.BytesIO(content))
    return stream.getvalue()


@pytest.mark.parametrize("version", LAYOUTS)
def test_text_and_params_are_read(tmp_path: Path, version: int) -> None:
    path = tmp_path / "net.tar"
    path.write_bytes(library(version))
    assert relay_ir.structural_equal(relay_ir.load(path), relay_ir.parse(TEXT))
    found = relay_ir.load_params(path)
    assert list(found) == ["w"]
    np.testing.assert_array_equal(found["w"], VALUES["w"])
    np.testing.assert_array_equal(relay_ir.load_params(library(version))["w"], VALUES["w"])


def test_mistakes_name_the_text_in_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "net.tar"
    path.write_bytes(library().replace(b"nn.relu", b"nn.rleu"))
    with pytest.raises(ParseError, match=r"unknown operator `nn\.rleu` \(.*net\.tar:src/relay\.txt:3:3\)"):
        relay_ir.infer_type(relay_ir.load(path))


def test_several_texts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.tar"
    path.write_bytes(library(7, other=TEXT.encode()))
    with pytest.raises(ParseError, match=r"has 2 Relay texts: 'src/net\.relay', 'src/other\.relay'"):
        relay_ir.load(path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.relay").write_text(TEXT)
    path = tmp_path / "net.tar"
    with tarfile.open(path, "w") as made:
        for type_ in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            one = tarfile.TarInfo("src/relay.txt")
            one.type, one.linkname = type_, str(tmp_path / "secret.relay")
            made.addfile(one)
    with pytest.raises(ParseError, match="is neither Relay text nor JSON: it is a tar archive"):
        relay_ir.load(path)


def test_damage_ends_in_our_errors(tmp_path: Path) -> None:
    path, draw, whole = tmp_path / "net.tar", random.Random(0), library()
    for _ in range(300):
        content = bytearray(whole[: draw.choice((len(whole), draw.randrange(300, len(whole))))])
        for _ in range(draw.randrange(4)):
            content[draw.randrange(len(content))] = draw.randrange(256)
        path.write_bytes(content)
        for read in (relay_ir.load, relay_ir.load_params):
            # Any other exception fails the test.
            with contextlib.suppress(Relay2RelaxError):
                read(path)
