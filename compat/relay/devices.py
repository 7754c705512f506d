"""Devices of Relay programs: how a compilation is configured."""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.compat.running.targets import Target
from relay2relax.compat.vocabulary.objects import virtual_device
from relay2relax.core.passes import Pass, PassContext
from relay2relax.relay_ir import transform
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.module import IRModule


@dataclass(frozen=True, slots=True)
class CompilationConfig:
    """Where operators and what runs beside them are computed where a program does not say it."""

    default_primitive_virtual_device: VirtualDevice
    host_virtual_device: VirtualDevice


def make_compilation_config(ctxt: PassContext, target: object, target_host: object = None) -> CompilationConfig:
    """Return the configuration of targets.

    The option ``relay.fallback_device_type`` chooses one; else it is the only one, or the
    processor.
    """
    given = target if isinstance(target, (list, tuple)) else [target]
    targets = [Target(one) for one in given]
    hosts = [one.host for one in targets if one.host is not None]
    host = Target(target_host) if target_host is not None else hosts[0] if hosts else Target("llvm")
    kinds = {one.get_target_device_type(): one for one in targets}
    only = next(iter(kinds)) if len(kinds) == 1 else 1
    chosen = int(ctxt.config.get("relay.fallback_device_type", only))
    default = kinds.get(chosen, Target("llvm")).with_host(host)
    return CompilationConfig(_device(chosen, default), _device(host.get_target_device_type(), host))


def _device(kind: int, target: Target) -> VirtualDevice:
    from relay2relax.compat.running.ndarray import device

    return virtual_device(device(kind), target)


def PlanDevices(config: CompilationConfig) -> Pass[IRModule]:
    """Return the pass that gives everything a device."""
    return transform.PlanDevices(config.default_primitive_virtual_device, config.host_virtual_device)
