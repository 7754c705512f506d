"""What PyTorch and we compute of the same TorchScript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay2relax import backends, relay_ir, translator
from relay2relax.core.dtype import Array


def pytorchs(module: Any, arguments: Sequence[Any]) -> list[Array]:
    """Return what PyTorch gives, tuples and lists as one list."""
    import torch

    with torch.no_grad():
        found = module(*(one.clone() for one in arguments))
    every = found if isinstance(found, (tuple, list)) else (found,)
    return [one.numpy() for one in every]


def ours(mod: relay_ir.IRModule, params: dict[str, Array], arguments: dict[str, Any], target: str) -> list[Array]:
    """Return what the module gives on ``target``; inputs that it has not are left out."""
    names = {one.name for one in mod["main"].params}
    given = {name: one.numpy() for name, one in arguments.items() if name in names}
    if target == "numpy":
        found = backends.create_executor("graph", mod).evaluate()(**given, **params)
    else:
        rx = translator.via_graph(relay_ir.infer_type(mod), params)
        machine = backends.VirtualMachine(backends.build(rx, target=target))
        found = machine["main"](*given.values())
    return [np.asarray(one) for one in (found if isinstance(found, tuple) else (found,))]
