"""Where values lie, out of TVMScript: devices (``R.to_vdevice``, ``R.hint_on_device``) and layouts
that an index map describes (``R.layout_transform``).
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from relay2relax.ops.target.layout_rewrites import IndexMap
from relay2relax.relax_ir.ir.devices import DEVICE_TYPES, Device
from relay2relax.relax_ir.ir.mesh import placement_text
from relay2relax.relax_ir.script.operators import OperatorReader
from relay2relax.tir.extent import as_prim
from relay2relax.tir.ir.expr import PrimExpr, Var


class PlacementReader(OperatorReader):
    """Reads calls whose arguments are no values; how values are read is asked of the subclass."""

    @abstractmethod
    def value(self, node: ast.AST) -> Any:
        """Return what ``node`` is."""

    def needed(self, node: ast.AST, given: Mapping[str, ast.expr], name: str) -> ast.expr:
        if name not in given:
            raise self.source.problem(node, f"the argument `{name}` is missing", f"expected `{name}`")
        return given[name]

    # Layouts.

    def layout_transform(self, node: ast.Call) -> Any:
        given = self.source.arguments(node, ("x", "index_map", "pad_value", "axis_separators", "input_axis_separators"))
        mapping, separators = self.index_map(self.needed(node, given, "index_map"))
        found = {name: self.value(value) for name, value in given.items() if name != "index_map"}
        found = {name: value for name, value in found.items() if value is not None and value != []}
        if separators:
            found.setdefault("axis_separators", separators)
        return self.operator_call("layout_transform", [found.pop("x", None), mapping], found, node)

    def index_map(self, node: ast.expr) -> tuple[IndexMap, list[int]]:
        """Return what ``lambda i: (i // 4, i % 4)`` says, alone or in ``T.index_map``, and where it
        separates axes.
        """
        called = self.source.called(node) or ""
        if isinstance(node, ast.Call) and called.rpartition(".")[2] in ("index_map", "from_func"):
            given = self.source.arguments(node, ("mapping", "ndim", "inverse_index_map", "index_dtype"))
            node = self.needed(node, given, "mapping")
        if not isinstance(node, ast.Lambda) or node.args.vararg or node.args.kwonlyargs:
            raise self.source.problem(node, "this is no index map", "expected lambda i, j: (…)")
        names = [argument.arg for argument in node.args.args]
        indices = {name: Var(name, "int64") for name in names}
        body = node.body.elts if isinstance(node.body, (ast.Tuple, ast.List)) else [node.body]
        final: list[PrimExpr] = []
        separators = []
        with self.scope():
            self.scopes[-1].update(indices)
            for one in body:
                if (self.source.dotted(one) or "").endswith("AXIS_SEPARATOR"):
                    separators.append(len(final))
                else:
                    final.append(as_prim(self.extent(one)))
        return IndexMap(tuple(indices.values()), tuple(final)), separators

    # Devices.

    def redistribute(self, name: str, node: ast.Call) -> Any:
        """Return ``R.dist.redistribute(x, "mesh[0]", "S[0]")``, or ``R.dist.annotate_sharding``."""
        given = self.source.arguments(node, ("input", "device_mesh", "placement", "value"))
        value = self.value(
            self.needed(node, {"input": given["value"], **given} if "value" in given else given, "input")
        )
        mesh = self.device_mesh(self.needed(node, given, "device_mesh"))
        placement = placement_text(self.placement(self.needed(node, given, "placement")))
        return self.operator_call(name, [value, mesh, placement], {}, node)

    def to_vdevice(self, node: ast.Call) -> Any:
        given = self.source.arguments(node, ("data", "dst_vdevice"))
        data = self.value(self.needed(node, given, "data"))
        device = self.device(self.needed(node, given, "dst_vdevice"))
        return self.operator_call("to_vdevice", [data, device], {}, node)

    def hint_on_device(self, node: ast.Call) -> Any:
        given = self.source.arguments(node, ("data", "dst_vdevice", "memory_scope"))
        data = self.value(self.needed(node, given, "data"))
        device = self.machine_device(self.needed(node, given, "dst_vdevice"))
        scope = [self.source.string(given["memory_scope"], "a memory")] if "memory_scope" in given else []
        return self.operator_call("hint_on_device", [data, device, *scope], {}, node)

    def machine_device(self, node: ast.expr) -> Device:
        """Return the device that ``R.device(1, 0)``, ``tvm.cpu()`` or ``tvm.device("cpu", 0)``
        is.
        """
        called = self.source.called(node) or ""
        kind = called.removeprefix("tvm.")
        if isinstance(node, ast.Call) and kind in DEVICE_TYPES:
            given = self.source.arguments(node, ("index",))
            return Device(DEVICE_TYPES[kind], self.integer(given["index"], "a device") if "index" in given else 0)
        if not isinstance(node, ast.Call) or called not in ("R.device", "tvm.device", "tvm.runtime.device"):
            raise self.source.problem(node, "this is no device", "expected R.device(1, 0): CPUs, and the first of them")
        # TVM's releases do not agree about the names.
        names = {"dev_type": "device_type", "type": "device_type", "dev_id": "index", "device_id": "index"}
        given = dict(zip(("device_type", "index"), node.args, strict=False))
        given |= {names.get(one.arg or "", one.arg or ""): one.value for one in node.keywords}
        first = self.source.literal(self.needed(node, given, "device_type"))
        type_ = DEVICE_TYPES.get(first) if isinstance(first, str) else first
        if isinstance(type_, bool) or not isinstance(type_, int):
            raise self.source.problem(
                given["device_type"], "this is no kind of device", "expected a number, as DLPack has"
            )
        return Device(type_, self.integer(given["index"], "a device") if "index" in given else 0)
