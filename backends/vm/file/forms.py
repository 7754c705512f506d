"""What the header of a saved executable holds, version 2.

Nodes that come often are lists that begin with their kind: ``["call", 3, 0, [["r", 1]]]``.
Variables are numbered, and told apart by number.
"""

from __future__ import annotations

from typing import Literal, Optional, TypeAlias, Union

from relay2relax.core.schema import Extent, Form
from relay2relax.tir.ir.expr import BinaryOp

# --- extents and attributes -----------------------------------------------------------------------


class Variable(Form, frozen=True, array_like=True, tag="var"):
    """A variable, by number."""

    number: Extent


class Integer(Form, frozen=True, array_like=True, tag="int"):
    """An integer of a dtype."""

    value: int
    dtype: str


class Number(Form, frozen=True, array_like=True, tag="number"):
    """A floating-point number of a dtype, in hexadecimal digits."""

    digits: str
    dtype: str


class AnyExtent(Form, frozen=True, array_like=True, tag="any"):
    """An extent that nothing is known of."""


class Binary(Form, frozen=True, array_like=True, tag="binary"):
    """An operation on two expressions."""

    op: BinaryOp
    a: Expr
    b: Expr


class Cast(Form, frozen=True, array_like=True, tag="cast"):
    """An expression in another dtype."""

    dtype: str
    value: Expr


class Float(Form, frozen=True, array_like=True, tag="float"):
    """A floating-point number in hexadecimal digits."""

    digits: str


class Items(Form, frozen=True, array_like=True, tag="tuple"):
    """A tuple of attribute values."""

    items: tuple[Value, ...]


Expr: TypeAlias = Union[Variable, Integer, Number, AnyExtent, Binary, Cast]
Value: TypeAlias = Union[bool, int, str, Float, Items, Expr, None]


class Operator(Form, frozen=True):
    """An operator of a table, with its attributes."""

    table: Literal["relay", "relax"]
    name: str
    attrs: dict[str, Value]


class TensorType(Form, frozen=True, array_like=True, tag="tensor"):
    """The type of a tensor."""

    shape: tuple[Union[int, Expr], ...]
    dtype: str


class TupleType(Form, frozen=True, array_like=True, tag="tuple"):
    """The type of a tuple."""

    fields: tuple[Type, ...]


class ShapeType(Form, frozen=True, array_like=True, tag="shape"):
    """A shape that stands where a type does."""

    extents: tuple[Union[int, Expr], ...]


Type: TypeAlias = Union[TensorType, TupleType, ShapeType]

# --- constants ------------------------------------------------------------------------------------


class PooledDType(Form, frozen=True, array_like=True, tag="dtype"):
    """A dtype."""

    name: str


class PooledString(Form, frozen=True, array_like=True, tag="string"):
    """A string."""

    text: str


class PooledShape(Form, frozen=True, array_like=True, tag="shape"):
    """A shape."""

    extents: tuple[Extent, ...]


class PooledInteger(Form, frozen=True, array_like=True, tag="int"):
    """An integer."""

    value: int


class PooledFloat(Form, frozen=True, array_like=True, tag="float"):
    """A floating-point number in hexadecimal digits."""

    digits: str


class PooledTensor(Form, frozen=True, array_like=True, tag="tensor"):
    """A tensor of the file, by number."""

    place: Extent


Constant: TypeAlias = Union[PooledDType, PooledString, PooledShape, PooledInteger, PooledFloat, PooledTensor]

# --- instructions ---------------------------------------------------------------------------------


class Register(Form, frozen=True, array_like=True, tag="r"):
    """A register; -1 stands for none, -2 for the machine."""

    number: int


class Immediate(Form, frozen=True, array_like=True, tag="i"):
    """An integer."""

    value: int


class ConstantRef(Form, frozen=True, array_like=True, tag="c"):
    """A constant, by number."""

    index: Extent


class FunctionRef(Form, frozen=True, array_like=True, tag="f"):
    """A function of the table, by number."""

    index: Extent


Arg: TypeAlias = Union[Register, Immediate, ConstantRef, FunctionRef]


class Call(Form, frozen=True, array_like=True, tag="call"):
    """A call."""

    destination: int
    function: Extent
    args: tuple[Arg, ...]


class Ret(Form, frozen=True, array_like=True, tag="ret"):
    """The end of a function."""

    register: int


class Goto(Form, frozen=True, array_like=True, tag="goto"):
    """A jump."""

    offset: Extent


class If(Form, frozen=True, array_like=True, tag="if"):
    """A jump where a register is zero."""

    register: int
    offset: Extent


Instruction: TypeAlias = Union[Call, Ret, Goto, If]

# --- the function table ---------------------------------------------------------------------------


class TensorForm(Form, frozen=True, array_like=True, tag="tensor"):
    """A parameter that is a tensor; dtype "" is any."""

    dtype: str


class ShapeForm(Form, frozen=True, array_like=True, tag="shape"):
    """A parameter that is a shape."""


class TupleForm(Form, frozen=True, array_like=True, tag="tuple"):
    """A parameter that is a tuple."""

    fields: tuple[ValueForm, ...]


class OtherForm(Form, frozen=True, array_like=True, tag="other"):
    """A parameter of any other kind."""


ValueForm: TypeAlias = Union[TensorForm, ShapeForm, TupleForm, OtherForm]


class Parameter(Form, frozen=True):
    """A parameter."""

    name: str
    form: ValueForm


class StaticTensor(Form, frozen=True):
    """A parameter of known shape and dtype."""

    parameter: Extent
    shape: tuple[Extent, ...]
    dtype: str


class Checks(Form, frozen=True):
    """The checks that begin a function."""

    count: Extent
    static: tuple[StaticTensor, ...]
    relations: tuple[Extent, ...]


class OnlyKernel(Form, frozen=True):
    """The one kernel that a function is."""

    function: Extent
    order: Optional[tuple[Extent, ...]]


class Function(Form, frozen=True, tag_field="kind", tag="function"):
    """A Relax function."""

    name: str
    parameters: tuple[Parameter, ...]
    checks: Optional[Checks]
    kernel: Optional[OnlyKernel]
    registers: Extent
    code: tuple[Instruction, ...]


class Builtin(Form, frozen=True, tag_field="kind", tag="builtin"):
    """A function of the machine."""

    name: str


class Packed(Form, frozen=True, tag_field="kind", tag="packed"):
    """A function that is looked up by name."""

    name: str


class OperatorCall(Form, frozen=True, tag_field="kind", tag="operator"):
    """An operator run by its record."""

    name: str
    operator: Operator
    extents: tuple[Extent, ...]


class ShapeFunction(Form, frozen=True, tag_field="kind", tag="shapes"):
    """Extents computed on the shape heap: places of variables, and expressions with places."""

    name: str
    slots: tuple[tuple[Extent, Extent], ...]
    results: tuple[tuple[Extent, Expr], ...]


class OperatorKernel(Form, frozen=True, tag_field="kind", tag="operator_kernel"):
    """A kernel that is an operator's own definition."""

    name: str
    operator: Operator
    args: tuple[Type, ...]


class ScriptKernel(Form, frozen=True, tag_field="kind", tag="script_kernel"):
    """A kernel that is the PrimFunc ``script`` of the header's script, whose first parameters are
    the tensors ``weights`` of the file.
    """

    name: str
    script: str
    function: str
    weights: tuple[Extent, ...]
    outputs: Extent


Entry: TypeAlias = Union[Function, Builtin, Packed, OperatorCall, ShapeFunction, OperatorKernel, ScriptKernel]


class Header(Form, frozen=True):
    """What stands before the tensors: ``variables`` are names and dtypes."""

    target: Literal["numpy", "c"]
    functions: tuple[Entry, ...]
    constants: tuple[Constant, ...]
    script: str
    variables: tuple[tuple[str, str], ...]
