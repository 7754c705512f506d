"""What the machine has to know of a function beside its instructions: written by the compiler.

spec ::= parameters, the checks that begin the function, the one kernel that it may be
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union

from relay2relax.relax_ir.ir import struct_info as si
from relay2relax.tir.extent import static


@dataclass(frozen=True, slots=True)
class TensorForm:
    """A tensor; arguments are converted to ``dtype``, unless that is ""."""

    dtype: str


@dataclass(frozen=True, slots=True)
class ShapeForm:
    """A shape; arguments are rows of integers."""


@dataclass(frozen=True, slots=True)
class TupleForm:
    """A tuple of values of these forms."""

    fields: tuple[ValueForm, ...]


@dataclass(frozen=True, slots=True)
class OtherForm:
    """Any other value, which is passed on as it is given."""


ValueForm: TypeAlias = Union[TensorForm, ShapeForm, TupleForm, OtherForm]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its name, and what its arguments become."""

    name: str
    form: ValueForm


@dataclass(frozen=True, slots=True)
class StaticTensor:
    """The shape and the dtype of the parameter of number ``parameter``, all of it known."""

    parameter: int
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Checks:
    """The first ``count`` instructions of a function check its parameters.

    Where every one of ``static`` is what it must be, all of them but ``relations`` are settled:
    those allocate the shape heap, and look at the other parameters.
    """

    count: int
    static: tuple[StaticTensor, ...]
    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OnlyKernel:
    """The function is one call of the kernel ``function`` on its parameters in order.

    ``order`` says which of the kernel's results the fields of the function's tuple are; None for a
    function that returns the kernel's only result.
    """

    function: int
    order: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """What callers and the machine know of a function; ``checks`` and ``kernel`` where there are
    shorter ways than its instructions.
    """

    parameters: tuple[Parameter, ...]
    checks: Checks | None = None
    kernel: OnlyKernel | None = None


def value_form(info: si.StructInfo) -> ValueForm:
    """Return what a value annotated with ``info`` is made of."""
    match info:
        case si.TensorStructInfo():
            return TensorForm(info.dtype)
        case si.ShapeStructInfo():
            return ShapeForm()
        case si.TupleStructInfo(fields):
            return TupleForm(tuple(map(value_form, fields)))
    return OtherForm()


def parameter_checks(first: int, infos: Sequence[si.StructInfo]) -> Checks | None:
    """Return what is known of the checks of parameters with these annotations.

    There are ``first`` instructions before them, then the check of each parameter, then the
    comparison of each known shape. None where one is no tensor, whose checks may be more, and where
    no parameter is static.
    """
    static: list[StaticTensor] = []
    relations = list(range(first))
    compared = first + len(infos)
    for number, info in enumerate(infos):
        if not isinstance(info, si.TensorStructInfo):
            return None
        settled = _static_tensor(number, info)
        if settled is not None:
            static.append(settled)
        else:
            relations.append(first + number)
        if info.shape is not None:
            if settled is None:
                relations.append(compared)
            compared += 1
    return Checks(compared, tuple(static), tuple(sorted(relations))) if static else None


def _static_tensor(number: int, info: si.TensorStructInfo) -> StaticTensor | None:
    shape = [static(extent) for extent in info.shape] if info.shape is not None else [None]
    known = tuple(extent for extent in shape if extent is not None)
    return StaticTensor(number, known, info.dtype) if info.dtype and len(known) == len(shape) else None
