"""What the header of a saved Relay executable holds, version 1.

Instructions are lists that begin with their kind, in the order of the fields in ``code.py``; jumps
count the instructions between.
"""

from __future__ import annotations

from typing import TypeAlias, Union

from relay2relax.core.schema import Extent, Form

# The name of an algebraic data type, and that of a constructor of it.
Key: TypeAlias = tuple[str, str]


class CallOperator(Form, frozen=True, array_like=True, tag="CallOperator"):
    """``op`` is the number of a call in the interface."""

    target: Extent
    op: Extent
    args: tuple[Extent, ...]


class CallFunction(Form, frozen=True, array_like=True, tag="CallFunction"):
    """A call of a function."""

    target: Extent
    callee: Extent
    args: tuple[Extent, ...]
    tail: bool


class MakeTuple(Form, frozen=True, array_like=True, tag="MakeTuple"):
    """A tuple."""

    target: Extent
    args: tuple[Extent, ...]


class Project(Form, frozen=True, array_like=True, tag="Project"):
    """A field of a tuple."""

    target: Extent
    source: Extent
    index: Extent


class MakeClosure(Form, frozen=True, array_like=True, tag="MakeClosure"):
    """``code`` is the number of a code."""

    target: Extent
    code: Extent
    captured: tuple[Extent, ...]


class MakeRef(Form, frozen=True, array_like=True, tag="MakeRef"):
    """A cell."""

    target: Extent
    source: Extent


class ReadRef(Form, frozen=True, array_like=True, tag="ReadRef"):
    """What a cell holds."""

    target: Extent
    source: Extent


class WriteRef(Form, frozen=True, array_like=True, tag="WriteRef"):
    """A value put into a cell."""

    target: Extent
    source: Extent
    value: Extent


class Field(Form, frozen=True, array_like=True, tag="Field"):
    """A field of what a pattern takes apart."""

    target: Extent
    source: Extent
    index: Extent


class Move(Form, frozen=True, array_like=True, tag="Move"):
    """A copy of a register."""

    target: Extent
    source: Extent


class JumpUnless(Form, frozen=True, array_like=True, tag="JumpUnless"):
    """A jump where a register is false."""

    source: Extent
    to: Extent


class JumpUnlessMade(Form, frozen=True, array_like=True, tag="JumpUnlessMade"):
    """A jump where a value has another constructor."""

    source: Extent
    constructor: Key
    to: Extent


class Jump(Form, frozen=True, array_like=True, tag="Jump"):
    """A jump."""

    to: Extent


class Fail(Form, frozen=True, array_like=True, tag="Fail"):
    """No clause fits."""

    source: Extent


class Return(Form, frozen=True, array_like=True, tag="Return"):
    """The end of a function."""

    source: Extent


Instruction: TypeAlias = Union[
    CallOperator, CallFunction, MakeTuple, Project, MakeClosure, MakeRef, ReadRef, WriteRef, Field, Move,
    JumpUnless, JumpUnlessMade, Jump, Fail, Return,
]  # fmt: skip


class Code(Form, frozen=True):
    """The code of a function; ``function`` is the one of the module that it is in.

    ``tensors`` are registers and numbers of tensors, ``constructors`` registers and constructors.
    """

    name: str
    function: str
    params: tuple[Extent, ...]
    captured: tuple[Extent, ...]
    globals: tuple[tuple[Extent, str], ...]
    registers: Extent
    tensors: tuple[tuple[Extent, Extent], ...]
    constructors: tuple[tuple[Extent, str, str], ...]
    code: tuple[Instruction, ...]
    released: tuple[tuple[Extent, ...], ...]


class Header(Form, frozen=True):
    """What stands before the tensors."""

    interface: str
    codes: tuple[Code, ...]
