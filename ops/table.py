"""The table of operators: every family file is named here once, every record is found here by name."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from relay2relax.ops.record import OpDef

FAMILIES = (
    "elementwise",
    "clipping",
    "broadcast",
    "reduce",
    "statistics",
    "transform",
    "joining",
    "indexing",
    "create",
    "filling",
    "convolution",
    "convolution_transposed",
    "packed_convolution",
    "winograd",
    "displacement",
    "matmul",
    "pooling",
    "adaptive_pooling",
    "normalisation",
    "activation",
    "smooth_activation",
    "attention",
    "feature_normalisation",
    "loss",
    "padding",
    "class_suppression",
    "suppression",
    "regions",
    "proposal",
    "vision",
    "image",
    "sampling",
    "blocks",
    "sorting",
    "searching",
    "resize",
    "upsampling",
    "gradient",
    "training",
    "inspection",
    "bitserial",
    "sparse",
    "scan",
    "gather",
    "scatter",
    "masking",
    "overwriting",
    "rearranging",
    "coordinates",
    "collapse",
    "einsum",
    "spectral",
    "dynamic",
    "run_time_extents",
    "random",
    "quantisation",
    "qnn",
    "qnn_arithmetic",
    "qnn_functions",
    "qnn_products",
    "simulated",
    "annotation",
    "memory",
    "ethosu",
    "layout_rewrites",
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
