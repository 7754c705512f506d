"""What the files of PyTorch's programs hold, looked at before PyTorch reads them.

PyTorch's own readers run what a file asks for: they unpickle weights, evaluate extents as Python,
look up any function by its name, load compiled libraries, and run ``__setstate__`` of TorchScript.
What would come to that is refused here, so that nothing of a file is run.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import NoReturn

from relay2relax.core.errors import ParseError, mistake
from relay2relax.core.errors.table import frontends

# Names in an archive of ``torch.export``, below its folder.
_PARTS = re.compile(
    r"archive_format|archive_version|version|byteorder|\.data/[\w.]+|models/[\w.-]+\.json"
    r"|data/weights/(?:weight_\d+|[\w.-]+_weights_config\.json)"
    r"|data/constants/(?:tensor_\d+|[\w.-]+_constants_config\.json)|data/sample_inputs/[\w.-]+\.pt"
)
# Functions that a graph may name: operators, and arithmetic over extents.
_OPERATORS = re.compile(
    r"torch\.ops\.(?:aten|prims|prim|quantized|quantized_decomposed|torchvision|higher_order|_c10d_functional)"
    r"\.(?!from_file|__(?!i?(?:and|or|xor|lshift|rshift)__))\w+(?:\.(?!__)\w+)?"
    r"|_operator\.(?:getitem|add|sub|mul|floordiv|truediv|mod|pow|neg|pos|eq|ne|lt|le|gt|ge|and_|or_|not_|inv)"
    r"|torch\.sym_(?:int|float|max|min|not|ite|sum|sqrt|fresh_size)|torch\._sym_sqrt|math\.(?:trunc|ceil|floor|sqrt)"
)
# Words of an expression over extents: names that PyTorch gives, and its functions.
_WORDS = re.compile(r"[A-Za-z_]\w*")
_SYMBOL = re.compile(r"(?:s|u|zuf|zf|ps|d|i)\d+|s\d+_\w{1,40}")
_FUNCTIONS = frozenset({
    "FloorDiv", "ModularIndexing", "Where", "PythonMod", "Mod", "CleanDiv", "CeilToInt", "FloorToInt", "CeilDiv",
    "LShift", "RShift", "PowByNatural", "FloatPow", "FloatTrueDiv", "IntTrueDiv", "TruncToFloat", "TruncToInt",
    "IsNonOverlappingAndDenseIndicator", "RoundToInt", "RoundDecimal", "ToFloat", "Identity", "Max", "Min", "Abs", "Eq",
    "Add", "Mul", "Pow", "Rational",
    "Ne", "Lt", "Le", "Gt", "Ge", "And", "Or", "Not", "True", "False", "floor", "ceiling", "int_oo", "oo",
})  # fmt: skip
# How SymPy writes symbols and numbers out; they are taken for their names before anything else is
# looked at.
_WRITTEN = re.compile(
    r"Symbol\('(\w{1,60})'(?:, \w{1,20}=(?:True|False))*\)|Integer\((-?\d{1,19})\)"
    r"|Float\('(-?[\d.]{1,40}(?:e[+-]?\d{1,3})?)', precision=\d{1,3}\)"
)
_EXPRESSION = re.compile(r"[\w\s+\-*/%(),.<>=!&|~]{0,2000}")
# What may become large: no number above 64 stands beside it, and none stands within another.
_POWER = re.compile(r"Pow\w*\(|\*\*|LShift\(")
_NUMBER = re.compile(r"\d+")
_MOST = 64
# An access to what something has.
_ACCESS = re.compile(r"[A-Za-z_)]\s*\.|\.\s*[A-Za-z_]")
# What inputs and results may be made of.
_CONTAINERS = frozenset({"builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict"})
# What ``__setstate__`` of TorchScript may call: it runs when the file is read.
_CALLS = re.compile(r"\b(?:ops\.(\w+)\.\w+|torch\.(\w+))")
_HARMLESS = frozenset({"quantized", "prim", "len", "append", "unsqueeze", "_unwrap_optional"})


def check_exported(content: bytes, name: str) -> None:
    """Raise ParseError where PyTorch would run a part of what ``torch.export.save`` wrote."""
    archive = _opened(content, name)
    parts = _parts(archive, name)
    for one in parts:
        if not _PARTS.fullmatch(one):
            _refuse(name, f"it holds {one!r}, which is no part of a program")
    models = [one for one in parts if one.startswith("models/")]
    if len(models) != 1:
        _refuse(name, f"it holds {len(models)} programs, and one is read")
    _check_graph(_document(archive, parts[models[0]], name), name)
    for one, whole in parts.items():
        if one.endswith("_config.json"):
            _check_payloads(_document(archive, whole, name), name)
        elif one.startswith("data/sample_inputs/"):
            _check_tensors(_read(archive, whole, name), name)


def check_script(content: bytes, name: str) -> None:
    """Raise ParseError where reading a TorchScript program would run more than what unpacks
    weights.
    """
    archive = _opened(content, name)
    parts = _parts(archive, name)
    for one, whole in parts.items():
        if not one.startswith("code/") or not one.endswith(".py"):
            continue
        text = _read(archive, whole, name).decode("utf-8", "replace")
        if "__setstate__" not in text:
            continue
        called = {found[1] or found[2] for found in _CALLS.finditer(text)}
        if called - _HARMLESS:
            _refuse(name, f"it runs code when it is read: __setstate__ in {one!r}")


def _opened(content: bytes, name: str) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, OSError, ValueError, LookupError, OverflowError) as error:
        raise ParseError(mistake(frontends.TORCH_FILE, name=repr(name), problem=f"it is damaged: {error}")) from error
    # Else PyTorch might find another directory in it than we do.
    if archive.comment or not content.startswith(b"PK\x03\x04") or content[-22:-18] != b"PK\x05\x06":
        _refuse(name, "something stands before or behind its archive")
    return archive


def _parts(archive: zipfile.ZipFile, name: str) -> dict[str, str]:
    """Return the whole names of an archive's files, by what they are below its folder."""
    names = archive.namelist()
    if len({one.casefold() for one in names}) != len(names):
        _refuse(name, "two of its files have one name")
    if len({one.partition("/")[0] for one in names}) != 1:
        _refuse(name, "its files lie in several folders")
    return {one.partition("/")[2]: one for one in names}


def _read(archive: zipfile.ZipFile, whole: str, name: str) -> bytes:
    try:
        return archive.read(whole)
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        raise ParseError(mistake(frontends.TORCH_FILE, name=repr(name), problem=f"it is damaged: {error}")) from error


def _document(archive: zipfile.ZipFile, whole: str, name: str) -> object:
    try:
        found: object = json.loads(_read(archive, whole, name))
    except (ValueError, RecursionError) as error:
        raise ParseError(mistake(frontends.TORCH_FILE, name=repr(name), problem=f"{whole} is no JSON")) from error
    return found


def _objects(document: object) -> Iterator[Mapping[str, object]]:
    """Yield the objects of a document, at any depth."""
    stack = [document]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            yield one
            stack += one.values()
        elif isinstance(one, list):
            stack += one


def _check_graph(document: object, name: str) -> None:
    """Refuse functions that are no operators, and extents that are no arithmetic."""
    for one in _objects(document):
        target, extent = one.get("target"), one.get("expr_str")
        if isinstance(target, str) and "inputs" in one and not _OPERATORS.fullmatch(target):
            _refuse(name, f"its graph calls {target!r}, which is no operator")
        if isinstance(extent, str):
            _check_extent(extent, name)
        ranges = one.get("range_constraints")
        if isinstance(ranges, dict):
            for symbol in ranges:
                _check_extent(symbol, name)
        for key in ("in_spec", "out_spec"):
            spec = one.get(key)
            if isinstance(spec, str):
                _check_containers(spec, name)


def _check_extent(text: str, name: str) -> None:
    plain = _WRITTEN.sub(lambda found: found[1] or found[2] or "1.0", text)
    known = all(word in _FUNCTIONS or _SYMBOL.fullmatch(word) for word in _WORDS.findall(plain))
    if not known or not _EXPRESSION.fullmatch(plain) or _ACCESS.search(plain) or _is_large(plain):
        _refuse(name, f"its extent {text[:60]!r} is no arithmetic")


def _is_large(text: str) -> bool:
    """Whether an expression may be a number of more digits than anyone waits for."""
    if not _POWER.search(text):
        return False
    if any(int(one) > _MOST for one in _NUMBER.findall(_WORDS.sub("", text))):
        return True
    open_: list[bool] = []
    for found in re.finditer(r"(\w*)\(|\)", text):
        if found[0] == ")":
            if open_:
                open_.pop()
        else:
            power = bool(_POWER.match(found[0]))
            if power and any(open_):
                return True
            open_.append(power)
    return text.count("**") > 1


def _check_containers(spec: str, name: str) -> None:
    try:
        document = json.loads(spec)
    except (ValueError, RecursionError):
        _refuse(name, "what its inputs are made of is no JSON")
    for one in _objects(document):
        kind = one.get("type")
        if isinstance(kind, str) and kind not in _CONTAINERS:
            _refuse(name, f"its inputs or results are {kind}; tuples, lists and dictionaries are read")


def _check_payloads(document: object, name: str) -> None:
    """Refuse weights that are pickled."""
    for one in _objects(document):
        path = one.get("path_name")
        if one.get("use_pickle") or (isinstance(path, str) and not re.fullmatch(r"(?:weight|tensor)_\d+", path)):
            _refuse(name, f"it holds {path!r} as a pickle, which may run anything when it is read")


def _check_tensors(content: bytes, name: str) -> None:
    """Refuse sample inputs that are more than tensors."""
    import torch

    if not content:
        return
    try:
        torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:  # PyTorch raises what it likes for what it refuses
        problem = "its sample inputs are a pickle of more than tensors, which may run anything when it is read"
        raise ParseError(mistake(frontends.TORCH_FILE, name=repr(name), problem=problem)) from error


def _refuse(name: str, problem: str) -> NoReturn:
    raise ParseError(mistake(frontends.TORCH_FILE, name=repr(name), problem=problem))
