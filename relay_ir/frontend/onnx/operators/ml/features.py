"""Features: scaled, filled in, normalised, joined, encoded."""

from __future__ import annotations

import numpy as np

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.tensors import array_of
from relay2relax.relay_ir.ir.expr import Expr


def _scaler(at: Conversion) -> Expr:
    x = at.cast(at.arg(), "float32")
    moved = at.call("subtract", x, at.const(at.attr("offset", [0.0]), "float32"))
    return at.call("multiply", moved, at.const(at.attr("scale", [1.0]), "float32"))


def _imputer(at: Conversion) -> Expr:
    x = at.arg()
    floats = at.floating(x)
    filling = at.wanted("imputed_value_floats" if floats else "imputed_value_int64s")
    wanted = at.attr("replaced_value_float" if floats else "replaced_value_int64", 0)
    gap = at.call("isnan", x) if floats and np.isnan(wanted) else at.call("equal", x, at.like(wanted, x))
    return at.call("where", gap, at.const(filling, at.dtype(x)), x)


def _normalizer(at: Conversion) -> Expr:
    x = at.cast(at.arg(), "float32")
    axis, norm = [at.rank(x) - 1], at.attr("norm", "MAX")
    if norm == "MAX":
        whole = at.call("max", x, axis=axis, keepdims=True)
    elif norm == "L1":
        whole = at.call("sum", at.call("abs", x), axis=axis, keepdims=True)
    else:
        whole = at.call("sqrt", at.call("sum", at.call("multiply", x, x), axis=axis, keepdims=True))
    # What has no size stays as it is.
    nothing = at.call("equal", whole, at.like(0, whole))
    return at.call("divide", x, at.call("where", nothing, at.like(1, whole), whole))


def _feature_vectorizer(at: Conversion) -> Expr:
    parts = []
    for one in at.tensors():
        rows = at.cast(one if at.rank(one) == 2 else at.reshape(one, [at.shape(one)[0], -1]), "float32")
        parts.append(rows)
    return at.call("concatenate", at.tuple(parts), axis=1)


def _one_hot_encoder(at: Conversion) -> Expr:
    """A category that is not known is all zeros."""
    if "cats_int64s" not in at.node.attrs:
        at.refuse("its categories are strings")
    x = at.cast(at.arg(), "int64")
    known = at.call("equal", at.unsqueeze(x, [at.rank(x)]), at.const(at.attr("cats_int64s"), "int64"))
    return at.cast(known, "float32")


def _table(at: Conversion, what: str) -> tuple[np.ndarray, str]:
    """Return the keys or values of a label encoder, and their dtype."""
    if f"{what}_tensor" in at.node.attrs:
        found = array_of(at.node.attrs[f"{what}_tensor"], at.importer.folder)
        return found.reshape(-1), found.dtype.name
    for kind, dtype in (("int64s", "int64"), ("floats", "float32")):
        if f"{what}_{kind}" in at.node.attrs:
            return np.array(at.node.attrs[f"{what}_{kind}"], dtype), dtype
    at.refuse(f"its {what} are strings")


def _label_encoder(at: Conversion) -> Expr:
    x, (keys, _), (values, dtype) = at.arg(), _table(at, "keys"), _table(at, "values")
    default = at.attr({"int64": "default_int64", "float32": "default_float"}.get(dtype, ""))
    if "default_tensor" in at.node.attrs:
        default = array_of(at.node.attrs["default_tensor"], at.importer.folder).item()
    elif default is None:
        default = -1 if dtype == "int64" else -0.0
    wide = at.unsqueeze(x, [at.rank(x)])
    same = at.call("equal", wide, at.const(keys, at.dtype(x)))
    if at.floating(x) and at.opset >= 4:
        neither = at.call("logical_and", at.call("isnan", wide), at.const(np.isnan(keys.astype("float64")), "bool"))
        same = at.call("logical_or", same, neither)
    places = at.call("argmax", at.cast(same, "int32"), axis=[at.rank(x)])
    found = at.call("take", at.const(values, dtype), places, axis=0)
    return at.call("where", at.call("any", same, axis=[at.rank(x)]), found, at.const(default, dtype))


_TABLE: dict[str, Convert] = {
    "Scaler": _scaler,
    "Imputer": _imputer,
    "Normalizer": _normalizer,
    "FeatureVectorizer": _feature_vectorizer,
    "OneHotEncoder": _one_hot_encoder,
    "LabelEncoder": _label_encoder,
}
OPERATORS: dict[str, Convert] = {f"ai.onnx.ml.{name}": convert for name, convert in _TABLE.items()}
