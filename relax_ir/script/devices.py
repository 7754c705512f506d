"""Devices, and meshes of them, out of TVMScript."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from relay2relax.core.errors.table import script
from relay2relax.core.words import WordError, check_device
from relay2relax.relax_ir.ir.devices import DEVICE_TYPES, Device, DeviceError, VDevice, device_name, full_name
from relay2relax.relax_ir.ir.mesh import DeviceMesh, MeshError, read_placement
from relay2relax.relax_ir.script.context import ModuleContext

_MESHES = frozenset({"R.device_mesh", "R.dist.device_mesh"})


class DeviceReader:
    """Reads devices: the module's, by name or written out, and those of the machine."""

    def __init__(self, module: ModuleContext) -> None:
        self.source = module.text.source
        self.module = module

    # Meshes of devices.

    def placement(self, node: ast.expr) -> tuple[int, ...]:
        """Return what ``"S[0], R"`` says: the axis that each axis of a mesh divides."""
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
        row = self.module.global_infos.get(name, ())
        index = int(place[:-1]) if place[:-1].isdecimal() else -1
        found = row[index] if 0 <= index < len(row) else None
        if not isinstance(found, DeviceMesh):
            raise self.source.problem(
                node, "the module has no such mesh", "expected one of I.module_global_infos", kind=script.NAME
            )
        return found

    def written_mesh(self, node: ast.Call) -> DeviceMesh:
        """Return what ``R.device_mesh((2, 2), I.Range(0, 4))`` says.

        The numbers may stand in a list, too.
        """
        given = self.source.arguments(node, ("shape", "device_ids"))
        if self.source.called(node) not in _MESHES or len(given) != 2:
            raise self.source.problem(node, "this is no mesh", "expected R.device_mesh((2, 2), I.Range(0, 4))")
        shape, ids = self.source.literal(given["shape"]), given["device_ids"]
        devices: Sequence[int]
        if isinstance(ids, ast.Call) and (self.source.called(ids) or "").rpartition(".")[2] == "Range":
            devices = range(*[self.source.integer(one, "the number of a device") for one in ids.args])
        else:
            devices = tuple(self.source.literal(ids))
        try:
            return DeviceMesh(tuple(shape), devices)
        except MeshError as error:
            raise self.source.problem(
                node, error.diagnostics[0].title, "does not fit", kind=script.STRUCT_INFO
            ) from None

    def device(self, node: ast.expr) -> str:
        """Return the full name of the device that ``node`` means: by name, or written out as the
        module has it.
        """
        try:
            if not isinstance(node, ast.Call):
                name = device_name(self.source.string(node, "a device"), self.module.devices)
                check_device(name)
                return name
            found = self.vdevice(node)
        except (DeviceError, WordError) as error:
            raise self.source.problem(node, error.diagnostics[0].title, "no such device", kind=script.NAME) from None
        devices = self.module.devices or ()
        for one in devices:
            if one == found:
                return full_name(one, devices)
        raise self.source.problem(node, "this device is none of the module's", "expected one of I.module_global_infos")

    def vdevice(self, node: ast.Call) -> VDevice:
        """Return the device that ``I.vdevice(target, index, memory)`` describes."""
        if self.source.called(node) not in ("I.vdevice", "tvm.ir.VDevice"):
            raise self.source.problem(
                node, script.MALFORMED.message(what="device"), 'expected I.vdevice("llvm", 0, "global") or a name'
            )
        given = self.source.arguments(node, ("target", "vdevice_id", "memory_scope"))
        target = self.source.literal(given["target"]) if "target" in given else None
        if not isinstance(target, (str, dict)):
            raise self.source.problem(node, "a device has a target", 'expected "llvm" or {"kind": "llvm"}')
        index = self.source.integer(given["vdevice_id"], "the number of a device") if "vdevice_id" in given else 0
        scope = self.source.string(given["memory_scope"], "a memory") if "memory_scope" in given else "global"
        return VDevice(target, index, scope)

    def machine_device(self, node: ast.expr) -> Device:
        """Return the device that ``R.device(1, 0)``, ``tvm.cpu()`` or ``tvm.device("cpu", 0)``
        is.
        """
        called = self.source.called(node) or ""
        kind = called.removeprefix("tvm.")
        if isinstance(node, ast.Call) and kind in DEVICE_TYPES:
            given = self.source.arguments(node, ("index",))
            return Device(
                DEVICE_TYPES[kind], self.source.integer(given["index"], "a device") if "index" in given else 0
            )
        if not isinstance(node, ast.Call) or called not in ("R.device", "tvm.device", "tvm.runtime.device"):
            raise self.source.problem(
                node, script.MALFORMED.message(what="device"), "expected R.device(1, 0): CPUs, and the first of them"
            )
        # TVM's releases do not agree about the names.
        names = {"dev_type": "device_type", "type": "device_type", "dev_id": "index", "device_id": "index"}
        given = dict(zip(("device_type", "index"), node.args, strict=False))
        given |= {names.get(one.arg or "", one.arg or ""): one.value for one in node.keywords}
        first = self.source.literal(self.source.needed(node, given, "device_type"))
        type_ = DEVICE_TYPES.get(first) if isinstance(first, str) else first
        if isinstance(type_, bool) or not isinstance(type_, int):
            raise self.source.problem(
                given["device_type"], "this is no kind of device", "expected a number, as DLPack has"
            )
        return Device(type_, self.source.integer(given["index"], "a device") if "index" in given else 0)
