"""Bindings in order, in sequences that nest, in A-normal form: ``BlockBuilder`` builds the bodies
of functions so.

A sequence is under construction from ``begin_sequence`` to ``end_sequence``. What is bound goes
into its last block; a block ends where a dataflow block begins or ends. Neighbours of one kind
become one block, as in TVM.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, TypeAlias, Union

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import relax
from relay2relax.core.limits import check
from relay2relax.core.source import Span
from relay2relax.core.walk import post_order
from relay2relax.relax_ir.inference.infer import Inference, StructInfoError
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallDPSPacked,
    CallTIR,
    Expr,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
    Var,
)
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import (
    StructInfo,
)
from relay2relax.relax_ir.ir.visit import (
    LEAVES,
    Steps,
    is_argument,
    operands,
    run,
    sequences,
    variables,
    with_operands,
    with_sequences,
)
from relay2relax.tir.ir.expr import PrimExpr

# What may be bound: an expression, a scalar, or a Python tuple or list of such.
Value: TypeAlias = Union[Expr, PrimExpr, Sequence[Any]]


class BuilderError(Relay2RelaxError):
    """The builder was used out of order, e.g. ``emit_output`` outside of a dataflow block."""

    kind = relax.BUILDER


@dataclass(slots=True)
class _Sequence:
    """A sequence under construction; ``pending`` are the bindings of its current block."""

    blocks: list[BindingBlock] = field(default_factory=list)
    pending: list[Binding | MatchCast] = field(default_factory=list)
    dataflow: bool = False

    def close_block(self) -> None:
        if self.pending:
            self.blocks.append(BindingBlock(tuple(self.pending), self.dataflow))
            self.pending = []
        self.dataflow = False


class SequenceBuilder:
    """Builds sequences of bindings; every step takes constant time, however long a sequence is."""

    def __init__(self) -> None:
        self._inference = Inference()
        self._names = NameSupply()
        self._stack: list[_Sequence] = []
        # How many sequences of the stack are bodies of functions, which end otherwise.
        self._bodies = 0
        self._values: dict[Var, Expr] = {}
        # Sequences made here, which are normal already.
        self._normal: set[SeqExpr] = set()

    # Scopes.

    def _begin_body(self) -> None:
        self._stack, self._bodies = [_Sequence()], 1

    def _drop_sequences(self) -> None:
        self._stack, self._bodies = [], 0

    @contextmanager
    def dataflow(self) -> Iterator[None]:
        """Build a dataflow block; what is used after it is given to ``emit_output``."""
        self.begin_dataflow()
        block = self._current
        try:
            yield
        except BaseException:
            block.close_block()
            raise
        self.end_dataflow()

    def begin_dataflow(self) -> None:
        """Begin a dataflow block."""
        if self._current.dataflow:
            raise BuilderError("dataflow blocks do not nest")
        self._current.close_block()
        self._current.dataflow = True

    def end_dataflow(self) -> None:
        """Finish the dataflow block."""
        if not self._current.dataflow:
            raise BuilderError("end_dataflow without begin_dataflow")
        self._current.close_block()

    def begin_sequence(self) -> None:
        """Begin a sequence of its own: a branch of an If, the body of a local function, or bindings
        by themselves.
        """
        self._stack.append(_Sequence())

    def end_sequence(self, value: Value, like: SeqExpr | None = None) -> SeqExpr:
        """Finish the sequence that was begun last, with the result ``value``.

        Where it binds what ``like`` binds, that is returned.
        """
        if len(self._stack) <= self._bodies:
            raise BuilderError("end_sequence without begin_sequence")
        if self._current.dataflow:
            raise BuilderError("end_sequence inside of a dataflow block")
        made = self._close(self._as_result(value))
        if like is None or not _same(like, made):
            return made
        self._normal.add(like)
        return like

    @property
    def in_dataflow(self) -> bool:
        """Whether a dataflow block is open."""
        return bool(self._stack) and self._stack[-1].dataflow

    @property
    def _current(self) -> _Sequence:
        if not self._stack:
            raise BuilderError("bindings are made inside of a function or a sequence")
        return self._stack[-1]

    def _close(self, body: Expr) -> SeqExpr:
        sequence = self._stack.pop()
        sequence.close_block()
        made = SeqExpr(tuple(_joined(sequence.blocks)), body)
        self._normal.add(made)
        return made

    # Bindings.

    def emit(self, expr: Value, name_hint: str = "", info: StructInfo | None = None) -> Var:
        """Bind ``expr`` and return its variable.

        ``info`` says more than inference can (packed functions).
        """
        value = self.normalize(expr)
        return self._bind(value, name_hint, info or self.struct_info(value), output=False)

    def emit_output(self, expr: Value, name_hint: str = "", info: StructInfo | None = None) -> Var:
        """Bind ``expr`` as an output of the dataflow block and return its variable.

        ``info`` is as for ``emit``.
        """
        if not self._current.dataflow:
            raise BuilderError("emit_output outside of a dataflow block")
        value = self.normalize(expr)
        return self._bind(value, name_hint, info or self.struct_info(value), output=True)

    def new_var(self, name_hint: str, info: StructInfo, output: bool = False) -> Var:
        """Return a variable to be bound later by :meth:`bind`: a local function that calls itself
        needs its own.

        In a dataflow block, ``output`` says that it is used after the block.
        """
        return self._fresh(name_hint, info, output, None)

    def bind(self, var: Var, expr: Value) -> None:
        """Bind ``var``, which :meth:`new_var` made, to ``expr``."""
        self.emit_normalized(Binding(var, self.normalize(expr)))

    def match_cast(self, value: Value, info: StructInfo, name_hint: str = "", output: bool = False) -> Var:
        """Bind ``value`` cast to ``info``; new variables among the extents of ``info`` are bound by
        this.

        The variable is seen outside its dataflow block where it is an ``output`` of that.
        """
        source = self._as_result(value)
        if reason := symbols.mismatch(info, self.struct_info(source)):
            raise StructInfoError(f"match_cast cannot succeed: {reason}")
        var = self._fresh(name_hint, info, output, None)
        self.emit_normalized(MatchCast(var, source, info))
        return var

    def emit_normalized(self, binding: Binding | MatchCast) -> None:
        """Append ``binding`` as it is; its value is normal (see :meth:`normalize`)."""
        check()
        self._values[binding.var] = binding.value
        self._current.pending.append(binding)

    def lookup_binding(self, var: Var) -> Expr | None:
        """Return what ``var`` is bound to in the function that is being built, None where it is not
        bound in it.
        """
        return self._values.get(var)

    def struct_info(self, expr: Expr) -> StructInfo:
        """Return the struct info of ``expr``; raises StructInfoError."""
        return self._inference.of(expr)

    def _bind(self, value: Expr, hint: str, info: StructInfo, output: bool) -> Var:
        if self._current.dataflow and isinstance(value, If):
            raise BuilderError("a dataflow block has no branches")
        span = value.span if isinstance(value, (Call, CallTIR, CallDPSPacked)) else None
        var = self._fresh(hint, info, output, span)
        self.emit_normalized(Binding(var, value))
        return var

    def _fresh(self, hint: str, info: StructInfo, output: bool, span: Span | None) -> Var:
        inner = self._current.dataflow and not output
        name = self._names.fresh(hint, "_") if hint else self._names.fresh("lv" if inner else "gv")
        return Var(name, info, inner, span)

    # Normal form.

    def normalize(self, expr: Value) -> Expr:
        """Return ``expr`` as it may be bound: its operands are leaves and tuples of leaves.

        What is nested in it is bound first, once, however often it occurs; branches and bodies
        become sequences of their own, and of a sequence in the place of a value the blocks are
        bound here, the result is left. Raises BuilderError where that takes a dataflow variable out
        of its block.
        """
        expr = _as_expr(expr)
        if not isinstance(expr, (SeqExpr, If, Function)) and all(isinstance(one, LEAVES) for one in operands(expr)):
            return expr
        found: list[Expr] = []
        run(self._normal_value(expr, {}, found))
        return found[0]

    def _normal_value(self, expr: Expr, made: dict[Expr, Expr], found: list[Expr]) -> Steps:
        """Append ``expr`` in normal form to ``found``; ``made`` says what stands for that which is
        nested in it.
        """
        for node in post_order((expr,), operands):
            if node in made or isinstance(node, LEAVES):
                made.setdefault(node, node)
                continue
            if isinstance(node, SeqExpr):
                result: list[Expr] = []
                yield self._splice(node, made, result)
                new = result[0]
            else:
                parts: list[SeqExpr] = []
                for inner in sequences(node):
                    yield self._branch(inner, made, parts)
                new = with_sequences(with_operands(node, [made[one] for one in operands(node)]), parts)
            if node is expr:
                found.append(new)
                return
            made[node] = new if is_argument(new) else self._bind(new, "", self.struct_info(new), False)
        found.append(made[expr])

    def _branch(self, seq: SeqExpr, made: dict[Expr, Expr], found: list[SeqExpr]) -> Steps:
        """Append ``seq`` in normal form to ``found``."""
        if seq in self._normal:
            found.append(seq)
            return
        known = len(made)
        self.begin_sequence()
        body: list[Expr] = []
        yield self._splice(seq, made, body)
        found.append(self.end_sequence(body[0], like=seq))
        _forget(made, known)

    def _splice(self, seq: SeqExpr, made: dict[Expr, Expr], found: list[Expr]) -> Steps:
        """Append the bindings of ``seq`` to what is built, in blocks of their kind, and its result
        to ``found``.
        """
        current = self._current
        dataflow = current.dataflow
        for block in seq.blocks:
            known = len(made)
            if block.dataflow is not dataflow:
                current.close_block()
                current.dataflow = block.dataflow
            own: set[Var] = set()
            for binding in block.bindings:
                value: list[Expr] = []
                yield self._normal_value(binding.value, made, value)
                new = self._as_result(value[0]) if isinstance(binding, MatchCast) else value[0]
                if dataflow and not block.dataflow:
                    _refuse_dataflow(variables(new), own)
                own.add(binding.var)
                self.emit_normalized(binding if new is binding.value else replace(binding, value=new))
            if block.dataflow is not dataflow:
                current.close_block()
                current.dataflow = dataflow
                _forget(made, known)
        yield self._normal_value(seq.body, made, found)

    def _as_result(self, value: Value) -> Expr:
        normal = self.normalize(value)
        return normal if is_argument(normal) else self._bind(normal, "", self.struct_info(normal), False)


def _as_expr(value: Value) -> Expr:
    """Return ``value`` with tuples in the place of Python's tuples and lists, and scalars as
    values.
    """
    if isinstance(value, (tuple, list)):
        return Tuple(tuple(_as_expr(one) for one in value))
    return PrimValue(value) if isinstance(value, PrimExpr) else value  # type: ignore[return-value]


def _joined(blocks: Sequence[BindingBlock]) -> Iterator[BindingBlock]:
    """Yield ``blocks``, neighbours of one kind as one."""
    for dataflow, run_of in groupby(blocks, key=lambda block: block.dataflow):
        group = list(run_of)
        together = tuple(binding for block in group for binding in block.bindings)
        yield group[0] if len(group) == 1 else BindingBlock(together, dataflow)


def _same(seq: SeqExpr, other: SeqExpr) -> bool:
    """Whether two sequences bind the same in the same blocks."""
    if seq.body is not other.body or len(seq.blocks) != len(other.blocks):
        return False
    return all(
        block.dataflow == one.dataflow
        and len(block.bindings) == len(one.bindings)
        and all(a is b for a, b in zip(block.bindings, one.bindings, strict=True))
        for block, one in zip(seq.blocks, other.blocks, strict=True)
    )


def _forget(made: dict[Expr, Expr], known: int) -> None:
    """Forget what was made after the first ``known``: it is bound where nothing after it sees
    it.
    """
    while len(made) > known:
        made.popitem()


def _refuse_dataflow(used: Iterable[Var], own: set[Var]) -> None:
    for var in used:
        if var.dataflow and var not in own:
            raise BuilderError(
                f"the dataflow variable {var.name} is used by bindings of a sequence that leave its dataflow block"
            )
