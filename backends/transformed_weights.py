"""What the function of a scheduled module that prepares weights makes of them."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.backends.runtime.virtual_machine import VirtualMachine
from relay2relax.backends.targets import build
from relay2relax.core.dtype import Array
from relay2relax.relax_ir.ir.expr import Function, IRModule
from relay2relax.relax_ir.transform import DeadCodeElimination


def transform_params(module: IRModule, weights: Sequence[Array]) -> dict[str, Array]:
    """Return what ``main`` of ``module`` takes in place of ``weights``, by parameter.

    ``weights`` are the fields of the tuple that ``main_transform_params`` takes, in order. Raises
    Relay2RelaxError where ``module`` has no such function, or a weight does not fit it.
    """
    main, ahead = module["main"], module.get_global_var("main_transform_params")
    assert isinstance(main, Function)
    alone = {var: f for var, f in module.functions.items() if var is ahead or not isinstance(f, Function)}
    only = DeadCodeElimination()(IRModule(alone))
    made = VirtualMachine(build(only, target="numpy"))[ahead.name](tuple(weights))
    return {param.name: value for param, value in zip(main.params[main.num_input :], made, strict=True)}
