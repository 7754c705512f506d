"""What the tests of tensor programs share: running one in apache-tvm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tensor_scripts import module_text

from relay2relax.tir.ir.stmt import PrimFunc

RunInTVM = Callable[..., list[np.ndarray]]


@pytest.fixture(scope="session")
def run_in_tvm() -> RunInTVM:
    """Return ``run(func, inputs, shapes)``: the arrays that apache-tvm computes for the outputs of
    ``func``.
    """
    tvm = pytest.importorskip("tvm")

    def run(func: PrimFunc, inputs: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
        text = module_text(replace(func, private=False))
        compiled = tvm.compile(tvm.script.from_source(text), target="llvm")
        outputs = func.buffers[len(func.buffers) - func.num_outputs :]
        results = [
            tvm.runtime.tensor(np.full(shape, 7, buffer.dtype)) for shape, buffer in zip(shapes, outputs, strict=True)
        ]
        arguments = [tvm.runtime.tensor(a) if isinstance(a, np.ndarray) else a for a in inputs]
        compiled[func.name](*arguments, *results)
        return [result.numpy() for result in results]

    return run
