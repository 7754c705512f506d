"""Arguments that say a shape, a place or a count, and may be expressions.

TVM's functions take a constant there for its numbers; with another expression they call the dynamic
operator of that name, ``dyn.reshape`` for ``reshape``. Facts: the modules under ``tvm.relay.op`` of
TVM 0.18.
"""

from __future__ import annotations

from typing import Any

from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.ir.expr import Call, Constant, Op, RelayExpr, as_expr, const

# The parameters that may be computed, and the dtype of the constants that numbers become beside
# computed ones.
_COMPUTED: dict[str, dict[str, str]] = {
    "broadcast_to": {"shape": "int32"},
    "expand_dims": {"axis": "int32"},
    "full": {"shape": "int32"},
    "image.resize2d": {"size": "int64", "roi": "float32"},
    "nn.pad": {"pad_width": "int32"},
    "nn.upsampling": {"scale_h": "float64", "scale_w": "float64"},
    "nn.upsampling3d": {"scale_d": "float64", "scale_h": "float64", "scale_w": "float64"},
    "one_hot": {"depth": "int32"},
    "ones": {"shape": "int32"},
    "reshape": {"newshape": "int32"},
    "sparse_to_dense": {"output_shape": "int32"},
    "squeeze": {"axis": "int32"},
    "strided_slice": {"begin": "int32", "end": "int32", "strides": "int32"},
    "tile": {"reps": "int32"},
    "topk": {"k": "int32"},
    "zeros": {"shape": "int32"},
}
# What the dynamic operator calls a parameter otherwise.
_RENAMED = {"dyn.squeeze": {"axis": "axes"}}


def settled(record: OpDef, values: dict[str, Any]) -> OpDef:
    """Return the operator that is called with ``values``, arguments by name, which are changed.

    Constants become numbers where the operator of ``record`` takes those.
    """
    dtypes = _COMPUTED.get(record.name)
    if dtypes is None:
        return record
    given = {name: values[name] for name in dtypes if values.get(name) is not None}
    for name, value in given.items():
        if isinstance(value, Constant) and record.name != "expand_dims":
            given[name] = values[name] = _numbers(record.name, name, value)
    if not any(isinstance(value, RelayExpr) for value in given.values()):
        return record
    dynamic = relay_op(f"dyn.{record.name}")
    assert dynamic is not None
    if record.name == "image.resize2d":
        given.setdefault("roi", (0.0,) * 4)
    if record.name == "strided_slice":
        given.setdefault("strides", (1,))
        values["axes"] = None
    for name, value in given.items():
        argument = value if isinstance(value, RelayExpr) else const(value, dtypes[name])
        values[_RENAMED.get(dynamic.name, {}).get(name, name)] = argument
    if record.name == "strided_slice":
        values["begin"] = _inside(values["data"], values["begin"])
    if record.name == "squeeze":
        values["axis"] = None
    return dynamic


def _numbers(operator: str, name: str, value: Constant) -> Any:
    """Return the numbers of a constant: one number, a list, or a list of lists."""
    found = value.data.tolist()
    if operator == "squeeze" and not isinstance(found, list):
        return [found]
    if operator == "image.resize2d" and name == "size":
        return [int(one) for one in found]
    return found


def _inside(data: Any, begin: RelayExpr) -> RelayExpr:
    """Return where a slice begins, counted from the front and not behind the end."""

    def call(name: str, *args: Any, **attrs: Any) -> Call:
        found = relay_op(name)
        assert found is not None
        return Call(Op(name), tuple(map(as_expr, args)), found.attrs(**attrs))

    shape = call("cast_like", call("shape_of", data, dtype="int32"), begin)
    length = call("slice_like", shape, begin, axes=None)
    front = call("where", begin < call("cast_like", const(0), begin), begin + length, begin)
    return call("where", front >= length, length, front)
