"""Struct info and extents out of TVMScript.

In a signature an extent may stand in a string, and a name not met before is a symbolic dimension;
in a body every name has to be known.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from relay2relax.core.script_scope import Names
from relay2relax.core.script_source import ScriptSource
from relay2relax.relax_ir.ir.devices import DeviceError, GlobalInfo, VDevice, device_name, full_name
from relay2relax.relax_ir.ir.expr import Var as RelaxVar
from relay2relax.relax_ir.ir.mesh import DeviceMesh, MeshError, Sharding, read_placement
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from relay2relax.tir.extent import Extent, as_prim
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Var
from relay2relax.tir.script.expr import ExpressionReader, is_dtype

# Names of struct info without their namespace, as the first TVMScript had them.
_BARE = {"Tensor": "R.Tensor", "Object": "R.Object", "Shape": "R.Shape", "Tuple": "R.Tuple",
         "Callable": "R.Callable", "Prim": "R.Prim"}  # fmt: skip
_KINDS = frozenset({*_BARE.values(), "R.DTensor", "R.Any", "I.StringType"})
_MESHES = frozenset({"R.device_mesh", "R.dist.device_mesh"})


def as_dimension(found: Any) -> Any:
    """Return the dimension that a scalar parameter is known to be; anything else as it is."""
    match found:
        case RelaxVar(_, PrimStructInfo(_, value)) if value is not None:
            return value
    return found


class TypeReader(Names):
    """Reads struct info."""

    def __init__(self, source: ScriptSource) -> None:
        super().__init__(source)
        self.exprs = ExpressionReader(source, self.scalar, "int64")
        self.exprs.known = self.names
        self.in_signature = False
        # The dtypes of dimensions that a body declares, for its signature.
        self.declared: dict[str, str] = {}
        # The devices of the module; None where the text is a function alone, which is read without
        # them.
        self.devices: Sequence[GlobalInfo] | None = None
        self.global_infos: Mapping[str, Sequence[GlobalInfo]] = {}

    def scalar(self, name: str) -> Any:
        """Return what ``name`` stands for in an extent."""
        return as_dimension(self.lookup(name))

    # Extents.

    def extent(self, node: ast.expr) -> Extent:
        """Return one extent."""
        node = self.source.quoted(node, "extent")
        if self.in_signature:
            self.declare_dimensions(node)
        value = self.exprs.value(node)
        if isinstance(value, bool) or not isinstance(value, (int, PrimExpr)):
            raise self.source.problem(node, "this is no extent", "expected an integer or an expression over dimensions")
        if isinstance(value, PrimExpr) and not value.dtype.startswith(("int", "uint")):
            raise self.source.problem(node, f"an extent has dtype {value.dtype}", "expected an integer")
        return value.value if isinstance(value, IntImm) and value.dtype == "int64" else value

    def declare_dimensions(self, node: ast.expr) -> None:
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and one.id not in self.source.aliases and self.find(one.id) is None:
                self.define(one.id, Var(one.id, self.declared.get(one.id, "int64")))

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
        if self.in_signature:
            node = self.source.quoted(node, "struct info")
        if isinstance(node, ast.Constant) and node.value is None:
            return TupleStructInfo(())
        kind = self.kind(node)
        if kind is None:
            raise self.source.problem(
                node, "this is no struct info", "expected R.Tensor(…), R.Shape, R.Tuple, R.Prim …"
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
        vdevice = "" if placed is None or _is_none(placed) else self.device(placed)
        known = self.known_shape(shape)
        if known is not None:
            dtype = self.dtype(given["dtype"]) if "dtype" in given else ""
            return TensorStructInfo(known.values, dtype, known.ndim, vdevice)
        extents = None if shape is None or _is_none(shape) else self.row(self.shape_of(shape))
        if shape is not None and any(isinstance(extent, int) and extent < 0 for extent in extents or ()):
            raise self.source.problem(shape, "an extent is negative", "expected 0 or more")
        dtype = self.dtype(given["dtype"]) if "dtype" in given else ""
        ndim = self.integer(given["ndim"], "ndim") if "ndim" in given else -1
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
                node, "a tensor over a mesh needs a mesh", 'expected R.DTensor(…, "mesh[0]", "R")'
            )
        given = self.source.arguments(node, ("shape", "dtype", "device_mesh", "placement", "ndim"))
        for name in ("device_mesh", "placement"):
            if name not in given:
                raise self.source.problem(node, f"R.DTensor needs `{name}`", f"expected {name}=…")
        keywords = [ast.keyword(name, given[name]) for name in ("shape", "dtype", "ndim") if name in given]
        info = self.tensor(ast.copy_location(ast.Call(node.func, [], keywords), node))
        sharding = Sharding(self.device_mesh(given["device_mesh"]), self.placement(given["placement"]))
        try:
            sharding.check(info.ndim)
        except MeshError as error:
            raise self.source.problem(given["placement"], error.diagnostics[0].title, "does not fit") from None
        return replace(info, sharding=sharding)

    def placement(self, node: ast.expr) -> tuple[int, ...]:
        try:
            return read_placement(self.source.string(node, "a placement"))
        except MeshError as error:
            raise self.source.problem(node, error.diagnostics[0].title, "no placement") from None

    def device_mesh(self, node: ast.expr) -> DeviceMesh:
        """Return the mesh that ``node`` is: its name among the module's global infos, or
        ``R.device_mesh(…)``.
        """
        if isinstance(node, ast.Call):
            return self.written_mesh(node)
        name, _, place = self.source.string(node, "a mesh").partition("[")
        row = self.global_infos.get(name, ())
        index = int(place[:-1]) if place[:-1].isdecimal() else -1
        found = row[index] if 0 <= index < len(row) else None
        if not isinstance(found, DeviceMesh):
            raise self.source.problem(node, "the module has no such mesh", "expected one of I.module_global_infos")
        return found

    def written_mesh(self, node: ast.Call) -> DeviceMesh:
        """Return what ``R.device_mesh((2, 2), I.Range(0, 4))`` says.

        The numbers may stand in a list, too.
        """
        given = self.source.arguments(node, ("shape", "device_ids"))
        if self.source.called(node) not in _MESHES or len(given) != 2:
            raise self.source.problem(node, "this is no mesh", "expected R.device_mesh((2, 2), I.Range(0, 4))")
        shape, ids = self.source.literal(given["shape"]), given["device_ids"]
        devices: Any
        if isinstance(ids, ast.Call) and (self.source.called(ids) or "").rpartition(".")[2] == "Range":
            devices = range(*[self.integer(one, "the number of a device") for one in ids.args])
        else:
            devices = tuple(self.source.literal(ids))
        try:
            return DeviceMesh(tuple(shape), devices)
        except MeshError as error:
            raise self.source.problem(node, error.diagnostics[0].title, "does not fit") from None

    # Devices.

    def device(self, node: ast.expr) -> str:
        """Return the full name of the device that ``node`` means: by name, or written out as the
        module has it.
        """
        try:
            if not isinstance(node, ast.Call):
                return device_name(self.source.string(node, "a device"), self.devices)
            found = self.vdevice(node)
        except DeviceError as error:
            raise self.source.problem(node, error.diagnostics[0].title, "no such device") from None
        for one in self.devices or ():
            if one == found:
                return full_name(one, self.devices or ())
        raise self.source.problem(node, "this device is none of the module's", "expected one of I.module_global_infos")

    def vdevice(self, node: ast.Call) -> VDevice:
        """Return the device that ``I.vdevice(target, index, memory)`` describes."""
        if self.source.called(node) not in ("I.vdevice", "tvm.ir.VDevice"):
            raise self.source.problem(node, "this is no device", 'expected I.vdevice("llvm", 0, "global") or a name')
        given = self.source.arguments(node, ("target", "vdevice_id", "memory_scope"))
        target = self.source.literal(given["target"]) if "target" in given else None
        if not isinstance(target, (str, dict)):
            raise self.source.problem(node, "a device has a target", 'expected "llvm" or {"kind": "llvm"}')
        index = self.integer(given["vdevice_id"], "the number of a device") if "vdevice_id" in given else 0
        scope = self.source.string(given["memory_scope"], "a memory") if "memory_scope" in given else "global"
        return VDevice(target, index, scope)

    def known_shape(self, node: ast.expr | None) -> ShapeStructInfo | None:
        """Return what is known of the shape value that ``node`` names; None where it names none."""
        found = self.find(node.id) if isinstance(node, ast.Name) else None
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
        return self.exprs.dtype(node)

    def integer(self, node: ast.expr, what: str) -> int:
        value = self.source.literal(node)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.source.problem(node, f"{what} is an integer", "expected an integer")
        return value

    def shape(self, node: ast.Call) -> ShapeStructInfo:
        given = self.source.arguments(node, ("values", "ndim"))
        if "values" in given and not _is_none(given["values"]):
            return ShapeStructInfo(self.row(given["values"]))
        return ShapeStructInfo(None, self.integer(given["ndim"], "ndim") if "ndim" in given else -1)

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
        return PrimStructInfo(self.exprs.dtype(given["dtype"]))

    def callable(self, node: ast.Call) -> FuncStructInfo:
        given = self.source.arguments(node, ("params", "ret", "purity", "derive_func"))
        purity = bool(self.source.literal(given["purity"])) if "purity" in given else True
        params = given.get("params")
        with self.scope():
            infos = None if params is None or _is_none(params) else self.callable_params(params)
            ret = self.info(given["ret"]) if "ret" in given else ObjectStructInfo()
        return FuncStructInfo(None if infos is None else tuple(infos), ret, purity)

    def callable_params(self, node: ast.expr) -> list[StructInfo]:
        """Return the parameters of a function type, which define dimensions of its own."""
        outer, self.in_signature = self.in_signature, True
        try:
            parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
            return [self.info(part) for part in parts]
        finally:
            self.in_signature = outer


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
