"""Parameter files (``save_param_dict``), and binding their tensors to a function's parameters.

file ::= u64 magic, u64 reserved, u64 count, (u64 length, name) * count, u64 count, tensor * count
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import TypeAlias, Union

from relay2relax.core.amounts import counted
from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import FileError, ParseError, Relay2RelaxError, mistake
from relay2relax.core.errors.table import reading, relax
from relay2relax.core.file_kinds import describe_content, is_tar
from relay2relax.core.limits import read_file
from relay2relax.core.npz import is_npy, is_npz, read_npy, read_npz
from relay2relax.core.source import to_bytes, to_text
from relay2relax.core.tensor_blob import read_tensor, write_tensor
from relay2relax.core.weight_files import is_safetensors, read_safetensors
from relay2relax.relay_ir.io.model_library import params_member
from relay2relax.relay_ir.io.torch_files import is_checkpoint, read_checkpoint
from relay2relax.relay_ir.io.verification import check_hash
from relay2relax.relay_ir.ir.expr import Constant, Expr, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import substitute
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.tir.extent import is_any, static

LIST_MAGIC = 0xF7E58D4F05049CB7
_COUNT = struct.Struct("<Q")

Source: TypeAlias = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]"]


def load_params(source: Source, verify: bool = False) -> dict[str, Array]:
    """Return the tensors of a parameter file by name, in the file's order.

    Safetensors, npz and npy files are read as well, and state dicts of PyTorch where that is
    installed; which it is tells the content, and so is the only parameter file in an archive in
    TVM's Model Library Format. The array of an npy file is called as the file is,
    without its suffix.

    ``source`` is the content, or the path of a file, which is read once. The arrays are read-only
    views of what was read; nothing is copied but arrays of npz and npy files. With ``verify`` a
    file is read only if it has the SHA-256 that is stated beside it, or in its metadata
    (``verification.py``). Raises ParseError where the content is damaged or another one, FileError
    where the file cannot be read, UnsupportedError where PyTorch is needed and not installed.
    """
    if not isinstance(source, (str, os.PathLike)):
        return _read(_unpacked(memoryview(source), "the archive"), "array")
    try:
        buffer = _read_file(source)
        if verify:
            check_hash(source, buffer)
        return _read(_unpacked(buffer, os.fspath(source)), PurePath(source).stem)
    except ParseError as error:
        problem = error.diagnostics[0]
        raise ParseError(
            replace(problem, title=f"{os.fspath(source)!r}: {problem.title}"), kind=problem.kind
        ) from error


def _unpacked(buffer: memoryview, name: str) -> memoryview:
    """Return the parameter file in an archive, and anything else as it is."""
    member = params_member(buffer, name) if is_tar(buffer) else None
    return buffer if member is None else member[1]


def _read(buffer: memoryview, name: str) -> dict[str, Array]:
    """Return the tensors of a file of any of the formats; ``name`` is that of a single array."""
    if is_safetensors(buffer):
        return read_safetensors(buffer)
    if is_checkpoint(buffer):
        return read_checkpoint(buffer)
    if is_npz(buffer):
        return read_npz(buffer)
    if is_npy(buffer):
        return {name: read_npy(buffer)}
    if len(buffer) < 8 or _count(buffer, 0) != LIST_MAGIC:
        what = describe_content(buffer, "weights") or "of no kind that is known here"
        raise ParseError(
            f"not a parameter file: it is {what}. Parameters are read from .params of TVM, .safetensors, .npz, .npy "
            "and state dicts of PyTorch",
            kind=reading.PARAMETERS,
        )
    return _read_params(buffer)


def _read_params(buffer: memoryview) -> dict[str, Array]:
    number = _count(buffer, 16)
    offset = 24
    names: list[str] = []
    for index in range(number):
        length = _count(buffer, offset)
        offset += 8
        if length > len(buffer) - offset:
            raise ParseError(
                mistake(
                    reading.PARAMETERS,
                    place=f"name {index} of {number}",
                    expected=counted(length, "byte"),
                    found=len(buffer) - offset,
                )
            )
        names.append(to_text(bytes(buffer[offset : offset + length])))
        offset += length
    tensors = _count(buffer, offset)
    offset += 8
    if tensors != number:
        raise ParseError(f"the file has {number} names and {tensors} tensors", kind=reading.PARAMETERS)
    params: dict[str, Array] = {}
    for name in names:
        if name in params:
            raise ParseError(f"the file has two tensors {name!r}", kind=reading.PARAMETERS)
        params[name], offset = _tensor(buffer, offset, name)
    if offset < len(buffer):
        raise ParseError(
            f"{counted(len(buffer) - offset, 'byte')} behind the last tensor: expected none", kind=reading.PARAMETERS
        )
    return params


def _tensor(buffer: memoryview, offset: int, name: str) -> tuple[Array, int]:
    try:
        return read_tensor(buffer, offset)
    except Relay2RelaxError as error:
        raise ParseError(f"parameter {name!r}: {error.diagnostics[0].title}", kind=reading.PARAMETERS) from None


def _read_file(path: str | os.PathLike[str]) -> memoryview:
    """Return what a file contains.

    It is not mapped: whoever shortens a mapped file, to save params into it anew for one, ends the
    process at the next look at a weight.
    """
    try:
        return memoryview(read_file(path))
    except (OSError, ValueError) as error:
        raise FileError.unread(path, error) from None


def _count(buffer: memoryview, offset: int) -> int:
    if offset + 8 > len(buffer):
        raise ParseError(
            f"the parameter file ends at byte {len(buffer)}, inside a count at byte {offset}", kind=reading.PARAMETERS
        )
    value: int = _COUNT.unpack_from(buffer, offset)[0]
    return value


def save_params(params: Mapping[str, Array]) -> bytes:
    """Return the parameter file of ``params``, names sorted, as every TVM from 0.5 to 0.19 reads
    it.

    Raises DTypeError for an array whose dtype TVM does not know.
    """
    names = sorted(params)
    parts: list[bytes | memoryview] = [struct.pack("<QQQ", LIST_MAGIC, 0, len(names))]
    for name in names:
        encoded = to_bytes(name)
        parts += [_COUNT.pack(len(encoded)), encoded]
    parts.append(_COUNT.pack(len(names)))
    for name in names:
        head, data = write_tensor(params[name])
        parts += [head, data.data]
    return b"".join(parts)


def bind_params(mod: IRModule, params: Mapping[str, Array], entry: str = "main") -> IRModule:
    """Return ``mod`` with the parameters of ``entry`` that ``params`` names replaced by constants.

    As in TVM a name that no parameter has is left out of account. The constants are the arrays
    given, not copies. Inferred types are forgotten. Raises Relay2RelaxError listing every tensor
    whose shape or dtype differs from its parameter's annotation, and a name that several parameters
    share.
    """
    var = mod.get_global_var(entry)
    function = mod.functions[var]
    bound: dict[Expr, Expr] = {}
    seen: set[str] = set()
    mistakes: list[str] = []
    for param in function.params:
        if param.name not in params:
            continue
        if param.name in seen:
            mistakes.append(f"several parameters of @{entry} are named %{param.name}")
            continue
        seen.add(param.name)
        mistake = _mismatch(param, params[param.name])
        if mistake:
            mistakes.append(mistake)
        bound[param] = Constant(params[param.name], param.span)
    if mistakes:
        raise Relay2RelaxError(
            "the params do not fit @" + entry + ":\n  " + "\n  ".join(mistakes), kind=relax.BIND_PARAMS
        )
    if not bound:
        return mod
    left = tuple(param for param in function.params if param not in bound)
    return mod.with_function(var, replace(function, params=left, body=substitute(function.body, bound)))


def _mismatch(param: Var, array: Array) -> str:
    """Return what is wrong with ``array`` as the value of ``param``; empty where nothing is."""
    expected = param.type_annotation
    given = Constant(array).tensor_type
    if expected is None:
        return ""
    if isinstance(expected, TensorType):
        fits = expected.rank == given.rank and all(
            is_any(want) or static(want) in (None, have) for want, have in zip(expected.shape, array.shape, strict=True)
        )
        if fits and expected.dtype == of_array(array):
            return ""
        wanted = f"{_extents(expected)} of {expected.dtype}"
    else:
        wanted = f"a value of type {type(expected).__name__}"
    return f"%{param.name}: expected {wanted}, given {_extents(given)} of {given.dtype}"


def _extents(tensor: TensorType) -> str:
    return "(" + ", ".join(str(extent) for extent in tensor.shape) + ")"
