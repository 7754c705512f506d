"""How the small parts of a program are written, in a script and in messages: extents, struct info,
constants and attributes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from types import MappingProxyType
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.core.words import Code, code, comma, joined, number, numeral, quoted, sign, truth, word
from relay2relax.ops.target.layout_rewrites import IndexMap
from relay2relax.relax_ir.ir.devices import Device
from relay2relax.relax_ir.ir.mesh import DeviceMesh, Sharding, device_mesh_text, placement_text
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from relay2relax.relax_ir.ir.symbols import variables
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir.expr import LEVELS, Binary, Call, FloatImm, IntImm, PrimExpr, Var
from relay2relax.tir.script.dialect import TODAY
from relay2relax.tir.script.expr_printer import dtype_word, float_literal

Names = Callable[[Var], Code]
Meshes = Mapping[DeviceMesh, str]
_NO_MESHES: Meshes = MappingProxyType({})

# What the annotation of most variables, and most lists of numbers, are joined of.
_TENSOR, _DTYPE = code("R.Tensor"), code("dtype=")
_OPEN, _CLOSE, _BEGIN, _END = code("("), code(")"), code("["), code("]")


def extent_text(extent: Extent, names: Names, level: int = 0) -> Code:
    """Return ``extent`` as a dimension; ``names`` says what its variables are called.

    Raises UnsupportedError for an expression that dimensions cannot be.
    """
    match extent:
        case int():
            return number(extent)
        case IntImm(value, "int64"):
            return number(value)
        case IntImm(value, "bool"):
            return code("T.bool({})", truth(value))
        case IntImm(value, dtype):
            return code("T.{}({})", dtype_word(dtype), value)
        case FloatImm(value, dtype):
            return code("T.{}({})", dtype_word(dtype), float_literal(value))
        case Var():
            return names(extent)
        case Binary(("min" | "max") as op, a, b):
            return code("T.{}({}, {})", word(op), extent_text(a, names), extent_text(b, names))
        case Call("if_then_else", (condition, then, otherwise)):
            parts = comma(extent_text(one, names) for one in (condition, then, otherwise))
            return code("T.if_then_else({})", parts)
        case Binary(op, a, b) if op in LEVELS:
            own = LEVELS[op]
            text = code("{} {} {}", extent_text(a, names, own + (own == 1)), sign(op), extent_text(b, names, own + 1))
            return code("({})", text) if own < level else text
    raise UnsupportedError(mistake(translating.NOT_SAID, what=f"{extent!r} in a shape"))


def _row(values: tuple[Extent, ...], names: Names, known: Set[Var] | None) -> list[Code]:
    texts = [extent_text(value, names) for value in values]
    if known is None:
        return texts
    return [t if isinstance(v, int) or set(variables(v)) <= known else quoted(t)
            for t, v in zip(texts, values, strict=True)]  # fmt: skip


def mesh_text(mesh: DeviceMesh, meshes: Meshes) -> Code:
    """Return ``mesh`` by its name among the module's global infos, or written out where it has
    none.
    """
    return quoted(meshes[mesh]) if mesh in meshes else device_mesh_text(mesh)


def tuple_text(items: list[Code]) -> Code:
    """Return a Python tuple of ``items``."""
    return code("({},)", items[0]) if len(items) == 1 else joined(_OPEN, comma(items), _CLOSE)


def info_text(info: StructInfo, names: Names, known: Set[Var] | None = None, meshes: Meshes = _NO_MESHES) -> Code:
    """Return ``info`` as an annotation.

    In a signature, where names are not defined yet, extents are quoted unless all their variables
    are ``known``. ``meshes`` are the names of the module's meshes of devices.
    """
    match info:
        case TensorStructInfo(shape, dtype, ndim, _, Sharding() as sharding):
            parts = [] if shape is None else [tuple_text(_row(shape, names, known))]
            parts += [code("dtype={}", quoted(dtype))] if dtype else []
            parts += [code("device_mesh={}", mesh_text(sharding.mesh, meshes))]
            parts += [code("placement={}", quoted(placement_text(sharding.placement)))]
            parts += [code("ndim={}", ndim)] if shape is None and ndim >= 0 else []
            return code("R.DTensor({})", comma(parts))
        case TensorStructInfo(shape, dtype, ndim, vdevice):
            parts = [] if shape is None else [tuple_text(_row(shape, names, known))]
            parts += [joined(_DTYPE, quoted(dtype))] if dtype else []
            parts += [code("vdevice={}", quoted(vdevice))] if vdevice else []
            parts += [code("ndim={}", ndim)] if shape is None and ndim >= 0 else []
            return joined(_TENSOR, _OPEN, comma(parts), _CLOSE) if parts else _TENSOR
        case ShapeStructInfo(values, _) if values is not None:
            return code("R.Shape([{}])", comma(_row(values, names, known)))
        case ShapeStructInfo(_, ndim):
            return code("R.Shape(ndim={})", ndim) if ndim >= 0 else code("R.Shape")
        case TupleStructInfo(fields):
            inner = comma(info_text(field, names, known, meshes) for field in fields)
            return code("R.Tuple({})", inner) if fields else code("R.Tuple")
        case PrimStructInfo(dtype):
            return code("R.Prim({})", quoted(dtype))
        case ObjectStructInfo():
            return code("R.Object")
        case FuncStructInfo(params, ret, purity) if params is not None:
            inner = tuple_text([info_text(param, names, known, meshes) for param in params])
            return code("R.Callable({}, {}, {})", inner, info_text(ret, names, known, meshes), truth(purity))
        case FuncStructInfo():
            return code("R.Callable")
    raise UnsupportedError(mistake(translating.NOT_SAID, what=repr(info)))


def print_struct_info(info: StructInfo) -> Code:
    """Return ``info`` as it stands in a signature, e.g. ``R.Tensor(("n", 4), dtype="float32")``."""
    supply = NameSupply()
    known: dict[Var, Code] = {}

    def names(var: Var) -> Code:
        if var not in known:
            known[var] = supply.identifier(var.name)
        return known[var]

    return info_text(info, names, set())


def is_weak(info: StructInfo) -> bool:
    """Whether something about ``info`` is unknown, so that as an annotation it could hide what TVM
    infers.
    """
    match info:
        case TensorStructInfo(shape, dtype):
            return shape is None or not dtype
        case ShapeStructInfo(values):
            return values is None
        case TupleStructInfo(fields):
            return any(is_weak(field) for field in fields)
        case FuncStructInfo(params):
            return params is None
    return isinstance(info, ObjectStructInfo)


def number_text(value: Any) -> Code:
    """Return one element of an array so that TVM reads the same value.

    The shortest digits where they do.
    """
    if isinstance(value, (np.bool_, np.integer)):
        return truth(value) if isinstance(value, np.bool_) else number(int(value))
    exact = float(value)
    if math.isfinite(exact) and isinstance(value, (np.float16, np.float32)):
        short = str(value)
        # The reader rounds twice, to float64 and from there, which is not always rounding once.
        if type(value)(float(short)) == value:
            return numeral(short)
    return number(exact)


def constant_text(data: Array, empty: Code | None = None) -> Code:
    """Return ``R.const`` of a scalar or nested lists.

    ``empty`` is the function of TVM that makes arrays by shape.

    Lists say no extents behind one that is 0, so TVM is asked for an array without elements.
    """
    dtype = quoted(of_array(data))
    if data.size == 0 and 0 in data.shape[:-1]:
        return code(
            "R.const({}({}, {}), {})",
            empty or TODAY.empty,
            tuple_text([number(extent) for extent in data.shape]),
            dtype,
            dtype,
        )
    return code("R.const({}, {})", number_list(data), dtype)


def number_list(data: Array) -> Code:
    """Return the elements of an array as nested lists, those of rank 0 as a number."""
    if data.ndim == 0:
        return number_text(data[()])
    if data.ndim == 1:
        return code("[{}]", comma(map(number_text, data)))
    return code("[{}]", comma(map(number_list, data)))


def attribute_text(value: object, names: Names, meshes: Meshes = _NO_MESHES) -> Code:
    """Return the value of an attribute.

    Raises UnsupportedError for values that scripts cannot hold.
    """
    match value:
        case None:
            return code("None")
        case bool():
            return truth(value)
        case int() | float():
            return number(value)
        case str():
            return quoted(value)
        case PrimExpr():
            return extent_text(value, names)
        case IndexMap(initial, final):
            own = {var: code("i{}", place) for place, var in enumerate(initial)}
            places = tuple_text([extent_text(expr, own.__getitem__) for expr in final])
            return code("T.index_map(lambda {}: {})", comma(own.values()), places)
        case DeviceMesh():
            return mesh_text(value, meshes)
        case Device(type_, index):
            return code("R.device({}, {})", type_, index)
        case list() | tuple():
            return joined(_BEGIN, comma(attribute_text(one, names, meshes) for one in value), _END)
        case Mapping():
            items = sorted(value.items())
            return code("{{{}}}", comma(code("{}: {}", quoted(k), attribute_text(v, names, meshes)) for k, v in items))
    raise UnsupportedError(mistake(translating.NOT_SAID, what=f"the attribute value {value!r}"))
