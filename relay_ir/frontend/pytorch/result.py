"""What a module returns."""

from __future__ import annotations

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import frontends
from relay2relax.relay_ir.frontend.pytorch.context import Value
from relay2relax.relay_ir.frontend.pytorch.dtypes import result_dtype
from relay2relax.relay_ir.ir.expr import Expr, RelayExpr, Tuple, const


def flat(value: Value) -> list[Value]:
    """Return the parts of a tuple, and of those within it."""
    return [part for one in value for part in flat(one)] if isinstance(value, tuple) else [value]


def expression(value: Value) -> Expr:
    """Return a result as an expression; raises UnsupportedError for what is none."""
    if isinstance(value, RelayExpr):
        return value
    if isinstance(value, list):
        return Tuple(tuple(map(expression, value)))
    if isinstance(value, (bool, int, float)):
        return const(value, result_dtype((), (), (value,)))
    problem = f"it returns {value!r}, which is no tensor, or a second result that Relay's operator lacks"
    raise UnsupportedError(mistake(frontends.FORM, node="the module", problem=problem))
