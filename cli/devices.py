"""Devices that apache-tvm runs on."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table.files import OPTION


def require_tvm_for(device: str, backends: Collection[str]) -> None:
    """Raise Relay2RelaxError where another device than the processor is asked for, and apache-tvm
    is not among the ``backends``.
    """
    if device != "cpu" and "tvm" not in backends:
        raise Relay2RelaxError("other devices are apache-tvm's: add --backend tvm", kind=OPTION)


def on_device(device: str, backends: Collection[str]) -> AbstractContextManager[None]:
    """Let apache-tvm, where it is among the ``backends``, run on ``device``.

    Raises Relay2RelaxError where another device is asked for without it.
    """
    require_tvm_for(device, backends)
    if device == "cpu":
        return nullcontext()
    from relay2relax.backends.tvm import on_device as running_on

    return running_on(device)
