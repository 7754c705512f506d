"""``tvm.relax`` as scripts about Relay use it: translation, building, the virtual machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np

from relay2relax import backends, translator
from relay2relax.compat.running.printing import teach_printing
from relay2relax.compat.running.results import legacy, plain
from relay2relax.compat.running.targets import backend_of
from relay2relax.compat.vocabulary.teaching import face
from relay2relax.core.passes import PassContext, PassInstrument
from relay2relax.ops import relax_op
from relay2relax.relax_ir.build.builder import call_op
from relay2relax.relax_ir.ir.expr import IRModule as RelaxModule
from relay2relax.relax_ir.ir.expr import ShapeExpr
from relay2relax.relax_ir.ir.struct_info import TensorStructInfo
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.io.params import bind_params
from relay2relax.relay_ir.ir.expr import Function
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.tir.ir.stmt import PrimFunc


def from_relay(
    func: Function | IRModule,
    target: object = None,
    relay_params: Mapping[str, object] | None = None,
    *,
    opt_level: int = 3,
    pass_config: Mapping[str, object] | None = None,
    instruments: Sequence[PassInstrument] | None = None,
    disabled_pass: Sequence[str] | None = None,
    translate_op_with_tir: Mapping[str, PrimFunc] | None = None,
    append_op_attrs: bool = False,
) -> RelaxModule:
    """Return the Relax module of a function of Relay after the passes that TVM runs before; its
    operators are TensorIR, the script's own for those that it names.
    """
    from relay2relax.relay_ir import pipeline, transform

    teach_printing()
    params = {name: np.asarray(value) for name, value in (relay_params or {}).items()}
    mod = bind_params(func if isinstance(func, IRModule) else IRModule.from_expr(func), params)
    with PassContext(opt_level, (), disabled_pass or (), instruments or (), pass_config or {}):
        mod = transform.Sequential(pipeline.prefix_of_build(vm=True))(typed_module(mod))
    return translator.with_kernels(translator.lower_to_tir(mod), translate_op_with_tir or {}, append_op_attrs)


def operator(name: str) -> object:
    """Return what calls an operator of Relax; raises AttributeError where there is none."""
    if relax_op(name) is None:
        raise AttributeError(f"there is no operator {name} of Relax")
    return partial(call_op, name)


def nn_operator(name: str) -> object:
    """Return what calls an operator of neural networks."""
    return operator(f"nn.{name}")


def _tensor(shape: object = None, dtype: str = "float32", vdevice: str = "", ndim: int = -1) -> TensorStructInfo:
    extents = shape.values if isinstance(shape, ShapeExpr) else shape
    return TensorStructInfo(None if extents is None else tuple(extents), dtype, ndim, vdevice)  # type: ignore[arg-type]


TensorInfo = face("TensorStructInfo", TensorStructInfo, _tensor)


def build(mod: RelaxModule, target: object = None, *others: object, **options: object) -> backends.Executable:
    """Return the executable of a module as generated C.

    Raises UnsupportedError for a target that is not a processor.
    """
    backend_of(target)
    return backends.build(mod, "c")


class VirtualMachine:
    """Runs the functions of an executable."""

    def __init__(self, rt_mod: object, device: object = None, *others: object, **options: object) -> None:
        self._machine = backends.VirtualMachine(cast(backends.Executable, rt_mod))

    def __getitem__(self, name: str) -> object:
        function = self._machine[name]
        return lambda *args: legacy(function(*map(plain, args)))

    def set_input(self, func_name: str, *args: object, **kwargs: object) -> None:
        """Set the arguments of a function."""
        self._machine.set_input(func_name, *args, **kwargs)

    def invoke_stateful(self, func_name: str) -> None:
        """Run a function with the arguments that were set."""
        self._machine.invoke_stateful(func_name)

    def get_outputs(self, func_name: str) -> object:
        """Return what the last run of a function gave."""
        return legacy(self._machine.get_outputs(func_name))


def transform(name: str) -> object:
    """Return a pass over Relax; raises AttributeError where there is none of the name."""
    from relay2relax.relax_ir import transform as passes

    return getattr(passes, name)
