"""The instructions of the Relax virtual machine, and what a compiled module consists of.

    instruction ::= Call(destination, function, arg*) | Ret(register)
                  | Goto(offset) | If(register, false_offset)
    arg         ::= Register | Immediate | ConstantRef | FunctionRef

Four instructions over registers, a pool of constants, and a table of functions; offsets count from
the instruction itself. The text form is the one of TVM's ``as_text``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, Union

import numpy as np

from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm.function_spec import FunctionSpec
from relay2relax.core.dtype import Array
from relay2relax.ops.registry.record import OpDef
from relay2relax.tir.ir.expr import Buffer, PrimExpr, Var
from relay2relax.tir.ir.stmt import PrimFunc


@dataclass(frozen=True, slots=True)
class Register:
    """A register of the running function; the parameters come first."""

    number: int

    def __str__(self) -> str:
        return {-1: "%void", -2: "%vm"}.get(self.number, f"%{self.number}")


VOID = Register(-1)
MACHINE = Register(-2)


@dataclass(frozen=True, slots=True)
class Immediate:
    """An integer in the instruction itself."""

    value: int

    def __str__(self) -> str:
        return f"i{self.value}"


@dataclass(frozen=True, slots=True)
class ConstantRef:
    """An entry of the constant pool."""

    index: int

    def __str__(self) -> str:
        return f"c[{self.index}]"


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """An entry of the function table, as a value."""

    index: int
    name: str

    def __str__(self) -> str:
        return f"f[{self.name}]"


Arg: TypeAlias = Union[Register, Immediate, ConstantRef, FunctionRef]


@dataclass(frozen=True, slots=True)
class Call:
    """``destination = function(args)``."""

    destination: Register
    function: int
    args: tuple[Arg, ...]


@dataclass(frozen=True, slots=True)
class Ret:
    """Leave the function with the value of ``register``."""

    register: Register


@dataclass(frozen=True, slots=True)
class Goto:
    """Continue ``offset`` instructions further on."""

    offset: int


@dataclass(frozen=True, slots=True)
class If:
    """Fall through where ``condition`` is not zero, else continue ``false_offset`` instructions
    further on.
    """

    condition: Register
    false_offset: int


Instruction: TypeAlias = Union[Call, Ret, Goto, If]


class DataType(str):
    """A dtype in the constant pool, told apart from a string."""

    __slots__ = ()


Pooled: TypeAlias = Union[DataType, str, ShapeTuple, Array, int, float]


@dataclass(frozen=True, slots=True)
class VMFunction:
    """A Relax function as instructions; ``registers`` counts those it needs, the parameters come
    first.
    """

    name: str
    spec: FunctionSpec
    code: tuple[Instruction, ...]
    registers: int


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of the machine itself, ``vm.builtin.*``."""

    name: str


@dataclass(frozen=True, slots=True)
class Packed:
    """A function that is looked up by name when the machine is made."""

    name: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """A PrimFunc, called with its inputs, then scalars, then the outputs it fills."""

    name: str
    func: PrimFunc


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """An operator run by its record.

    The values of ``extents``, those in its attributes, are a last argument.
    """

    name: str
    op: OpDef
    attrs: Any
    extents: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class ShapeFunction:
    """Computes extents on the shape heap: ``slots`` say where variables are, ``results`` what goes
    where.
    """

    name: str
    slots: Mapping[Var, int]
    results: tuple[tuple[int, PrimExpr], ...]


FunctionEntry: TypeAlias = Union[VMFunction, Builtin, Packed, Kernel, OperatorCall, ShapeFunction]


@dataclass(frozen=True, slots=True)
class Program:
    """What a file of an executable holds: the function table, the constant pool, and the constants
    that kernels read.
    """

    functions: tuple[FunctionEntry, ...]
    constants: tuple[Pooled, ...]
    target: str
    weights: Mapping[Buffer, Array]


def instruction_text(instruction: Instruction, names: Sequence[str]) -> str:
    """Return one line of the listing; ``names`` are those of the function table."""
    match instruction:
        case Call(destination, function, args):
            given = ", ".join(map(str, args))
            return f"  call  {names[function]:<16} in: {given:<12} dst: {destination}"
        case Ret(register):
            return f"  ret   {register}"
        case Goto(offset):
            return f"  goto  {offset}"
        case If(condition, offset):
            return f"  If    {condition}, {offset}"


def constant_text(value: Pooled) -> str:
    """Return an entry of the constant pool as the statistics show it."""
    match value:
        case DataType():
            return str(value)
        case str():
            return f'"{value}"'
        case ShapeTuple():
            return f"shapetuple[{', '.join(map(str, value))}]"
        case np.ndarray():
            return f"[{', '.join(map(str, value.shape))}]" if value.ndim else "scalar"
    return str(value)
