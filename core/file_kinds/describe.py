"""What a file is that no reader here reads: told by its content, for messages.

describe_content(buffer, "weights")   # "an HDF5 file, as Keras writes them; save the weights …"
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from relay2relax.core.file_kinds.tar import is_tar, relay_texts, tar_files

# Text is told by its beginning.
_HEAD = 4096
_TORCH = "--params reads its state dict where PyTorch is installed"
_PROGRAM = "relay_ir.frontend.from_pytorch imports those, and so does the command"
_UNPACK = "unpack it, and name the file inside"
ONNX = "an ONNX model; relay_ir.frontend.from_onnx imports those, and so does the command"
# What TVM compiled: see ``relax_ir/compiled``.
_COMPILED = "use what it was compiled from; where it has the graph of an executor, `relay2relax inspect` shows that"
_OBJECTS = (
    "a library that TVM compiled, as object files in a compressed archive; it holds no Relay: use what it was compiled "
    "from"
)
# What a command asked for where it was given another file.
Asked = Literal["model", "weights"]
# What to do with a file that is right in another place.
_ELSEWHERE: dict[Asked, tuple[Asked, str]] = {
    "model": ("weights", "weights go behind --params, and the model's Relay before it"),
    "weights": ("model", "a model is named without --params"),
}


@dataclass(frozen=True, slots=True)
class _Kind:
    """Files that have ``mark`` at ``place``; ``advice`` is what to do with them, ``holds`` what may
    be read from them elsewhere.
    """

    mark: bytes
    what: str
    advice: str = ""
    place: int = 0
    holds: Asked | None = None


_KINDS = (
    # A number that PyTorch up to 1.5 pickled in front of its checkpoints.
    _Kind(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19", "a PyTorch checkpoint", _TORCH),
    *(
        _Kind(
            bytes([0x80, version]),
            "a pickle of Python, which may run anything when it is read",
            "save the arrays with numpy.savez or as safetensors",
        )
        for version in (2, 3, 4, 5)
    ),
    _Kind(b"\x93NUMPY", "a single array of numpy", "--params and --inputs read it"),
    _Kind(b"\x1f\x8b", "a gzip file", _UNPACK),
    _Kind(b"BZh", "a bzip2 file", _UNPACK),
    _Kind(b"\xfd7zXZ\x00", "an xz file", _UNPACK),
    _Kind(b"\x28\xb5\x2f\xfd", "a Zstandard file", _UNPACK),
    _Kind(b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    _Kind(b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes them", "save the weights with numpy.savez"),
    _Kind(b"GGUF", "a GGUF file", "convert it to safetensors"),
    _Kind(b"TFL3", "a TensorFlow Lite model", "import it in a TVM that has the frontend, and save the Relay", 4),
    _Kind(b"\x7fELF", "a library or program (ELF)", f"a compiled model holds no Relay: {_COMPILED}"),
    _Kind(b"MZ", "a library or program of Windows"),
    _Kind(b"\xcf\xfa\xed\xfe", "a library or program of macOS"),
    _Kind(b"\xca\xfe\xba\xbe", "a library or program of macOS, or a class of Java"),
    _Kind(b"!<arch>\n", "a static library"),
    _Kind(
        0xD225DE2F4214151D.to_bytes(8, "little"),
        "the bytecode of TVM's virtual machine",
        "it names kernels of a library and holds no Relay: use what it was compiled from",
    ),
    _Kind(b"%PDF", "a PDF document"),
    _Kind(b"\x89PNG", "a PNG picture"),
    _Kind(b"\xff\xd8\xff", "a JPEG picture"),
    _Kind(b"SQLite format 3\x00", "an SQLite database"),
    _Kind(b"R2RXEXE\n", "an executable that was saved", "backends.load_executor or backends.Executable.load reads it"),
    _Kind(b"version https://git-lfs", "a pointer to a file that Git LFS has not fetched", "run `git lfs pull`"),
    *(
        _Kind(mark, "a page of HTML", "the download may have failed")
        for mark in (b"<!DOCTYPE", b"<!doctype", b"<html", b"<HTML")
    ),
    _Kind(b"\xff\xfe", "text in UTF-16", "save it as UTF-8"),
    _Kind(b"\xfe\xff", "text in UTF-16", "save it as UTF-8"),
    _Kind(b"\xb7\x9c\x04\x05\x4f\x8d\xe5\xf7", "a file of parameters, as TVM saves them", holds="weights"),
    _Kind(b"\x12\x01" + bytes(6), "a file of parameters of MXNet", "save them with numpy.savez"),
    _Kind(b'{"', "a file of weights (safetensors)", place=8, holds="weights"),
    _Kind(b"#[version", "Relay text", holds="model"),
    _Kind(b"{", "a JSON document", holds="model"),
)  # fmt: skip


def describe_content(buffer: memoryview, asked: Asked) -> str:
    """Return what the file is, and what to do with it, in words for a message, where ``asked`` for.

    "" where it is not known.
    """
    head = bytes(buffer[:_HEAD])
    if not head:
        return "an empty file"
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        what = describe_archive(archive_names(buffer), asked)
        return what or _with_advice("an npz file of arrays", "", "weights", asked)
    if is_tar(buffer):
        return _describe_tar(buffer)
    if _holds_objects(head):
        return _OBJECTS
    for kind in _KINDS:
        if head.startswith(kind.mark, kind.place):
            return _with_advice(kind.what, kind.advice, kind.holds, asked)
    if is_onnx(buffer):
        return ONNX
    if not head.strip(b"\0"):
        return "a file that begins with zeros alone; it may not have been written to its end"
    return "text" if _is_text(head) else ""


# JSON documents by keys that they have and Relay's have not; the first that fits counts.
_DOCUMENTS: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"nodes", "arg_nodes", "heads"}),
        "the graph of a graph executor, as TVM's relay.build makes it of fused kernels, or a symbol of MXNet; neither "
        "holds Relay: name the module that it was made of, which TVM saves with mod.astext() or save_json; "
        "`relay2relax inspect` shows the graph of an executor",
    ),
    (
        frozenset({"root_index", "nodes"}),
        "a document of TVM 0.21 or later, which has no Relay; name the module as TVM up to 0.19 saves it",
    ),
    (frozenset({"nodes", "prims", "relay2relax"}), "a graph that relay2relax wrote; name the model it was made of"),
    (frozenset({"model", "via", "relay_calls"}), "a summary that convert wrote; name the model it was made of"),
)


def describe_document(document: Mapping[str, object]) -> str:
    """Return what a JSON document is that is no module, and what to do with it; "" where it is not
    known.
    """
    return next((what for keys, what in _DOCUMENTS if "root" not in document and keys <= document.keys()), "")


def archive_names(buffer: memoryview) -> list[str]:
    """Return the names in a zip archive; none where it is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(buffer)) as archive:
            return archive.namelist()
    # What ``zipfile`` raises for damage; the names are for a message, which goes without them.
    except (zipfile.BadZipFile, zlib.error, OSError, ArithmeticError, AttributeError, LookupError, ValueError,
            MemoryError, RuntimeError, TypeError, EOFError):  # fmt: skip
        return []


def torch_program(buffer: memoryview) -> Literal["exported", "script", ""]:
    """Return which program of PyTorch's a file is: of ``torch.export``, TorchScript, or none."""
    return _program_of(archive_names(buffer)) if bytes(buffer[:4]) == b"PK\x03\x04" else ""


def _program_of(names: list[str]) -> Literal["exported", "script", ""]:
    parts = {name.rpartition("/")[2] for name in names}
    if "data.pkl" in parts and "constants.pkl" in parts:
        return "script"
    folders = {name.split("/")[1] for name in names if name.count("/") > 1}
    return "exported" if "archive_format" in parts and "models" in folders else ""


def describe_archive(names: list[str], asked: Asked = "weights") -> str:
    """Return what a zip archive with these names is, and what to do with it."""
    program = _program_of(names)
    if program:
        what = "a program of torch.export" if program == "exported" else "a TorchScript program"
        weights = "save the weights: safetensors.torch.save_file(module.state_dict(), path)"
        return f"{what}; {_PROGRAM if asked == 'model' else weights}"
    parts = {name.rpartition("/")[2] for name in names}
    if "data.pkl" in parts:
        whole = ", and a whole module is read as torch.export.save writes it" if asked == "model" else ""
        return f"a PyTorch checkpoint; {_TORCH}{whole}"
    if "serialized_exported_program.json" in parts:
        return "a program of torch.export as PyTorch up to 2.7 saved it; load it, and save it with PyTorch 2.8 or later"
    if "model.weights.h5" in parts:
        return "a Keras model; save the weights with numpy.savez"
    if "META-INF" in {name.partition("/")[0] for name in names}:
        return "a Java archive"
    if any(name.endswith(".npy") for name in names):
        return ""
    return f"a zip archive; {_UNPACK}"


def _with_advice(what: str, advice: str, holds: Asked | None, asked: Asked) -> str:
    other, elsewhere = _ELSEWHERE[asked]
    advice = elsewhere if holds == other else advice
    return f"{what}; {advice}" if advice else what


def _describe_tar(buffer: memoryview) -> str:
    """Return what a tar archive is: TVM has three kinds of them."""
    files = tar_files(buffer)
    if relay_texts(files):
        return "an archive in TVM's Model Library Format, without parameters; it is read as a model"
    if "mod.so" in files:
        return f"what tvmc compiled, which holds no Relay: {_COMPILED}"
    if "metadata.json" in files:
        return f"an archive in TVM's Model Library Format that holds no Relay: {_COMPILED}"
    return f"a tar archive; {_UNPACK}"


def _holds_objects(head: bytes) -> bool:
    """Whether ``head`` begins a compressed tar archive whose first file is an object file."""
    if not head.startswith(b"\x1f\x8b"):
        return False
    try:
        begin = zlib.decompressobj(wbits=31).decompress(head, 1024)
    except zlib.error:
        return False
    return is_tar(memoryview(begin)) and begin[:100].split(b"\0")[0].endswith(b".o")


def is_onnx(buffer: memoryview) -> bool:
    """Whether ``buffer`` begins as a protobuf does whose first fields are a small number and
    bytes.
    """
    head = bytes(buffer[:3])
    return len(head) > 2 and head[0] == 8 and 0 < head[1] < 32 and head[2] in b"\x12\x1a\x22\x3a\x42"


def _is_text(head: bytes) -> bool:
    """Whether ``head`` is UTF-8, but for a character that is cut at its end."""
    text = head.decode("utf-8", "ignore").encode()
    return len(head) - len(text) < 4 and head.startswith(text) and b"\0" not in head
