"""Programs whose operators work in the layouts that users ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, ClassVar

from relay2relax.core.errors.table import operators
from relay2relax.core.passes import Pass
from relay2relax.ops.common.layout import Axis
from relay2relax.ops.common.layout_rules import layout_named, place
from relay2relax.ops.registry.record import OpError
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Expr, Op, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions
from relay2relax.relay_ir.transform.layout.op_attrs import CONVERT, checked, registered
from relay2relax.relay_ir.transform.layout.rewriter import rewrite_layouts
from relay2relax.tir.extent import static

# The kernel's layout where the data's is asked for and the kernel's is "default".
_KERNELS: Mapping[str, Mapping[str, str]] = {
    "nn.conv2d": {"NCHW": "OIHW", "NHWC": "HWIO", "HWNC": "HWOI"},
    "nn.conv2d_transpose": {"NCHW": "IOHW", "NHWC": "HWIO"},
    "nn.conv3d": {"NCDHW": "OIDHW", "NDHWC": "DHWIO"},
    "nn.conv3d_transpose": {"NCDHW": "IODHW", "NDHWC": "DHWOI"},
    "nn.deformable_conv2d": {"NCHW": "OIHW", "NHWC": "HWIO"},
    "qnn.conv2d": {"NCHW": "OIHW", "NHWC": "HWIO"},
    "qnn.conv2d_transpose": {"NCHW": "IOHW", "NHWC": "HWIO"},
}
_POOLS = frozenset(["nn.avg_pool2d", "nn.global_avg_pool2d", "nn.global_max_pool2d", "nn.max_pool2d", "qnn.avg_pool2d"])
_WITH_LAYOUT = frozenset(["image.resize1d", "image.resize2d", "vision.roi_align", "vision.roi_pool"])
# Operators that LayoutConfig counts.
_COUNTED = frozenset({"nn.conv2d", "nn.deformable_conv2d"})
_TILED = re.compile(r"NCHW(\d+)c")


@dataclass
class LayoutConfig:
    """Within a ``with`` block ConvertLayout leaves some convolutions as they are.

    ``skip_layers`` are their numbers, counted from 0 in the order of the program.
    """

    skip_layers: Sequence[int] = ()
    skip_counter: int = 0
    _token: Token[LayoutConfig | None] | None = field(default=None, repr=False)

    def check_skip(self) -> bool:
        """Return whether the next convolution is left as it is, and count it."""
        self.skip_counter += 1
        return self.skip_counter - 1 in self.skip_layers

    def reset(self) -> None:
        """Count from 0 again, and leave none."""
        self.skip_counter, self.skip_layers = 0, ()

    def __enter__(self) -> LayoutConfig:
        self._token = _CONFIG.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            _CONFIG.reset(self._token)


_CONFIG: ContextVar[LayoutConfig | None] = ContextVar("layout_config", default=None)


@dataclass(frozen=True, slots=True)
class ConvertLayout(Pass[IRModule]):
    """Let operators work in other layouts, and what is around them follow.

    ``desired_layouts`` maps operators to the layouts of their data and, for convolutions, of their
    kernels (or "default"): ``{"nn.conv2d": ["NHWC", "default"]}``. Raises OpError for a layout that
    an operator cannot be asked for.
    """

    desired_layouts: Mapping[str, Sequence[str]]
    opt_level: ClassVar[int] = 3

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` in the desired layouts; infers types where ``mod`` has none."""
        mod = typed_module(mod)
        types = mod.types

        def change(call: Call, attrs: Any, args: tuple[Expr, ...]) -> Call:
            assert isinstance(call.op, Op)
            wanted = self.desired_layouts.get(call.op.name)
            made = None
            if wanted is not None:
                own, known = registered(call.op.name, CONVERT), [types[arg] for arg in call.args]
                if own is not None:
                    given = own.replacement(attrs, args, known, wanted, mod=mod, node=call)
                    made = checked(own, given, call, mod)
                else:
                    convert = _convert(call.op.name)
                    made = None if convert is None else convert(attrs, args, known, wanted)
            return made if isinstance(made, Call) else replace(call, args=args, attrs=attrs)

        return map_functions(mod, lambda one: one if left_alone(one) else rewrite_layouts(one, types, change))


def _convert(name: str) -> Any:
    def convert(attrs: Any, args: tuple[Expr, ...], types: Sequence[Type], wanted: Sequence[str]) -> Expr:
        layouts = [str(one) for one in wanted]
        if not layouts:
            raise _unknown(name, "that is not given")
        if layouts[0] == "default":
            raise _unknown(name, "default")
        if name in _COUNTED:
            config = _CONFIG.get()
            if config is not None and config.check_skip():
                return Call(Op(name), args, attrs)
        if name in _KERNELS:
            return _convolution(name, attrs, args, types, layouts)
        if name in _POOLS:
            return Call(Op(name), args, replace(attrs, layout=layouts[0], out_layout=layouts[0]))
        if name.startswith("vision.") and layouts[0] not in ("NCHW", "NHWC"):
            raise _unknown(name, layouts[0])
        return Call(Op(name), args, replace(attrs, layout=layouts[0]))

    return convert if name in _KERNELS or name in _POOLS or name in _WITH_LAYOUT else None


def _unknown(name: str, layout: str) -> OpError:
    return OpError(f"{name} cannot be converted to the layout {layout}", kind=operators.LAYOUT)


def _convolution(name: str, attrs: Any, args: tuple[Expr, ...], types: Sequence[Type], wanted: Sequence[str]) -> Expr:
    if len(wanted) != 2:
        raise OpError(f"{name} is asked for two layouts, of its data and of its kernel", kind=operators.LAYOUT)
    data, kernel = wanted
    tiled = _TILED.match(data) if name == "nn.conv2d" else None
    if tiled is not None:
        assert isinstance(types[0], TensorType)
        channels = types[0].shape[1]
        if kernel == "default":
            raise _unknown(name, "default")
        if isinstance(args[0], Var) and (static(channels) or 0) % int(tiled[1]):
            return Call(Op(name), args, attrs)
        return Call(Op("nn.contrib_conv2d_NCHWc"), args, replace(attrs, data_layout=data, kernel_layout=kernel))
    if kernel == "default":
        if data not in _KERNELS[name]:
            raise _unknown(name, data)
        kernel = _KERNELS[name][data]
        if name.endswith("nn.conv2d") and data == "NHWC" and _is_depthwise(attrs, types):
            kernel = "HWOI"
    return Call(Op(name), args, replace(attrs, data_layout=data, kernel_layout=kernel))


def _is_depthwise(attrs: Any, types: Sequence[Type]) -> bool:
    data, kernel = types[:2]
    assert isinstance(data, TensorType)
    assert isinstance(kernel, TensorType)
    channels = static(data.shape[place(layout_named(attrs.data_layout), Axis("C"))])
    outputs = static(kernel.shape[place(layout_named(attrs.kernel_layout), Axis("O"))])
    groups: int = attrs.groups
    return channels == outputs == groups
