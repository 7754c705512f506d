"""Files that are handed to a command by mistake, and a good model to hand them with."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping

import numpy as np

from relay2relax import relay_ir

LINEAR = """#[version = "0.0.5"]
def @main(%data: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) {
  nn.relu(nn.dense(%data, %w, units=3))
}
"""
_DATA, _W = np.ones((2, 4), np.float32), np.ones((3, 4), np.float32)


def tar(*names: str) -> bytes:
    """Return a tar archive of empty files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as made:
        for name in names:
            made.addfile(tarfile.TarInfo(name))
    return stream.getvalue()


def archive(*names: str) -> bytes:
    """Return a zip archive of small files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for name in names:
            made.writestr(name, b"x")
    return stream.getvalue()


def _npz(**arrays: object) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def _npy() -> bytes:
    stream = io.BytesIO()
    np.save(stream, _DATA)
    return stream.getvalue()


def _safetensors(header: object, body: bytes = bytes(48)) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


_F32 = {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}
# What fits: a model, its inputs, its outputs.
GOOD: Mapping[str, bytes] = {
    "linear.relay": LINEAR.encode(),
    "in.npz": _npz(data=_DATA),
    "w.params": relay_ir.save_params({"w": _W}),
    "array.npy": _npy(),
    "out.npz": _npz(out0=np.full((2, 3), 4, np.float32)),
}
# What is neither a model nor weights.
NEITHER: Mapping[str, bytes] = {
    "empty": b"",
    "zeros": bytes(100),
    "noise": bytes(range(250, 256)) * 40,
    "prose": b"Dear reader,\nthis is a letter.\n",
    "page.html": b"<!DOCTYPE html><html><body>404</body></html>",
    "lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    "net.onnx": b"\x08\x08\x12\x07pytorch",
    "net.tflite": b"\x1c\0\0\0TFL3" + bytes(40),
    "net.h5": b"\x89HDF\r\n\x1a\n" + bytes(40),
    "net.pt": archive("net/data.pkl", "net/version"),
    "net.gguf": b"GGUF" + bytes(40),
    "net.pkl": b"\x80\x04\x95\x05\x00.",
    "net.so": b"\x7fELF" + bytes(60),
    "net.gz": gzip.compress(LINEAR.encode()),
    "net.zip": archive("net.relay"),
    "mlf.tar": tar("./metadata.json", "./src/tir-1.txt"),
    "tvmc.tar": tar("mod.so", "mod.json", "mod.params"),
    "utf16": LINEAR.encode("utf-16"),
    "list.json": b"[1, 2]",
    "object.json": b'{"a": 1}',
    "cut.json": b'{"nodes": [',
    "executor.json": b'{"nodes": [], "arg_nodes": [], "heads": [], "attrs": {}, "node_row_ptr": []}',
}
# Models that are damaged, or wrong.
MODELS: Mapping[str, bytes] = {
    "cut.relay": LINEAR[:90].encode(),
    "version.relay": LINEAR.replace("0.0.5", "9.9.9").encode(),
    "typo.relay": LINEAR.replace("relu", "rleu").encode(),
    "ill_typed.relay": LINEAR.replace("units=3", "units=7").encode(),
    "unbound.relay": LINEAR.replace("%w,", "%v,").encode(),
    "attribute.relay": LINEAR.replace("units", "unit").encode(),
    "no_main.relay": (LINEAR.replace("@main", "@other") + LINEAR.replace("@main", "@another")).encode(),
    "nul.relay": LINEAR.replace("nn", "n\0n").encode(),
    "deep.relay": LINEAR.replace("nn.relu(", "(" * 3000).encode(),
}
# Weights that are damaged, or of another model.
WEIGHTS: Mapping[str, bytes] = {
    "cut.params": GOOD["w.params"][:60],
    "more.params": GOOD["w.params"] + b"more",
    "count.params": GOOD["w.params"][:16] + b"\xff" * 8 + GOOD["w.params"][24:],
    "other.params": relay_ir.save_params({"other": _W}),
    "shape.params": relay_ir.save_params({"w": _W.T.copy()}),
    "dtype.npz": _npz(w=_W.astype(np.int32)),
    "cut.npz": _npz(w=_W)[:-30],
    "objects.npz": _npz(w=np.array([None, "x"], object)),
    "texts.npz": _npz(w=np.array(["a", "b"])),
    "complex.npz": _npz(w=_W.astype(np.complex64)),
    "cut.safetensors": _safetensors({"w": _F32}, bytes(40)),
    "long.safetensors": _safetensors({"w": _F32}, bytes(60)),
    "dtype.safetensors": _safetensors({"w": {**_F32, "dtype": "F31"}}),
    "header.safetensors": _safetensors([1, 2]),
}
