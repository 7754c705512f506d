"""The section ``large``: larger models on everybody, with their shares of the physical limit.

A model is made once, and its files stay in the folder of the project's cache.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import speed
from common import Options
from peers import PEERS

from relay2relax.backends.cache.place import find_place

_HERE = Path(__file__).resolve().parent
# Others are measured where they are asked for by name.
USUAL = ("c", "onnxruntime", "openvino", "pytorch")
# Seconds in which a model has to be made, PyTorch's exporter included.
_LONGEST = 1800


def names() -> list[str]:
    """Return the models by name; importing torch is left to those who make them."""
    from large.models import MODELS

    return list(MODELS)


def folder_of(name: str) -> Path:
    """Return where the files of a model are, or will be: the name has a digest of what makes it."""
    sources = [path.read_bytes() for path in (_HERE / "models.py", _HERE / "modules.py", _HERE / "prepare.py")]
    versions = [_version(one) for one in ("torch", "torchvision", "transformers", "onnxscript", "onnxruntime")]
    digest = hashlib.sha256(b"\0".join([*sources, *map(str.encode, versions)])).hexdigest()[:12]
    root = find_place().folder
    if root is None:
        raise OSError("there is no folder for a cache")
    return root / "models" / f"{name}-{digest}"


def prepared(name: str) -> Path:
    """Return the folder of a model, made where it is missing; those of older states are removed.

    Raises OSError with the reason where it cannot be made.
    """
    folder = folder_of(name)
    if not folder.is_dir():
        for old in folder.parent.glob(f"{name}-*"):
            shutil.rmtree(old, ignore_errors=True)
        print(f"  {name}: being made", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "large.prepare", name, str(folder)]
        done = subprocess.run(command, cwd=_HERE.parent, capture_output=True, text=True, timeout=_LONGEST, check=False)
        if done.returncode:
            raise OSError((done.stderr.strip().splitlines() or ["no output"])[-1])
    return folder


def run(options: Options) -> dict[str, Any]:
    """Print the tables of the larger models; return all that was measured."""
    peers = [one for one in PEERS if one in (options.peers or USUAL)]
    rows: dict[str, Any] = {}
    stopped = False
    try:
        for name in filter(options.wants, names()):
            row = rows.setdefault(name, {})
            try:
                case = str(prepared(name))
            except (OSError, subprocess.TimeoutExpired) as error:
                row |= {one: {"failed": f"no model: {error}"} for one in peers}
                continue
            speed.measure(name, case, peers, options, row)
    except KeyboardInterrupt:
        stopped = True
    return {**speed.tables({name: row for name, row in rows.items() if row}, peers), "stopped": stopped}


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
