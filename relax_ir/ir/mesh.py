"""Tensors that are spread over a mesh of devices.

    I.module_global_infos({"mesh": [R.device_mesh((2, 2), I.Range(0, 4))]})
    x: R.DTensor((128, 128), "float32", "mesh[0]", "S[0], R")

A placement says for each dimension of the mesh along which axis of the tensor it is cut there
(``S[0]``), or that every device has all of it (``R``). Such programs are read, inferred, printed
and compared; a machine here is one device.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Union

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import relax
from relay2relax.core.words import Code, code, comma, number

# The axis of a tensor that is not cut: every device has a replica.
REPLICA = -1
_PLACE = re.compile(r"R|S\[\s*(\d+)\s*\]")


class MeshError(Relay2RelaxError):
    """Devices do not make the mesh that is asked for, or a tensor cannot be spread like that."""

    kind = relax.MESH


def no_axis(rank: int, axis: int) -> MeshError:
    """Return the error for a tensor that shall be cut along an axis that it does not have."""
    return MeshError(f"a tensor of rank {rank} has no axis {axis} to be cut along")


@dataclass(frozen=True, slots=True)
class DeviceMesh:
    """A view of devices as an array of ``shape``; ``devices`` are their numbers, in order."""

    shape: tuple[int, ...]
    devices: Union[range, tuple[int, ...]]

    def __post_init__(self) -> None:
        if math.prod(self.shape) != len(self.devices):
            count = math.prod(self.shape)
            raise MeshError(f"a mesh of shape {self.shape} has {count} devices, {len(self.devices)} are given")


@dataclass(frozen=True, slots=True)
class Sharding:
    """How a tensor is spread: for each dimension of ``mesh``, the axis that is cut along it, or
    ``REPLICA``.
    """

    mesh: DeviceMesh
    placement: tuple[int, ...]

    def check(self, ndim: int) -> None:
        """Raise MeshError unless a tensor of rank ``ndim``, -1 where that is unknown, can be spread
        like that.
        """
        if len(self.placement) != len(self.mesh.shape):
            raise MeshError(
                f"a mesh of {len(self.mesh.shape)} dimensions needs as many places, {len(self.placement)} are given"
            )
        for axis in self.placement:
            if axis >= ndim >= 0:
                raise no_axis(ndim, axis)


def read_placement(text: str) -> tuple[int, ...]:
    """Return what ``"S[0], R"`` says; raises MeshError where it is no placement."""
    places = [place.strip() for place in text.split(",")] if text.strip() else []
    found = [_PLACE.fullmatch(place) for place in places]
    if not all(found):
        raise MeshError(f"{text!r} is no placement: expected `R` or `S[axis]` for each dimension of the mesh")
    return tuple(REPLICA if match[1] is None else int(match[1]) for match in found if match is not None)


def placement_text(placement: tuple[int, ...]) -> Code:
    """Return ``placement`` as scripts have it: ``S[0], R``."""
    return comma(code("R") if axis == REPLICA else code("S[{}]", axis) for axis in placement)


def device_mesh_text(mesh: DeviceMesh) -> Code:
    """Return ``mesh`` as scripts have it where it has no name: ``R.device_mesh((2, 2), I.Range(0,
    4))``.
    """
    shape = code("({},)" if len(mesh.shape) == 1 else "({})", comma(map(number, mesh.shape)))
    if isinstance(mesh.devices, range):
        devices = code("I.Range({}, {})", mesh.devices.start, mesh.devices.stop)
    else:
        devices = code("[{}]", comma(map(number, mesh.devices)))
    return code("R.device_mesh({}, {})", shape, devices)
