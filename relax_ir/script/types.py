"""Struct info and extents out of TVMScript.

In a signature an extent may stand in a string, and a name not met before is a symbolic dimension;
in a body every name has to be known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from relay2relax.core.errors.table import script
from relay2relax.relax_ir.ir.expr import Var as RelaxVar
from relay2relax.relax_ir.ir.mesh import MeshError, Sharding
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from relay2relax.relax_ir.script.devices import DeviceReader
from relay2relax.tir.extent import Extent, as_prim
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Var
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.expr import ExpressionReader
from relay2relax.tir.script.types import is_dtype, read_dtype

# Names of struct info without their namespace, as the first TVMScript had them.
_BARE = {"Tensor": "R.Tensor", "Object": "R.Object", "Shape": "R.Shape", "Tuple": "R.Tuple",
         "Callable": "R.Callable", "Prim": "R.Prim"}  # fmt: skip
_KINDS = frozenset({*_BARE.values(), "R.DTensor", "R.Any", "I.StringType"})


def as_dimension(found: object) -> object:
    """Return the dimension that a scalar parameter is known to be; anything else as it is."""
    match found:
        case RelaxVar(_, PrimStructInfo(_, value)) if value is not None:
            return value
    return found


class TypeReader:
    """Reads struct info."""

    def __init__(self, context: ReadContext, devices: DeviceReader) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.devices = devices
        self.exprs = ExpressionReader(context, self.scalar, "int64")
        # The signatures around this place: the dtypes of dimensions that the body declares.
        self.signatures: list[Mapping[str, str]] = []

    def scalar(self, name: str) -> object:
        """Return what ``name`` stands for in an extent."""
        return as_dimension(self.scopes.lookup(name))

    @contextmanager
    def signature(self, declared: Mapping[str, str]) -> Iterator[None]:
        """Read a signature, in which new names are dimensions, of the dtypes in ``declared``."""
        self.signatures.append(declared)
        try:
            yield
        finally:
            self.signatures.pop()

    # Extents.

    def extent(self, node: ast.expr) -> Extent:
        """Return one extent."""
        node = self.source.quoted(node, "extent")
        if self.signatures:
            self.declare_dimensions(node)
        value = self.exprs.value(node)
        if isinstance(value, bool) or not isinstance(value, (int, PrimExpr)):
            raise self.source.problem(
                node, script.MALFORMED.message(what="extent"), "expected an integer or an expression over dimensions"
            )
        if isinstance(value, PrimExpr) and not value.dtype.startswith(("int", "uint")):
            raise self.source.problem(node, f"an extent has dtype {value.dtype}", "expected an integer")
        return value.value if isinstance(value, IntImm) and value.dtype == "int64" else value

    def declare_dimensions(self, node: ast.expr) -> None:
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and one.id not in self.source.aliases and self.scopes.find(one.id) is None:
                self.scopes.define(one.id, Var(one.id, self.signatures[-1].get(one.id, "int64")))

    def row(self, node: ast.expr) -> tuple[Extent, ...]:
        """Return the extents of a list or tuple."""
        if not isinstance(node, (ast.List, ast.Tuple)):
            raise self.source.problem(node, "this is no shape", "expected a tuple or list of extents")
        return tuple(self.extent(one) for one in node.elts)

    # Struct info.

    def kind(self, node: ast.expr) -> str | None:
        """Return ``R.Tensor`` and its like where ``node`` is struct info or a call of it, None
        otherwise.
        """
        name = self.source.dotted(node.func if isinstance(node, ast.Call) else node)
        if name is None:
            return None
        name = _BARE.get(name, name).replace("R.dist.", "R.")
        if name in _KINDS:
            return name
        is_scalar = name.startswith("T.") and is_dtype(name[2:]) and not isinstance(node, ast.Call)
        return "R.Prim" if is_scalar else None

    def annotation(self, node: ast.expr) -> StructInfo:
        """Return the struct info that an annotation is: an expression, or a string that holds
        one.
        """
        return self.info(self.source.quoted(node, "struct info"))

    def info(self, node: ast.expr) -> StructInfo:
        """Return the struct info that ``node`` is."""
        if self.signatures:
            node = self.source.quoted(node, "struct info")
        if isinstance(node, ast.Constant) and node.value is None:
            return TupleStructInfo(())
        kind = self.kind(node)
        if kind is None:
            raise self.source.problem(
                node,
                script.MALFORMED.message(what="struct info"),
                "expected R.Tensor(…), R.Shape, R.Tuple, R.Prim …",
                kind=script.STRUCT_INFO,
            )
        call = node if isinstance(node, ast.Call) else None
        match kind:
            case "R.Tensor":
                return self.tensor(call) if call is not None else TensorStructInfo()
            case "R.DTensor":
                return self.spread_tensor(node)
            case "R.Shape":
                return self.shape(call) if call is not None else ShapeStructInfo()
            case "R.Tuple":
                return self.tuple(call) if call is not None else TupleStructInfo(())
            case "R.Prim":
                return self.prim(node)
            case "R.Callable":
                return self.callable(call) if call is not None else FuncStructInfo(None, ObjectStructInfo())
        return ObjectStructInfo()

    def tensor(self, node: ast.Call) -> TensorStructInfo:
        given = self.source.arguments(node, ("shape", "dtype", "vdevice", "ndim"))
        shape = given.get("shape")
        if isinstance(shape, ast.Constant) and isinstance(shape.value, str) and "dtype" not in given:
            given["dtype"] = given.pop("shape")
            shape = None
        placed = given.get("vdevice")
        vdevice = "" if placed is None or _is_none(placed) else self.devices.device(placed)
        known = self.known_shape(shape)
        if known is not None:
            dtype = self.dtype(given["dtype"]) if "dtype" in given else ""
            return TensorStructInfo(known.values, dtype, known.ndim, vdevice)
        extents = None if shape is None or _is_none(shape) else self.row(self.shape_of(shape))
        if shape is not None and any(isinstance(extent, int) and extent < 0 for extent in extents or ()):
            raise self.source.problem(shape, "a tensor has a negative extent", "expected 0 or more")
        dtype = self.dtype(given["dtype"]) if "dtype" in given else ""
        ndim = self.source.integer(given["ndim"], "ndim") if "ndim" in given else -1
        if ndim < -1:
            raise self.source.problem(given["ndim"], "ndim is negative", "expected the number of dimensions")
        if extents is not None and ndim not in (-1, len(extents)):
            raise self.source.problem(given["ndim"], f"ndim is {ndim}", f"expected {len(extents)}, as the shape has")
        return TensorStructInfo(extents, dtype, ndim, vdevice)

    # Meshes of devices.

    def spread_tensor(self, node: ast.expr) -> TensorStructInfo:
        """Return what ``R.DTensor((4, 4), "float32", "mesh[0]", "S[0], R")`` says."""
        if not isinstance(node, ast.Call):
            raise self.source.problem(
                node,
                "a tensor over a mesh needs a mesh",
                'expected R.DTensor(…, "mesh[0]", "R")',
                kind=script.ARGUMENTS,
            )
        given = self.source.arguments(node, ("shape", "dtype", "device_mesh", "placement", "ndim"))
        for name in ("device_mesh", "placement"):
            if name not in given:
                raise self.source.problem(
                    node, f"R.DTensor needs `{name}`", f"expected {name}=…", kind=script.ARGUMENTS
                )
        keywords = [ast.keyword(name, given[name]) for name in ("shape", "dtype", "ndim") if name in given]
        info = self.tensor(ast.copy_location(ast.Call(node.func, [], keywords), node))
        sharding = Sharding(self.devices.device_mesh(given["device_mesh"]), self.devices.placement(given["placement"]))
        try:
            sharding.check(info.ndim)
        except MeshError as error:
            raise self.source.problem(
                given["placement"], error.diagnostics[0].title, "does not fit", kind=script.STRUCT_INFO
            ) from None
        return replace(info, sharding=sharding)

    def known_shape(self, node: ast.expr | None) -> ShapeStructInfo | None:
        """Return what is known of the shape value that ``node`` names; None where it names none."""
        found = self.scopes.find(node.id) if isinstance(node, ast.Name) else None
        info = getattr(found, "info", None)
        return info if isinstance(info, ShapeStructInfo) else None

    def shape_of(self, node: ast.expr) -> ast.expr:
        """Return the extents of ``R.shape([…])``, or ``node`` itself."""
        if isinstance(node, ast.Call) and self.source.called(node) == "R.shape" and len(node.args) == 1:
            return node.args[0]
        return node

    def dtype(self, node: ast.expr) -> str:
        """Return a dtype; what TVM writes for none is ""."""
        if _is_none(node) or (isinstance(node, ast.Constant) and node.value in ("", "void")):
            return ""
        return read_dtype(self.source, node)

    def shape(self, node: ast.Call) -> ShapeStructInfo:
        given = self.source.arguments(node, ("values", "ndim"))
        if "values" in given and not _is_none(given["values"]):
            return ShapeStructInfo(self.row(given["values"]))
        return ShapeStructInfo(None, self.source.integer(given["ndim"], "ndim") if "ndim" in given else -1)

    def tuple(self, node: ast.Call) -> TupleStructInfo:
        parts = node.args
        if len(parts) == 1 and isinstance(parts[0], (ast.List, ast.Tuple)):
            parts = parts[0].elts
        return TupleStructInfo(tuple(self.info(part) for part in parts))

    def prim(self, node: ast.expr) -> PrimStructInfo:
        if not isinstance(node, ast.Call):
            name = self.source.dotted(node) or ""
            return PrimStructInfo(name[2:] if name.startswith("T.") else "int64")
        given = self.source.arguments(node, ("dtype", "value"))
        if "value" in given:
            said = given["value"]
            quoted = isinstance(said, ast.Constant) and isinstance(said.value, str)
            value = as_prim(self.extent(said)) if quoted else self.exprs.expr(said)
            return PrimStructInfo(value.dtype, value)
        if "dtype" not in given:
            raise self.source.problem(node, "a scalar has a dtype", 'expected R.Prim("int64") or its like')
        return PrimStructInfo(read_dtype(self.source, given["dtype"]))

    def callable(self, node: ast.Call) -> FuncStructInfo:
        given = self.source.arguments(node, ("params", "ret", "purity", "derive_func"))
        purity = bool(self.source.literal(given["purity"])) if "purity" in given else True
        params = given.get("params")
        with self.scopes.inner():
            infos = None if params is None or _is_none(params) else self.callable_params(params)
            ret = self.info(given["ret"]) if "ret" in given else ObjectStructInfo()
        return FuncStructInfo(None if infos is None else tuple(infos), ret, purity)

    def callable_params(self, node: ast.expr) -> list[StructInfo]:
        """Return the parameters of a function type, which define dimensions of its own."""
        parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        with self.signature(self.signatures[-1] if self.signatures else {}):
            return [self.info(part) for part in parts]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
