"""What TorchScript asks of tensors: numbers and truths of them, ranks and dtypes."""

from __future__ import annotations

from relay2relax.core.dtype import is_float
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.dtypes import NUMBERED
from relay2relax.relay_ir.frontend.pytorch.operators.elementwise import truth
from relay2relax.relay_ir.frontend.pytorch.operators.record import Convert, records
from relay2relax.relay_ir.ir.expr import Constant, Expr, RelayExpr


def _scalar(at: Conversion, data: Expr) -> Expr:
    return at.call("reshape", data, ()) if at.rank(data) else data


def _bool(at: Conversion) -> Value:
    return _scalar(at, truth(at, at.tensor(0)))


def _int(at: Conversion) -> Value:
    """An integer stays what it is; a float is rounded towards 0."""
    data = at.value(0)
    if not isinstance(data, RelayExpr):
        return int(data) if isinstance(data, (bool, float)) else data
    if isinstance(data, Constant):
        return data if not is_float(at.dtype(data)) else int(data.data.item())
    return at.cast(_scalar(at, data), "int64") if is_float(at.dtype(data)) or at.dtype(data) == "bool" else data


def _float(at: Conversion) -> Value:
    data = _scalar(at, at.tensor(0))
    return data if is_float(at.dtype(data)) else at.cast(data, "float64")


def _not(at: Conversion) -> Value:
    return at.call("logical_not", truth(at, at.tensor(0)))


def _length(at: Conversion) -> Value:
    return at.extent(at.tensor(0), 0)


def _rank(at: Conversion) -> Value:
    return at.rank(at.tensor(0))


def _count(at: Conversion) -> Value:
    made = 1
    for one in at.shape(at.tensor(0)):
        made *= one
    return made


def _dtype(at: Conversion) -> Value:
    return NUMBERED[at.dtype(at.tensor(0))]


def _is_float(at: Conversion) -> Value:
    return is_float(at.dtype(at.tensor(0)))


def _constant(answer: Value) -> Convert:
    return lambda at: answer


RECORDS = records({
    "Bool": _bool, "Int": _int, "Float": _float, "__not__": _not, "len": _length, "dim": _rank, "numel": _count,
    "prim::dtype": _dtype, "is_floating_point": _is_float, "is_complex": _constant(False),
    "prim::unchecked_cast": lambda at: at.value(0),
})  # fmt: skip
