"""Weights that quantised modules of TorchScript hold packed, with how they are quantised."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import frontends
from relay2relax.core.source import Span
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.ir.expr import Var

_MEMBER = "._packed_params"
_Floats: TypeAlias = npt.NDArray[np.float32]
# How the packed objects of a class are unpacked.
_UNPACK = {"LinearPackedParamsBase": "linear_unpack", "Conv2dPackedParamsBase": "conv2d_unpack"}


@dataclass(frozen=True, eq=False)
class Packed:
    """The weight and bias of a layer: ``scale`` is one number, or one for each place of ``axis``.

    ``weight`` has int8, ``bias`` float32. ``window`` are a convolution's strides, padding,
    dilation, padding of the output, and groups. ``arrays`` are the weights of the module that is
    imported, ``variables`` those of layers; a layer adds its own: floats that the program
    quantises, or with ``keep`` integers.
    """

    name: str
    weight: Array
    scale: _Floats
    bias: _Floats | None
    axis: int
    window: Mapping[str, Any]
    keep: bool
    arrays: MutableMapping[str, Array] = field(repr=False)
    variables: MutableMapping[str, Var] = field(repr=False)

    def weight_variable(self) -> Var:
        """Return the weight's variable: int8 with ``keep``, else float32."""
        shape = [1] * self.weight.ndim
        shape[self.axis] = -1
        scale = self.scale.reshape(shape) if self.scale.ndim else self.scale
        made = self.weight if self.keep else (self.weight.astype(np.float32) * scale).astype(np.float32)
        return self._variable(f"{self.name}_weight", made)

    def bias_variable(self, scale: _Floats | None) -> Var | None:
        """Return the bias' variable: int32 of ``scale`` with ``keep``, else float32."""
        if self.bias is None or scale is None or not self.keep:
            return None if self.bias is None else self._variable(f"{self.name}_bias", self.bias)
        limits = np.iinfo(np.int32)
        numbers: Array = np.clip(np.round(self.bias / scale), limits.min, limits.max).astype(np.int32)
        return self._variable(f"{self.name}_bias", numbers)

    def _variable(self, name: str, array: Array) -> Var:
        """A layer that is used for inputs of several scales has a bias for each."""
        number, stem = 0, name
        while name in self.arrays and not np.array_equal(self.arrays[name], array):
            number += 1
            name = f"{stem}_{number}"
        if name not in self.variables:
            self.arrays[name] = array
            self.variables[name] = var(name, shape=array.shape, dtype=of_array(array), span=Span(name))
        return self.variables[name]


def packed(
    held: object, path: str, keep: bool, arrays: MutableMapping[str, Array], variables: MutableMapping[str, Var]
) -> Packed | None:
    """Return what a packed object of PyTorch's holds, None for anything else.

    Raises UnsupportedError where its zero points are not 0, which Relay's operators ask for.
    """
    import torch

    kind = str(held) if isinstance(held, torch.ScriptObject) else ""
    unpack = next((name for known, name in _UNPACK.items() if known in kind), None)
    if unpack is None:
        return None
    layer: Any = held
    convolves = unpack == "conv2d_unpack"
    if convolves and layer.transpose():
        unpack = "conv_transpose2d_unpack"
    weight, bias = getattr(torch.ops.quantized, unpack)(layer)
    if weight.qscheme() == torch.per_tensor_affine:
        scale, zeros, axis = np.float32(weight.q_scale()), np.array(weight.q_zero_point()), 0
    else:
        scale, zeros = weight.q_per_channel_scales().numpy(), weight.q_per_channel_zero_points().numpy()
        axis = weight.q_per_channel_axis()
    integers = weight.int_repr().numpy()
    if np.any(zeros) or integers.dtype != np.int8:
        problem = f"its weights are {integers.dtype}, with a zero point that is not 0"
        raise UnsupportedError(mistake(frontends.FORM, node=path, problem=problem))
    names = ("stride", "padding", "dilation", "output_padding", "groups") if convolves else ()
    return Packed(
        path.removesuffix(_MEMBER), integers, np.asarray(scale, np.float32),
        None if bias is None else bias.detach().numpy(), axis, {name: getattr(layer, name)() for name in names}, keep,
        arrays, variables,
    )  # fmt: skip
