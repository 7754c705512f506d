"""``tvm.relay.testing.<network>``: the workloads, with parameters as arrays of TVM."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from relay2relax.compat import version
from relay2relax.compat.running.ndarray import NDArray
from relay2relax.relay_ir.inference.infer import typed_module


def network(module: str, name: str) -> object:
    """Return a function of a network's module; raises AttributeError where there is none."""
    if name == "get_net":
        return lambda *args, **kwargs: import_module(f"relay2relax.relay_ir.testing.{module}").get_workload(
            *args, **kwargs
        )[0]["main"]
    found = getattr(import_module(f"relay2relax.relay_ir.testing.{module}"), name)
    if name != "get_workload":
        return found

    def get_workload(*args: object, **kwargs: object) -> object:
        mod, params = found(*args, **kwargs)
        made = typed_module(mod)["main"] if version.until("0.5") else mod
        return made, {key: value.view(NDArray) for key, value in params.items()}

    return get_workload


def __getattr__(name: str) -> Callable[[str], object]:
    if name.startswith("__"):
        raise AttributeError(name)
    return partial(network, name)
