"""Quantisation of programs in floats, under the names of ``tvm.relay.quantize``.

    with quantize.qconfig(global_scale=4.0, skip_conv_layers=[0]):
        mod = quantize.quantize(mod, params)

``procedure.py`` is the way of a program: ``partition.py`` says where quantised values are handed
on, ``annotate.py`` which are rounded, ``calibrate.py`` by which scales, ``realize.py`` computes
with integers; ``conversions.py`` parts what converts from what computes. ``config.py`` has the
options, ``forward_rewrite.py`` the walk that the passes share.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "annotate": [
            "QAnnotateExpr",
            "QuantizeAnnotate",
            "QuantizeContext",
            "attach_simulated_quantize",
            "quantize_context",
            "register_annotate_function",
        ],
        "calibrate": ["QuantizeCalibrate", "collect_stats"],
        "config": ["QAnnotateKind", "QConfig", "current_qconfig", "qconfig"],
        "conversions": ["NotIntegralError", "partition_conversions"],
        "forward_rewrite": ["Temporary", "forward_op"],
        "kl_divergence": ["threshold_by_kl"],
        "partition": ["QPartitionExpr", "QuantizePartition", "register_partition_function"],
        "procedure": ["prerequisite_optimize", "quantize"],
        "realize": ["QRealizeIntExpr", "QuantizeRealize"],
    },
)

if TYPE_CHECKING:
    from relay2relax.relay_ir.quantize.annotate import (
        QAnnotateExpr,
        QuantizeAnnotate,
        QuantizeContext,
        attach_simulated_quantize,
        quantize_context,
        register_annotate_function,
    )
    from relay2relax.relay_ir.quantize.calibrate import QuantizeCalibrate, collect_stats
    from relay2relax.relay_ir.quantize.config import QAnnotateKind, QConfig, current_qconfig, qconfig
    from relay2relax.relay_ir.quantize.conversions import NotIntegralError, partition_conversions
    from relay2relax.relay_ir.quantize.forward_rewrite import Temporary, forward_op
    from relay2relax.relay_ir.quantize.kl_divergence import threshold_by_kl
    from relay2relax.relay_ir.quantize.partition import (
        QPartitionExpr,
        QuantizePartition,
        register_partition_function,
    )
    from relay2relax.relay_ir.quantize.procedure import prerequisite_optimize, quantize
    from relay2relax.relay_ir.quantize.realize import QRealizeIntExpr, QuantizeRealize

__all__ = [
    "NotIntegralError",
    "QAnnotateExpr",
    "QAnnotateKind",
    "QConfig",
    "QPartitionExpr",
    "QRealizeIntExpr",
    "QuantizeAnnotate",
    "QuantizeCalibrate",
    "QuantizeContext",
    "QuantizePartition",
    "QuantizeRealize",
    "Temporary",
    "attach_simulated_quantize",
    "collect_stats",
    "current_qconfig",
    "forward_op",
    "partition_conversions",
    "prerequisite_optimize",
    "qconfig",
    "quantize",
    "quantize_context",
    "register_annotate_function",
    "register_partition_function",
    "threshold_by_kl",
]
