"""Quantisation from floats to integers.

Source of the semantics: TVM 0.18 python/tvm/relay/quantize/quantize.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import files
from relay2relax.core.passes import Pass, PassContext, Sequential
from relay2relax.relay_ir import transform
from relay2relax.relay_ir.io.params import bind_params
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.quantize.annotate import QuantizeAnnotate, quantize_context
from relay2relax.relay_ir.quantize.calibrate import QuantizeCalibrate
from relay2relax.relay_ir.quantize.config import current_qconfig
from relay2relax.relay_ir.quantize.conversions import partition_conversions
from relay2relax.relay_ir.quantize.partition import QuantizePartition
from relay2relax.relay_ir.quantize.realize import QuantizeRealize

_REQUIRED = ("QuantizeAnnotate", "QuantizeCalibrate", "QuantizeRealize")
_PARTITIONS = ("disabled", "enabled", "fully_integral")


def prerequisite_optimize(mod: IRModule, params: Mapping[str, Array] | None = None) -> IRModule:
    """Return ``mod`` with parameters bound, and as far simplified as quantisation needs it.

    The level of the current context says which passes run: at 3 all of them, at 2, the default,
    neither FoldScaleAxis nor CanonicalizeOps.
    """
    before: list[Pass[IRModule]] = [
        transform.SimplifyInference(),
        transform.FoldConstant(),
        transform.FoldScaleAxis(),
        transform.CanonicalizeOps(),
        transform.FoldConstant(),
    ]
    return Sequential(before)(bind_params(mod, params) if params else mod)


def quantize(
    mod: IRModule, params: Mapping[str, Array] | None = None, dataset: Iterable[Mapping[str, Any]] | None = None
) -> IRModule:
    """Return ``mod``, a program in float32, computed with integers where the current
    :func:`qconfig` says so.

    ``params`` are weights by the names of ``@main``'s parameters. ``dataset`` are inputs by name,
    of as many runs as there are elements, for the modes of calibration that measure.

        with qconfig(calibrate_mode="kl_divergence", skip_conv_layers=[]):
            mod = quantize(mod, params, dataset)

    Raises Relay2RelaxError for options that there are not, and what the passes raise.
    """
    mod = prerequisite_optimize(mod, params)
    config = current_qconfig()
    if config.partition_conversions not in _PARTITIONS:
        expected = " or ".join(map(repr, _PARTITIONS))
        value = repr(config.partition_conversions)
        raise Relay2RelaxError(mistake(files.OPTION, name="partition_conversions", value=value, expected=expected))
    steps: list[Pass[IRModule]] = [
        QuantizePartition(),
        QuantizeAnnotate(),
        QuantizeCalibrate(dataset or ()),
        transform.InferType(),
        *([] if config.do_simulation else [QuantizeRealize()]),
        transform.FoldConstant(),
    ]
    with PassContext(opt_level=3, required_pass=_REQUIRED), quantize_context():
        mod = Sequential(steps)(mod)
    if config.partition_conversions == "disabled":
        return mod
    dtypes = {config.dtype_input, config.dtype_weight, config.dtype_activation}
    return partition_conversions(mod, dtypes, config.partition_conversions == "fully_integral")
