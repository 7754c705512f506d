"""What is to be known of an executable whose ``main`` is one kernel, to run it without the rest."""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.backends.vm.bytecode import Kernel, VMFunction
from relay2relax.backends.vm.executable import Executable
from relay2relax.core.dtype import Array
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, IntImm

# An input by name, or a result: shape and dtype.
_Result = tuple[tuple[int, ...], str]
_Input = tuple[str, tuple[int, ...], str]


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """The kernel of a program, and the ``arrays`` that it reads on every call, in its order."""

    library: str
    symbol: str
    asks: bool
    arrays: tuple[Array, ...]
    arena: int
    inputs: tuple[_Input, ...]
    results: tuple[_Result, ...]
    order: tuple[int, ...] | None


def described(executable: Executable) -> Described | None:
    """Return what ``main`` is; None where it is more than one kernel, where an extent is open, and
    where arguments are looked at one by one.
    """
    native = executable.native
    main = next((one for one in executable.functions if isinstance(one, VMFunction) and one.name == "main"), None)
    if native is None or main is None or main.spec.kernel is None:
        return None
    only = main.spec.kernel
    called = executable.functions[only.function]
    if not isinstance(called, Kernel) or called.func.name not in native.entries:
        return None
    entry = native.entries[called.func.name]
    func = entry.func
    tensors = [_tensor(buffer) for buffer in func.buffers]
    known = [one for one in tensors if one is not None]
    plain = len(func.params) == len(func.buffers) and not (entry.variables or entry.relations or entry.own)
    if not plain or len(known) != len(tensors) or not isinstance(entry.arena.size, IntImm):
        return None
    count = len(tensors) - func.num_outputs
    names = [one.name for one in main.spec.parameters]
    if len(names) != count or any(number < count for number in entry.written):
        return None
    inputs = tuple((name, *one) for name, one in zip(names, known[:count], strict=True))
    return Described(
        native.name, entry.symbol, entry.asks, native.kept(func.name), entry.arena.size.value, inputs,
        tuple(known[count:]), only.order,
    )  # fmt: skip


def _tensor(buffer: Buffer) -> _Result | None:
    """Return shape and dtype, None where an extent is open, and for bools, whose bytes are looked
    at.
    """
    shape = [static(extent) for extent in buffer.shape]
    known = tuple(extent for extent in shape if extent is not None)
    return (known, buffer.dtype) if len(known) == len(shape) and buffer.dtype != "bool" else None
