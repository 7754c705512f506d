"""What quantisation is asked for, and where its passes are."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields
from enum import IntEnum
from types import TracebackType
from typing import Any

from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import files
from relay2relax.relay_ir.ir.expr import Call, Op


class QAnnotateKind(IntEnum):
    """What a quantised value is to the operator that takes it."""

    IDENTITY = 0
    INPUT = 1
    WEIGHT = 2
    ACTIVATION = 3


@dataclass(frozen=True, slots=True)
class QConfig:
    """How to quantise; holds within ``with qconfig(…):``. Names and defaults are TVM's.

    ``nbit_*``, ``dtype_*``  bits and dtypes of inputs, weights and sums.
    ``calibrate_mode``  where the scales of inputs come from: ``"global_scale"``, or the data set by
        ``"kl_divergence"`` or ``"percentile"``.
    ``global_scale``  the largest absolute value that an input has, in that mode.
    ``weight_scale``  ``"power2"`` or ``"max"``: the largest absolute value of a weight, with the
        first rounded up to a power of two.
    ``skip_dense_layer``, ``skip_conv_layers``  leave ``nn.dense`` as it is, and the convolutions
        of these numbers, counted from 0.
    ``do_simulation``  stop before integers: the module computes in floats what integers would.
    ``round_for_shift``  round where a shift to the right divides.
    ``debug_enabled_ops``  the only operators that are quantised; None for all.
    ``rounding``  ``"UPWARD"`` or ``"TONEAREST"``, of products with a fixed-point number.
    ``calibrate_chunk_by``  of so many values the samples are held at a time; -1 for all.
    ``partition_conversions``  ``"enabled"`` gives functions of their own to the conversions of
        inputs and outputs, ``"fully_integral"`` also refuses floats between them.
    """

    nbit_input: int = 8
    nbit_weight: int = 8
    nbit_activation: int = 32
    dtype_input: str = "int8"
    dtype_weight: str = "int8"
    dtype_activation: str = "int32"
    calibrate_mode: str = "global_scale"
    global_scale: float = 8.0
    weight_scale: str = "power2"
    skip_dense_layer: bool = True
    skip_conv_layers: Sequence[int] | None = (0,)
    do_simulation: bool = False
    round_for_shift: bool = True
    debug_enabled_ops: Sequence[str] | None = None
    rounding: str = "UPWARD"
    calibrate_chunk_by: int = -1
    partition_conversions: str = "disabled"

    def guard(self, ref_call: Call) -> bool:
        """Whether the operator of a call is to be quantised."""
        names = self.debug_enabled_ops
        return names is None or (isinstance(ref_call.op, Op) and ref_call.op.name in names)

    def get_nbit_by_kind(self, kind: int) -> int:
        """Return the bits of values of a kind."""
        return int(getattr(self, f"nbit_{QAnnotateKind(kind).name.lower()}"))

    def get_dtype_by_kind(self, kind: int) -> str:
        """Return the dtype of values of a kind."""
        return str(getattr(self, f"dtype_{QAnnotateKind(kind).name.lower()}"))

    def __enter__(self) -> QConfig:
        _CONFIGS.set((*_CONFIGS.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CONFIGS.set(_CONFIGS.get()[:-1])


_CONFIGS: ContextVar[tuple[QConfig, ...]] = ContextVar("quantize_configs", default=())
# Outside of any ``with`` TVM leaves no convolution as it is; ``qconfig()`` leaves the first.
_OUTSIDE = QConfig(skip_conv_layers=None)


def qconfig(**options: Any) -> QConfig:
    """Return how to quantise: ``with qconfig(global_scale=4.0): quantize(mod, params)``.

    Raises Relay2RelaxError for an option that there is not.
    """
    known = [one.name for one in fields(QConfig)]
    for name in options:
        if name not in known:
            title = f"quantisation has no option {name!r}"
            raise Relay2RelaxError(Diagnostic(title, help=nearest(name, known), kind=files.OPTION))
    return QConfig(**options)


def current_qconfig() -> QConfig:
    """Return the innermost configuration that holds."""
    stack = _CONFIGS.get()
    return stack[-1] if stack else _OUTSIDE
