"""``tvm.topi.testing``: what operators compute, in numpy, as TVM's tests have it.

Nothing of it is part of this package. Where ``RELAY2RELAX_TVM`` names a folder of TVM's repository,
its files ``python/tvm/topi/testing`` are read from there.
"""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import cast

FOLDER = "RELAY2RELAX_TVM"
# How simulated quantisation is told which dtype it stands for.
SQNN_DTYPE_TO_CODE = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}


def folder() -> Path | None:
    """Return the folder of the references, None where none is given."""
    given = os.environ.get(FOLDER)
    return Path(given) / "python/tvm/topi/testing" if given else None


def reference(name: str) -> object:
    """Return the reference ``name``; raises AttributeError where there is none."""
    found = folder()
    files = sorted(found.glob("*.py")) if found is not None else []
    for file in files:
        if re.search(rf"^(def|class) {re.escape(name)}\b", file.read_text(encoding="utf-8"), re.MULTILINE):
            module = import_module(f"tvm.topi.testing.{file.stem}")
            # The import puts the module in the place of the function that has its name.
            package = sys.modules["tvm.topi.testing"]
            if hasattr(module, file.stem):
                setattr(package, file.stem, getattr(module, file.stem))
            else:
                vars(package).pop(file.stem, None)
            return getattr(module, name)
    raise AttributeError(f"tvm.topi.testing.{name} is not provided; {FOLDER} names a folder of TVM that has it")


def _sides(padding: object, kernel: tuple[int, ...]) -> tuple[int, ...]:
    """Return the padding before every axis, then after it."""
    rank = len(kernel)
    if isinstance(padding, str):
        whole = [extent - 1 if padding == "SAME" else 0 for extent in kernel]
    elif isinstance(padding, int):
        whole = [2 * padding] * rank
    else:
        given = tuple(cast("tuple[int, ...]", padding))
        if len(given) == 2 * rank:
            return given
        whole = [2 * one for one in given]
    before = [(one + 1) // 2 for one in whole]
    return (*before, *(one - first for one, first in zip(whole, before, strict=True)))


def get_pad_tuple1d(padding: object, kernel: tuple[int, ...]) -> tuple[int, ...]:
    """Return the padding of a convolution over one axis."""
    return _sides(padding, kernel if isinstance(kernel, tuple) else (kernel,))


def get_pad_tuple(padding: object, kernel: tuple[int, ...]) -> tuple[int, ...]:
    """Return the padding of a convolution over two axes: top, left, bottom, right."""
    return _sides(padding, tuple(kernel))


def get_pad_tuple3d(padding: object, kernel: tuple[int, ...]) -> tuple[int, ...]:
    """Return the padding of a convolution over three axes."""
    return _sides(padding, tuple(kernel))


def nchw_pack_layout(layout: str) -> bool:
    """Whether a layout packs channels, as ``NCHW1n8c`` does."""
    return re.fullmatch(r"NCHW[0-9]*[nc].*", layout) is not None
