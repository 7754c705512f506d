"""From a Relax module to something that runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, overload

from relay2relax.backends.defined_results import with_defined_results
from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.backends.runtime.extern_calls import outside_names
from relay2relax.backends.runtime.virtual_machine import AnyExecutable
from relay2relax.backends.vm.compiler import compile_module
from relay2relax.backends.vm.executable import Executable
from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import running, translating
from relay2relax.relax_ir.inference.sharding import require_one_device
from relay2relax.relax_ir.ir.expr import IRModule
from relay2relax.relax_ir.transform import FoldConstant
from relay2relax.tir.ir.stmt import PrimFunc

if TYPE_CHECKING:
    from relay2relax.backends.tvm import TvmExecutable

TARGETS = ("numpy", "c", "tvm")


@overload
def build(
    module: IRModule, target: Literal["numpy", "c"] = "numpy", *, checked: bool = False, strict_nan: bool = False
) -> Executable: ...
@overload
def build(
    module: IRModule, target: Literal["tvm"], *, checked: bool = False, strict_nan: bool = False
) -> TvmExecutable: ...
@overload
def build(module: IRModule, target: str, *, checked: bool = False, strict_nan: bool = False) -> AnyExecutable: ...
@collection_paused()
def build(module: IRModule, target: str = "numpy", *, checked: bool = False, strict_nan: bool = False) -> AnyExecutable:
    """Return the executable of ``module`` on ``target``.

    What depends on constants alone is computed here, once: for ``numpy`` by folding, for ``c`` by
    the compiled module itself. ``numpy`` needs nothing else; ``c`` compiles the kernels with the
    system's C compiler; ``tvm`` hands the module to an installed apache-tvm.

    On ``c`` an index that is not proved to lie in its tensor is looked at when it is used; with
    ``checked`` every access is, which is slower. A call raises ExecutionError for one that lies
    outside. ``numpy`` always looks, ``tvm`` never. ``c`` convolves by Winograd's algorithm where
    that pays: a NaN or an infinity in the data then reaches the 4x4 results of its tile, and with
    ``strict_nan`` only those that it has a part in, which is slower. Raises
    UnsupportedError for another target and for what the target cannot express, CompilerError where
    the C compiler is missing.
    """
    require_one_device(module)
    match target:
        case "numpy":
            functions, pool = compile_module(
                FoldConstant(evaluate=_evaluate)(with_defined_results(module, kernels=True))
            )
            return Executable(functions, pool, target)
        case "c":
            from relay2relax.backends.vm.native import build_native

            return build_native(module, checked, strict_nan)
        case "tvm":
            from relay2relax.backends import tvm

            return tvm.build(module)
    raise UnsupportedError(mistake(translating.CHOICE, what="target", name=repr(target), known=", ".join(TARGETS)))


def _evaluate(func: PrimFunc, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    """Run a program on constants.

    One that calls functions by name waits until they are asked for.
    """
    if outside_names(func):
        raise UnsupportedError(
            f"{func.name} calls functions that are looked up when it runs", kind=running.NOT_ON_BACKEND
        )
    evaluate_prim_func(func, inputs, outputs)
