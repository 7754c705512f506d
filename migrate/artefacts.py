"""Which files of a folder hold models, and which weights go with which model.

What a file is, is told by its content, and by its ending where the content is not Relay: a model of
another kind, or a damaged one, is an artefact too, whose entry says so.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.file_kinds import is_tar
from relay2relax.core.output import MANIFEST, read_manifest
from relay2relax.core.source import visible
from relay2relax.migrate.lists import kind_of, may_be_list, read_list
from relay2relax.relay_ir.io.loader import load
from relay2relax.relay_ir.io.params import load_params
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.tir.extent import is_any

# Endings of models, by which one is found whatever is in it.
_MODELS = frozenset({".relay", ".onnx", ".pb", ".pt2", ".tflite", ".h5", ".keras", ".caffemodel", ".mlmodel", ".so",
    ".dylib", ".dll", ".o", ".ro", ".vm", ".gguf", ".pkl"})  # fmt: skip
# Endings of weights, in the order in which those of one name are preferred.
_WEIGHTS = (".params", ".safetensors", ".npz", ".npy")
# What Relay as text begins a line with, and as JSON an object.
_TEXT = re.compile(rb"^\s*(?:#\[version|def @|fn\s*[(<\[]|free_var |v0\.0\.\d|let %|extern type )", re.MULTILINE)
_JSON = re.compile(rb'^\s*\{.*"nodes"', re.DOTALL)
# So much of a file is looked at.
_HEAD = 65_536


@dataclass(frozen=True, slots=True)
class Artefact:
    """A file that holds a model, or should.

    ``name`` is its path below the folder that was looked through, as messages show it. ``params``
    are its weights, and ``found_by`` says how they were found: ``name``, ``folder`` or ``fit``, ""
    where there are none.
    """

    name: str
    path: Path
    params: Path | None = None
    found_by: str = ""


def find_artefacts(places: Sequence[Path]) -> tuple[Artefact, ...]:
    """Return the models in files, folders and lists, in the order of their names.

    A file that is named holds a model, or else a list (``lists.py``); one that a list names holds a
    model whatever is in it. Folders that ``convert`` wrote are passed by. One that may not be
    looked into stands for what is in it.
    Raises FileError for a place that is not there, or is neither file nor folder.
    """
    found: dict[Path, Artefact] = {}
    for place in places:
        for artefact in _at(place):
            found.setdefault(artefact.path, artefact)
    return tuple(_told_apart(sorted(found.values(), key=lambda one: (one.name, str(one.path)))))


def _at(place: Path) -> Iterator[Artefact]:
    """Yield the models at a place that is named."""
    if kind_of(place) == stat.S_IFDIR:
        yield from _in_folder(place)
    elif _holds_model(place) or not may_be_list(place):
        yield _of_file(visible(place.name), place)
    else:
        for one in read_list(place):
            if one.path.is_dir():
                folder = one.name.rstrip("/")
                yield from (replace(inner, name=f"{folder}/{inner.name}") for inner in _in_folder(one.path))
            else:
                yield _of_file(one.name, one.path)


def _of_file(name: str, path: Path) -> Artefact:
    params = _by_name(path)
    return Artefact(name, path, params, "name" if params else "")


def _told_apart(artefacts: Iterable[Artefact]) -> Iterator[Artefact]:
    """Yield artefacts with names that differ: later ones of one name get a number."""
    taken: dict[str, int] = {}
    for one in artefacts:
        number = taken[one.name] = taken.get(one.name, 0) + 1
        name = one.name if number == 1 else f"{one.name} ({number})"
        yield Artefact(name, one.path, one.params, one.found_by)


def _in_folder(root: Path) -> Iterator[Artefact]:
    lost: list[OSError] = []
    for folder, inner, names in os.walk(root, onerror=lost.append):
        here = Path(folder)
        if (here / MANIFEST).exists() and not (here == root and _is_migrated(here)):
            inner.clear()
            continue
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        models = [here / name for name in sorted(names) if _holds_model(here / name)]
        weights = [here / name for name in sorted(names) if Path(name).suffix in _WEIGHTS]
        named = {model: params for model in models if (params := _by_name(model)) is not None}
        left = [path for path in weights if path not in named.values()]
        for model in models:
            name = visible(model.relative_to(root).as_posix())
            if model in named:
                yield Artefact(name, model, named[model], "name")
            elif len(models) == 1 and len(left) == 1:
                yield Artefact(name, model, left[0], "folder")
            else:
                params = _by_fit(model, left)
                yield Artefact(name, model, params, "fit" if params else "")
    for error in lost:
        closed = Path(os.fsdecode(error.filename))
        yield Artefact(f"{visible(closed.relative_to(root).as_posix())}/", closed)


def _is_migrated(folder: Path) -> bool:
    """Whether nothing but an earlier migration wrote into a folder, beside its models maybe."""
    return all(one.origin.command == "migrate" for one in (read_manifest(folder) or {}).values())


def _holds_model(path: Path) -> bool:
    if not path.is_file():
        # A link that leads nowhere was a model once.
        return path.suffix in _MODELS and path.is_symlink() and not path.exists()
    if path.suffix in _MODELS:
        return True
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    if path.suffix == ".tar":
        return is_tar(memoryview(head))
    return path.suffix != ".py" and b"\0" not in head and bool(_TEXT.search(head) or _JSON.match(head))


def _by_name(model: Path) -> Path | None:
    """Return the weights that are called as ``model`` is."""
    beside = (model.with_suffix(ending) for ending in _WEIGHTS)
    return next((path for path in beside if path.is_file()), None)


def _by_fit(model: Path, weights: Sequence[Path]) -> Path | None:
    """Return those of ``weights`` that fit the parameters of ``model`` by names and shapes, None
    where none do, or several.
    """
    if not weights:
        return None
    try:
        module = load(model)
    except Relay2RelaxError:
        return None
    fitting = [path for path in weights if _fits(module, path)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(module: IRModule, path: Path) -> bool:
    if "main" not in module:
        return False
    try:
        values = load_params(path)
    except Relay2RelaxError:
        return False
    types = {param.name: param.type_annotation for param in module["main"].params}
    return bool(values) and all(_takes(types.get(name), value.shape) for name, value in values.items())


def _takes(type_: object, shape: Sequence[int]) -> bool:
    return (
        isinstance(type_, TensorType)
        and type_.rank == len(shape)
        and all(is_any(own) or own == extent for own, extent in zip(type_.shape, shape, strict=True))
    )
