"""The table of operators: every family file is named here once, every record is found here by
name.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from relay2relax.ops.registry.record import OpDef

FAMILIES = (
    "math.elementwise",
    "math.clipping",
    "math.broadcast",
    "math.reduce",
    "math.statistics",
    "tensor.transform",
    "tensor.joining",
    "tensor.indexing",
    "tensor.create",
    "tensor.filling",
    "nn.convolution",
    "nn.convolution_transposed",
    "nn.packed_convolution",
    "nn.winograd",
    "nn.deformable",
    "math.matmul",
    "nn.pooling",
    "nn.adaptive_pooling",
    "nn.normalisation",
    "nn.activation",
    "nn.relax_activation",
    "nn.attention",
    "nn.feature_normalisation",
    "nn.loss",
    "nn.padding",
    "vision.class_nms",
    "vision.nms",
    "vision.roi_pooling",
    "vision.proposal",
    "vision.boxes",
    "image.image",
    "image.grid_sample",
    "tensor.space_depth",
    "tensor.sorting",
    "tensor.searching",
    "image.resize",
    "image.upsampling",
    "nn.gradient",
    "nn.training",
    "tensor.inspection",
    "nn.bitserial",
    "nn.sparse",
    "math.scan",
    "tensor.gather",
    "tensor.scatter",
    "tensor.masking",
    "tensor.overwriting",
    "tensor.rearranging",
    "tensor.coordinates",
    "tensor.unbroadcast",
    "math.einsum",
    "math.spectral",
    "tensor.dynamic",
    "tensor.data_dependent",
    "target.random",
    "quantized.relax_qdq",
    "quantized.qnn",
    "quantized.qnn_arithmetic",
    "quantized.qnn_functions",
    "quantized.qnn_products",
    "quantized.simulated",
    "target.annotation",
    "target.memory",
    "target.ethosu",
    "target.layout_rewrites",
)


@lru_cache(maxsize=None)
def all_ops() -> tuple[OpDef, ...]:
    """Return every record, family by family."""
    return tuple(op for family in FAMILIES for op in import_module(f"relay2relax.ops.{family}").OPS)


@lru_cache(maxsize=None)
def _relay() -> dict[str, OpDef]:
    table: dict[str, OpDef] = {}
    for op in all_ops():
        for name in (op.relay, *op.aliases):
            if name is not None:
                assert name not in table, f"two records for {name}"
                table[name] = op
    return table


@lru_cache(maxsize=None)
def _relax() -> dict[str, OpDef]:
    table: dict[str, OpDef] = {}
    for op in all_ops():
        if op.script is not None:
            assert op.script.name not in table, f"two records for R.{op.script.name}"
            table[op.script.name] = op
    return table


def relay_op(name: str) -> OpDef | None:
    """Return the record of the Relay operator ``name`` (aliases of older versions included)."""
    return _relay().get(name)


def relax_op(name: str) -> OpDef | None:
    """Return the record of ``R.<name>``."""
    return _relax().get(name)


def relay_names() -> tuple[str, ...]:
    """Return the names of all Relay operators that have a record."""
    return tuple(_relay())
