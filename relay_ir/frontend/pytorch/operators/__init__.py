"""The ATen operators that are imported: a record for each, a file for each family."""

from collections.abc import Mapping
from functools import lru_cache

from relay2relax.relay_ir.frontend.pytorch.operators import (
    activation,
    arithmetic,
    attention,
    convolution,
    creation,
    elementwise,
    indexing,
    matmul,
    normalisation,
    padding,
    pooling,
    recurrent,
    reduction,
    scripted,
    selection,
    shaping,
    signal,
)
from relay2relax.relay_ir.frontend.pytorch.operators.quantised import modules, scales
from relay2relax.relay_ir.frontend.pytorch.operators.record import AtenOperator

_FAMILIES = (
    activation, arithmetic, attention, convolution, creation, elementwise, indexing, matmul, normalisation, padding,
    pooling, scales, modules, recurrent, reduction, scripted, selection, shaping, signal,
)  # fmt: skip


@lru_cache(maxsize=None)
def aten_operators() -> Mapping[str, AtenOperator]:
    """Return the records by name (``aten::linear``)."""
    return {record.name: record for family in _FAMILIES for record in family.RECORDS}
