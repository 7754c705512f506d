"""Files of weights: npz, safetensors and TVM's ``.params``."""

from __future__ import annotations

import copy
import io
import json
import random
import struct
import zipfile
from collections.abc import Callable

import ml_dtypes
import numpy as np
from safetensors.numpy import save

from file_fuzzing.format import Format, damage_bytes, damage_document
from relay2relax import relay_ir
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError

# No file of a few kilobytes may make more of itself than this.
MOST_BYTES = 300_000_000


def check(data: bytes) -> bool:
    """Read weights, and write what was read as two formats."""
    try:
        found = relay_ir.load_params(data)
    except Relay2RelaxError as error:
        _sensible(str(error))
        return False
    total = sum(array.nbytes for array in found.values() if 0 not in array.strides)
    assert total <= MOST_BYTES, f"{len(data)} bytes became {total}"
    for array in found.values():
        assert not array.flags.writeable or array.flags.owndata
        array.ravel()[-1:].tobytes()
    again = relay_ir.load_params(relay_ir.save_params(found))
    assert list(again) == sorted(found)
    for name, array in found.items():
        assert again[name].tobytes() == np.asarray(array, array.dtype.newbyteorder("<")).tobytes()
    return True


def _sensible(message: str) -> None:
    assert len(message) < 2000, f"a message of {len(message)} characters"


def _arrays() -> dict[str, Array]:
    rng = np.random.default_rng(0)
    return {
        "w": rng.standard_normal((4, 3)).astype(np.float32),
        "b.0": np.arange(3, dtype=np.int64),
        "s": np.array(2.5),
        "none": np.zeros((0, 2), np.int8),
        "mask": np.array([True, False, True]),
        "half": np.ones((2, 2), np.float16),
    }


# --- npz ------------------------------------------------------------------------------------------


def _npz_seeds() -> list[bytes]:
    made = []
    writers: tuple[Callable[..., None], ...] = (np.savez, np.savez_compressed)
    for write in writers:
        for arrays in (_arrays(), {"w": np.asfortranarray(np.ones((3, 2), ">f4"))}, {}):
            stream = io.BytesIO()
            write(stream, **arrays)
            made.append(stream.getvalue())
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("w.npy", _npy(np.ones(5, np.float32)), zipfile.ZIP_BZIP2)
        archive.writestr("v.npy", _npy(np.ones(5, np.float32)))
        archive.writestr("version", "3")
    made.append(stream.getvalue())
    return made


def _npy(array: Array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


_HEADERS = (
    "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': ()}",
    "{'descr': '%s', 'fortran_order': True, 'shape': (2, 3)}",
    "{'descr': [('a', '<f4')], 'fortran_order': 0}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': %s}",
    "{'descr': %s, 'fortran_order': 1, 'shape': ()}",
    "{%s: 1}",
    "%s",
)
_TEXTS = (
    "", "0", "-1", "2", "1, 1", "2**40", "9" * 30, "9" * 5000, "1e5", "1" + "0" * 18, "0, " + "9" * 18, "<f4",
    "<U9999999", "|V5", "S3", "<M8[s]", "m8", "(2,3)f4", "f4,i4", "{'a': 1}", "[" * 100, "-" * 3000,
    "(" * 200 + ")" * 200, "None", "...", "1j", "b''", "f''", "{1, 2}", "{[]}", "{{}: 1}", "'\\ud800'", "\x00",
    "float8_e4m3fn", "bfloat16", "longdouble", "g", "set()", "1 + 1", "1 + 2j", "True", "O", "=f8", ">f2",
    "1" + ", 1" * 70, "'a' 'b'", "lambda: 0", "(yield)",
)  # fmt: skip


def _damage_npz(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Damage the archive, or an array inside one whose checksums fit."""
    if rng.random() < 0.5:
        return damage_bytes(rng, data, others)
    array = rng.choice(list(_arrays().values()))
    member = _npy(array)
    if rng.random() < 0.4:
        member = damage_bytes(rng, member, [member])
    else:
        header = rng.choice(_HEADERS)
        text = (header % rng.choice(_TEXTS) if "%" in header else header).encode("utf-8", "surrogatepass")
        member = member[:6] + bytes([rng.choice((1, 1, 1, 2, 3, 4)), 0]) + struct.pack("<H", len(text)) + text
        member += bytes(rng.choice((0, 4, 24, 48)))
    stream = io.BytesIO()
    packed = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(stream, "w", packed) as archive:
        archive.writestr(rng.choice(("w.npy", "w", ".npy", "a/b.npy", "../x.npy", "é.npy")), member)
        if rng.randrange(3) == 0:
            archive.writestr(rng.choice(("v.npy", "v", "data.pkl", "v/")), _npy(array))
    made = bytearray(stream.getvalue())
    if rng.randrange(2):  # fields of the directory, which says what is in the archive
        at = made.find(b"PK\x01\x02") + rng.choice((4, 6, 8, 10, 16, 20, 24, 28, 30, 32, 34, 42))
        made[at : at + 2] = struct.pack("<H", rng.choice((0, 1, 8, 9, 12, 14, 63, 0x800, 99, 0xFFFF)))
    return bytes(made)


# --- safetensors ----------------------------------------------------------------------------------


def _safetensors_seeds() -> list[bytes]:
    given = _arrays() | {"bf": np.ones(3, ml_dtypes.bfloat16), "f8": np.ones(2, ml_dtypes.float8_e4m3fn)}
    return [save(given, metadata={"made": "by a test"}), save({"w": np.ones((2, 2), np.float32)}), save({})]


def _damage_safetensors(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    if rng.random() < 0.4:
        return damage_bytes(rng, data, others)
    try:
        (length,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + length])
    except (ValueError, RecursionError, struct.error):
        return damage_bytes(rng, data, others)
    text = json.dumps(damage_document(rng, copy.deepcopy(header))).encode()
    if rng.randrange(8) == 0:
        text = damage_bytes(rng, text, [text])
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


# --- params ---------------------------------------------------------------------------------------


def _params_seeds() -> list[bytes]:
    given = _arrays() | {"bf": np.ones(3, ml_dtypes.bfloat16)}
    return [relay_ir.save_params(given), relay_ir.save_params({"w": np.ones((2, 2), np.float32)})]


NPZ = Format("npz", _npz_seeds, _damage_npz, check)
SAFETENSORS = Format("safetensors", _safetensors_seeds, _damage_safetensors, check)
PARAMS = Format("params", _params_seeds, damage_bytes, check)
