"""Where values lie, out of TVMScript: devices (``R.to_vdevice``, ``R.hint_on_device``) and layouts
that an index map describes (``R.layout_transform``).
"""

from __future__ import annotations

import ast

from relay2relax.ops.target.layout_rewrites import IndexMap
from relay2relax.relax_ir.ir.expr import Call
from relay2relax.relax_ir.ir.mesh import placement_text
from relay2relax.relax_ir.script.calls.operators import OperatorReader
from relay2relax.relax_ir.script.context import Values
from relay2relax.relax_ir.script.devices import DeviceReader
from relay2relax.relax_ir.script.types import TypeReader
from relay2relax.tir.extent import as_prim
from relay2relax.tir.ir.expr import PrimExpr, Var
from relay2relax.tir.script.context import ReadContext


class PlacementReader:
    """Reads calls whose arguments are no values."""

    def __init__(
        self, context: ReadContext, types: TypeReader, devices: DeviceReader, operators: OperatorReader, values: Values
    ) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.types = types
        self.devices = devices
        self.operators = operators
        self.values = values

    # Layouts.

    def layout_transform(self, node: ast.Call) -> Call:
        given = self.source.arguments(node, ("x", "index_map", "pad_value", "axis_separators", "input_axis_separators"))
        mapping, separators = self.index_map(self.source.needed(node, given, "index_map"))
        found = {name: self.values.value(value) for name, value in given.items() if name != "index_map"}
        found = {name: value for name, value in found.items() if value is not None and value != []}
        if separators:
            found.setdefault("axis_separators", separators)
        return self.operators.operator_call("layout_transform", [found.pop("x", None), mapping], found, node)

    def index_map(self, node: ast.expr) -> tuple[IndexMap, list[int]]:
        """Return what ``lambda i: (i // 4, i % 4)`` says, alone or in ``T.index_map``, and where it
        separates axes.
        """
        called = self.source.called(node) or ""
        if isinstance(node, ast.Call) and called.rpartition(".")[2] in ("index_map", "from_func"):
            given = self.source.arguments(node, ("mapping", "ndim", "inverse_index_map", "index_dtype"))
            node = self.source.needed(node, given, "mapping")
        if not isinstance(node, ast.Lambda) or node.args.vararg or node.args.kwonlyargs:
            raise self.source.problem(node, "this is no index map", "expected lambda i, j: (…)")
        names = [argument.arg for argument in node.args.args]
        indices = {name: Var(name, "int64") for name in names}
        body = node.body.elts if isinstance(node.body, (ast.Tuple, ast.List)) else [node.body]
        final: list[PrimExpr] = []
        separators = []
        with self.scopes.inner({**indices}):
            for one in body:
                if (self.source.dotted(one) or "").endswith("AXIS_SEPARATOR"):
                    separators.append(len(final))
                else:
                    final.append(as_prim(self.types.extent(one)))
        return IndexMap(tuple(indices.values()), tuple(final)), separators

    # Devices.

    def redistribute(self, name: str, node: ast.Call) -> Call:
        """Return ``R.dist.redistribute(x, "mesh[0]", "S[0]")``, or ``R.dist.annotate_sharding``."""
        given = self.source.arguments(node, ("input", "device_mesh", "placement", "value"))
        value = self.values.value(
            self.source.needed(node, {"input": given["value"], **given} if "value" in given else given, "input")
        )
        mesh = self.devices.device_mesh(self.source.needed(node, given, "device_mesh"))
        placement = placement_text(self.devices.placement(self.source.needed(node, given, "placement")))
        return self.operators.operator_call(name, [value, mesh, placement], {}, node)

    def to_vdevice(self, node: ast.Call) -> Call:
        given = self.source.arguments(node, ("data", "dst_vdevice"))
        data = self.values.value(self.source.needed(node, given, "data"))
        device = self.devices.device(self.source.needed(node, given, "dst_vdevice"))
        return self.operators.operator_call("to_vdevice", [data, device], {}, node)

    def hint_on_device(self, node: ast.Call) -> Call:
        given = self.source.arguments(node, ("data", "dst_vdevice", "memory_scope"))
        data = self.values.value(self.source.needed(node, given, "data"))
        device = self.devices.machine_device(self.source.needed(node, given, "dst_vdevice"))
        scope = [self.source.string(given["memory_scope"], "a memory")] if "memory_scope" in given else []
        return self.operators.operator_call("hint_on_device", [data, device, *scope], {}, node)
