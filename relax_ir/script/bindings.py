"""Bindings of a function that is read: blocks under construction, and new variables."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from relay2relax.core.errors import LimitError, Relay2RelaxError
from relay2relax.core.errors.table import script
from relay2relax.core.script_source import ScriptProblem
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import Binding, BindingBlock, Call, Expr, ExternFunc, MatchCast, Var
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import ObjectStructInfo, PrimStructInfo, StructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.text import print_struct_info
from relay2relax.relax_ir.ir.visit import operands
from relay2relax.relax_ir.script.context import ModuleContext
from relay2relax.tir.script.context import ReadContext


@dataclass(slots=True)
class BindingSequence:
    """A sequence under construction.

    ``outputs`` says for the dataflow block which assignment is seen after it.
    """

    blocks: list[BindingBlock] = field(default_factory=list)
    pending: list[Binding | MatchCast] = field(default_factory=list)
    dataflow: bool = False
    outputs: Counter[str] = field(default_factory=Counter)

    def close_block(self, dataflow: bool) -> None:
        if self.pending or self.dataflow:
            self.blocks.append(BindingBlock(tuple(self.pending), self.dataflow))
            self.pending = []
        self.dataflow = dataflow


class Bindings:
    """Binds values to variables, in the innermost sequence.

    ``result_of`` says what the script has about the result of a packed function's call.
    """

    def __init__(
        self, module: ModuleContext, context: ReadContext, result_of: Callable[[ast.AST], StructInfo | None]
    ) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.module = module
        self.result_of = result_of
        self.sequences: list[BindingSequence] = []
        self.supply = NameSupply()
        # Names of dataflow blocks that are over.
        self.hidden: set[str] = set()
        # Functions that are looked up by name, by the variables that stand for them.
        self.externs: dict[Var, ExternFunc] = {}

    @property
    def sequence(self) -> BindingSequence:
        """The innermost sequence under construction."""
        return self.sequences[-1]

    @contextmanager
    def inner(self) -> Iterator[BindingSequence]:
        """Begin a sequence of its own: that of a branch, or of a function."""
        sequence = BindingSequence()
        self.sequences.append(sequence)
        try:
            yield sequence
        finally:
            self.sequences.pop()

    def undefined(self, node: ast.AST, name: str) -> ScriptProblem:
        """Return the mistake of a name that nothing defines here."""
        if name in self.hidden:
            title = f"the variable `{name}` is seen in its dataflow block only"
            return self.source.problem(
                node, title, "not seen here", help=f"let the block output it: `R.output({name})`", kind=script.OPERATOR
            )
        return self.source.undefined(node, name, [*self.scopes.names(), *self.module.globals], "variable")

    def bind(self, name: str, value: Expr, node: ast.AST, info: StructInfo | None = None, seen: bool = True) -> Var:
        """Bind ``value`` to a new variable ``name``, which is ``seen`` by that name from here on.

        Raises ScriptProblem where ``value`` does not fit ``info``.
        """
        try:
            actual = self.module.inference.of(value)
        except LimitError:
            raise
        except Relay2RelaxError as error:
            first = error.diagnostics[0]
            given = first.label or self.given(value)
            raise self.source.problem(node, first.title, given, first.help, first.notes) from error
        if isinstance(actual, ObjectStructInfo) and isinstance(value, Call) and isinstance(value.op, ExternFunc):
            actual = self.result_of(node) or actual
        if info is not None and self.module.checks and (reason := symbols.mismatch(info, actual)):
            raise self.source.problem(node, script.STRUCT_INFO.message(name=name, reason=reason),
                                      f"this is {print_struct_info(actual)}", kind=script.STRUCT_INFO)  # fmt: skip
        if info is not None and self.module.checks and symbols.needs_cast(info, actual):
            # TVM believes such an annotation; here the machine looks whether it is so.
            var = self.cast(name, self.bound(value, node), info, node)
            return self.seen(name, var) if seen else var
        var = Var(name, actual if info is None else with_values(info, actual), self.is_inner(name))
        self.module.places[var] = node
        self.sequence.pending.append(Binding(var, value))
        if isinstance(value, ExternFunc):
            self.externs[var] = value
        return self.seen(name, var) if seen else var

    def given(self, value: Expr) -> str:
        """Say what the arguments of ``value`` are, for the mistake that they do not fit."""
        return "given " + ", ".join(print_struct_info(self.module.inference.of(one)) for one in operands(value))

    def is_inner(self, name: str) -> bool:
        """Whether a variable bound now is seen in its dataflow block only."""
        if not self.sequence.dataflow:
            return False
        if name not in self.sequence.outputs:
            return True
        self.sequence.outputs[name] -= 1
        return self.sequence.outputs[name] > 0

    def innermost(self, name: str) -> Var:
        """Return the variable that the innermost scope has under ``name``."""
        found = self.scopes.levels[-1][name]
        assert isinstance(found, Var)
        return found

    def seen(self, name: str, var: Var) -> Var:
        self.scopes.define(name, var)
        return var

    def bound(self, value: Expr, node: ast.AST) -> Var:
        """Return a new variable bound to ``value``, which the script does not name."""
        name = self.supply.fresh("lv" if self.sequence.dataflow else "gv")
        return self.bind(name, value, node, seen=False)

    def cast(self, name: str, value: Expr, info: StructInfo, node: ast.AST) -> Var:
        """Bind ``R.match_cast(value, info)`` to a new variable ``name``."""
        var = Var(name, info, self.is_inner(name))
        self.module.places[var] = node
        self.sequence.pending.append(MatchCast(var, value, info))
        return var


def with_values(info: StructInfo, actual: StructInfo) -> StructInfo:
    """Return ``info`` with the values of scalars that only inference knows: R.Prim does not say
    them.
    """
    match info, actual:
        case PrimStructInfo(dtype, None), PrimStructInfo(other, value) if dtype == other and value is not None:
            return actual
        case TupleStructInfo(first), TupleStructInfo(second):
            return TupleStructInfo(tuple(map(with_values, first, second)))
    return info
