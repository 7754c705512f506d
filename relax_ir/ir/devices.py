"""The devices of a module, and how struct info and operators name them.

    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 1)]})
    x: R.Tensor((2, 3), dtype="float32", vdevice="cuda:1:global")

A device is named by the kind of its target, its place among the module's devices of that kind, and
its memory. Nothing is placed anywhere when a module runs here: there is one device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, Union

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import relax
from relay2relax.relax_ir.ir.mesh import DeviceMesh


class DeviceError(Relay2RelaxError):
    """A module has no such device."""

    kind = relax.DEVICE


@dataclass(frozen=True, slots=True)
class VDevice:
    """A virtual device: ``target`` as TVM's targets are written (``llvm``, ``{"kind": "cuda",
    …}``), one of its devices, and the memory there.
    """

    target: str | Mapping[str, Any]
    index: int = 0
    memory_scope: str = "global"

    @property
    def kind(self) -> str:
        """The kind of the target: ``llvm``, ``cuda``, …"""
        if isinstance(self.target, str):
            return self.target.split(" ", 1)[0]
        return str(self.target.get("kind", ""))


@dataclass(frozen=True, slots=True)
class DummyGlobalInfo:
    """``I.dummy_global_info()``, which says nothing."""


GlobalInfo: TypeAlias = Union[VDevice, DummyGlobalInfo, DeviceMesh]


@dataclass(frozen=True, slots=True)
class Device:
    """A device of the machine, as ``R.hint_on_device`` names it: DLPack's number of its type, and
    its number.
    """

    type: int
    index: int = 0


# DLPack's numbers of device types, by the names that ``tvm.<name>(index)`` and ``tvm.device(name)``
# have for them.
DEVICE_TYPES = {"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "vpi": 9, "rocm": 10, "hexagon": 16,
                "webgpu": 15}  # fmt: skip


def device_name(name: str, devices: Sequence[GlobalInfo] | None) -> str:
    """Return the full name of the device that ``name`` means among ``devices``, such as
    ``cuda:0:global`` for ``cuda``.

    ``vdevice:2`` is the third of all. Where no devices are known, as for a function alone, the name
    is completed only. Raises DeviceError where there is no such device.
    """
    kind, _, rest = name.partition(":")
    number, _, scope = rest.partition(":")
    if number and not number.removeprefix("-").isdecimal():
        raise DeviceError(f"{name!r} names no device: expected a kind and a number, such as 'cuda:0'")
    place = int(number or 0)
    # TVM writes -1 for a device that its module does not list.
    if devices is None or (place == -1 and not devices):
        return f"{kind}:{place}:{scope or 'global'}"
    placed = [device for device in devices if isinstance(device, VDevice)]
    same = placed if kind == "vdevice" else [device for device in placed if device.kind == kind]
    if not 0 <= place < len(same):
        known = ", ".join(full_name(device, placed) for device in placed) or "none"
        raise DeviceError(f"the module has no device {name!r}; its devices: {known}")
    return full_name(same[place], placed)


def full_name(device: VDevice, devices: Sequence[GlobalInfo]) -> str:
    """Return the name of ``device``, which is one of ``devices``."""
    same = [one for one in devices if isinstance(one, VDevice) and one.kind == device.kind]
    place = next(number for number, one in enumerate(same) if one is device)
    return f"{device.kind}:{place}:{device.memory_scope}"
