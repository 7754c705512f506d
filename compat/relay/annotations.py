"""``tvm.relay.op.annotation``, and the patterns that compilers register."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay2relax.compat.running.ndarray import Device
from relay2relax.relay_ir.build import annotation, op
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.expr import Call, Expr

_tables: dict[str, object] = {}


def as_virtual(device: object) -> VirtualDevice:
    """Return a device, or the name of one, as a constraint."""
    from relay2relax.compat.running.ndarray import device as by_name

    if isinstance(device, VirtualDevice):
        return device
    found = by_name(device) if isinstance(device, str) else device
    if not isinstance(found, Device):
        raise TypeError(f"expecting a Device or device name, but received a {type(device)}")
    return VirtualDevice(found.device_type, found.device_id)


def on_device(body: Expr, device: object, constrain_result: bool = False, constrain_body: bool = True) -> Call:
    """Return ``body`` with the statement that it is computed on ``device``."""
    return annotation.on_device(body, as_virtual(device), constrain_result, constrain_body)


def compiler_begin(data: Expr, compiler: str) -> Expr:
    """Return ``data`` as what goes into a region of a compiler."""
    return op.annotation.compiler_begin(data, compiler=compiler)  # type: ignore[no-any-return]


def compiler_end(data: Expr, compiler: str) -> Expr:
    """Return ``data`` as what comes out of a region of a compiler."""
    return op.annotation.compiler_end(data, compiler=compiler)  # type: ignore[no-any-return]


def stop_fusion(data: Expr) -> Expr:
    """Return ``data``, which is fused with nothing that follows."""
    return op.annotation.stop_fusion(data)  # type: ignore[no-any-return]


def register_pattern_table(compiler: str, table: object = None) -> object:
    """Register the patterns of a compiler, or the function that gives them."""

    def register(given: Callable[[], Sequence[object]]) -> object:
        _tables[compiler] = given() if callable(given) else given
        return given

    return register if table is None else register(table)  # type: ignore[arg-type]


def get_pattern_table(compiler: str) -> object:
    """Return the patterns of a compiler, None where there are none."""
    return _tables.get(compiler)
