"""``tvm.relay.quantize``, where it takes more than ``relay_ir.quantize`` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields

import numpy as np

from relay2relax.relay_ir import quantize as ours
from relay2relax.relay_ir.ir.module import IRModule

Dataset = Iterable[Mapping[str, object]]
_OPTIONS = {one.name for one in fields(ours.QConfig)}


def qconfig(**options: object) -> ours.QConfig:
    """Return how to quantise; options that there are not change nothing."""
    return ours.qconfig(**{name: value for name, value in options.items() if name in _OPTIONS})


def quantize(mod: IRModule, params: Mapping[str, object] | None = None, dataset: Dataset | None = None) -> IRModule:
    """Return ``mod`` computed with integers.

    Raises AssertionError for floats where none may be.
    """
    arrays = {name: np.asarray(value) for name, value in (params or {}).items()}
    try:
        return ours.quantize(mod, arrays, dataset)
    except ours.NotIntegralError as error:
        raise AssertionError(str(error)) from error


def calibrate(dataset: Dataset | None = None) -> Callable[[IRModule, object], IRModule]:
    """Return the function of the pass that finds scales and bounds."""
    return lambda mod, context: ours.QuantizeCalibrate(dataset or ())(mod)
