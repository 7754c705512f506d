"""Relax: expressions, bindings, functions and modules.

    expr    ::= Var | Constant | ShapeExpr(extent*) | PrimValue(expr) | StringImm | DataTypeImm
              | GlobalVar | ExternFunc(name)
              | Call(op | GlobalVar | Var | ExternFunc, expr*, attrs)
              | CallTIR(GlobalVar, expr*, info*)
              | CallDPSPacked(name, expr*, info*) | Tuple(expr*) | TupleGetItem(expr, int)
              | If(expr, Seq, Seq)
              | Function(var*, Seq)
    Seq     ::= Seq(block*, expr)
    block   ::= Block(dataflow?, binding*)
    binding ::= Binding(var, expr) | MatchCast(var, expr, info)

A module is in A-normal form: arguments are variables, constants, shapes and tuples of those. Every
variable carries its struct info. A value is equal to itself only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, Union

from relay2relax.core.amounts import counted
from relay2relax.core.arrays import plain_array
from relay2relax.core.dtype import Array, check_dtype, of_array
from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import running
from relay2relax.core.source import Span
from relay2relax.ops.registry.attributes import NoAttrs, check_words
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.ir.devices import GlobalInfo
from relay2relax.relax_ir.ir.mesh import Sharding
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir.expr import PrimExpr
from relay2relax.tir.ir.stmt import PrimFunc


@dataclass(frozen=True, slots=True, eq=False)
class Var:
    """A variable; ``dataflow`` ones are seen in their block only."""

    name: str
    info: StructInfo
    dataflow: bool = False
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A tensor.

    ``data`` is shared with whoever made it and is never changed; that of another byte order, and
    bytes of bool other than 0 and 1, are converted. ``sharding`` is as in struct info.
    """

    data: Array
    span: Span | None = None
    sharding: Sharding | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", plain_array(self.data))

    @property
    def info(self) -> TensorStructInfo:
        """Shape and dtype of the data."""
        shape = tuple(int(d) for d in self.data.shape)
        return TensorStructInfo(shape, of_array(self.data), sharding=self.sharding)


@dataclass(frozen=True, slots=True, eq=False)
class ShapeExpr:
    """A shape value."""

    values: tuple[Extent, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PrimValue:
    """A scalar value."""

    value: PrimExpr


@dataclass(frozen=True, slots=True, eq=False)
class StringImm:
    """A string value."""

    value: str


@dataclass(frozen=True, slots=True, eq=False)
class DataTypeImm(StringImm):
    """A dtype as a value; to functions that are given one it is its name."""

    def __post_init__(self) -> None:
        check_dtype(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class GlobalVar:
    """The name of a function of the module; one object per name within a module."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class ExternFunc:
    """A function that is looked up by name when the program runs."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call of an operator (then ``attrs`` is of its attribute class), a function of the module,
    or a closure.
    """

    op: OpDef | GlobalVar | Var | ExternFunc
    args: tuple[Expr, ...]
    attrs: Any = NoAttrs()
    span: Span | None = None

    def __post_init__(self) -> None:
        check_words(self.attrs)


@dataclass(frozen=True, slots=True, eq=False)
class CallTIR:
    """``R.call_tir``: allocate the results, call the PrimFunc with them as its last arguments,
    return them.

    ``tir_args`` are scalars passed between inputs and outputs. The value is a tensor for one
    ``out``, else a tuple.
    """

    func: GlobalVar
    args: tuple[Expr, ...]
    out: tuple[TensorStructInfo, ...]
    tir_args: tuple[PrimExpr, ...] = ()
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CallDPSPacked:
    """``R.call_dps_packed``: as :class:`CallTIR`, of a function looked up by name when the program
    runs.
    """

    func: str
    args: tuple[Expr, ...]
    out: tuple[TensorStructInfo, ...]
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tuple:
    """A tuple."""

    fields: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TupleGetItem:
    """Projection of field ``index``."""

    tuple_value: Expr
    index: int


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """``var = value``."""

    var: Var
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class MatchCast:
    """``var = R.match_cast(value, info)``; introduces the variables of ``info`` that are new."""

    var: Var
    value: Expr
    info: StructInfo


@dataclass(frozen=True, slots=True, eq=False)
class BindingBlock:
    """Bindings in order; a dataflow block has neither effects nor branches."""

    bindings: tuple[Binding | MatchCast, ...]
    dataflow: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SeqExpr:
    """Blocks, then a result."""

    blocks: tuple[BindingBlock, ...]
    body: Expr


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """Branch; the branches' values have one struct info."""

    condition: Expr
    true_branch: SeqExpr
    false_branch: SeqExpr


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A Relax function.

    ``attrs`` are its ``R.func_attr`` (``num_input`` counts the true inputs).
    """

    params: tuple[Var, ...]
    body: SeqExpr
    ret: StructInfo
    attrs: Mapping[str, object] = field(default_factory=dict)
    pure: bool = True
    private: bool = False

    @property
    def num_input(self) -> int:
        """How many of the parameters, from the first on, are inputs; those behind are weights."""
        said = self.attrs.get("num_input")
        return said if isinstance(said, int) else len(self.params)


Expr: TypeAlias = Union[
    Var, Constant, ShapeExpr, PrimValue, StringImm, GlobalVar, ExternFunc, Call, CallTIR, CallDPSPacked, Tuple,
    TupleGetItem, If, Function, SeqExpr,
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class IRModule:
    """Relax functions and PrimFuncs by name: a value, of which passes make new ones.

    ``global_infos`` are lists by name, ``"vdevice"`` that of its devices.
    """

    functions: Mapping[GlobalVar, Function | PrimFunc]
    attrs: Mapping[str, object] = field(default_factory=dict)
    global_infos: Mapping[str, tuple[GlobalInfo, ...]] = field(default_factory=dict)

    @cached_property
    def _vars(self) -> Mapping[str, GlobalVar]:
        """The variables by name, the first one of each."""
        return {var.name: var for var in reversed(list(self.functions))}

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the global variable ``name``; raises Relay2RelaxError where the module has
        none.
        """
        if name in self._vars:
            return self._vars[name]
        known = ", ".join(sorted(self._vars)) or "none"
        raise Relay2RelaxError(mistake(running.NO_FUNCTION, owner="the module", name=repr(name), known=known))

    def __getitem__(self, name: str | GlobalVar) -> Function | PrimFunc:
        return self.functions[name if isinstance(name, GlobalVar) else self.get_global_var(name)]

    def script(self, dialect: str = "tvm", show_meta: bool = True) -> str:
        """Return the module as TVMScript.

        ``dialect="tvm"`` is read alike by TVM 0.25, 0.26 and 0.27.

        Without ``show_meta`` arrays are named and not written out, for those who want to look at
        the program.
        """
        from relay2relax.relax_ir.script.printer import print_apart, print_module

        return print_module(self, dialect) if show_meta else print_apart(self, dialect)[0]

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the beginning of the script, arrays named alone."""
        from relay2relax.core.output.notebook import shown

        return shown(f"Relax module: {counted(len(self.functions), 'function')}", self.script(show_meta=False))

    def __str__(self) -> str:
        return self.script()
