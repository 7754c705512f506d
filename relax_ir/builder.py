"""Building Relax modules binding by binding, in A-normal form, with struct info inferred as one goes.

    bb = BlockBuilder()
    n = tir.Var("n")
    x = Var("x", TensorStructInfo((n, 784), "float32"))
    w = Var("w", TensorStructInfo((784, 10), "float32"))
    with bb.function("main", [x, w], attrs={"num_input": 1}):
        with bb.dataflow():
            h = bb.emit(call_op("matmul", x, w))                       # lv
            y = bb.emit(CallTIR(bb.add_func(relu, "relu"), (h,), (TensorStructInfo((n, 10), "float32"),)))
            out = bb.emit_output(y)                                    # gv, seen after the block
        bb.emit_func_output(out)
    module = bb.get()

* ``emit(expr, name_hint="", info=None)`` binds and returns the variable; nested expressions are bound first.
* ``emit_output``, ``match_cast``, ``emit_func_output`` as in TVM.
* ``add_func(func, name_hint)`` adds a function under a free name (``dense``, ``dense1``); a PrimFunc that is there
  already, structurally, is not added again.
* ``begin_sequence()``/``end_sequence(value)`` give a :class:`SeqExpr`: a branch of an If, or the body of a
  local Function.
* ``begin_function``/``end_function``, ``begin_dataflow``/``end_dataflow`` do what the ``with`` forms do, for
  callers that keep their own stack.

A variable takes the span of the call that it is bound to. Operator calls by record: see ``emitter.py``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.source import Span
from relay2relax.core.walk import post_order
from relay2relax.ops import relax_op
from relay2relax.relax_ir import symbols
from relay2relax.relax_ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallDPSPacked,
    CallTIR,
    Expr,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    SeqExpr,
    Tuple,
    Var,
)
from relay2relax.relax_ir.infer import Inference, StructInfoError, function_info
from relay2relax.relax_ir.names import NameSupply, kernel_name
from relay2relax.relax_ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    StructInfo,
)
from relay2relax.relax_ir.visit import LEAVES, operands, with_operands
from relay2relax.tir.names import identifier
from relay2relax.tir.stmt import PrimFunc
from relay2relax.tir.structural_equal import structural_key


class BuilderError(Relay2RelaxError):
    """The builder was used out of order, e.g. ``emit_output`` outside of a dataflow block."""


def call_op(name: str, *args: Expr, span: Span | None = None, **attrs: Any) -> Call:
    """Return the call of the Relax operator ``R.<name>``; ``attrs`` are fields of its attribute class.

    Raises Relay2RelaxError where there is no record of that name, or an attribute is unknown or missing.
    """
    op = relax_op(name)
    if op is None:
        raise Relay2RelaxError(f"there is no operator record for R.{name}")
    try:
        return Call(op, args, op.attrs(**attrs), span)
    except TypeError as error:
        raise Relay2RelaxError(f"R.{name}: wrong attributes: {error}") from error


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


@dataclass(slots=True)
class _Signature:
    """The function under construction."""

    var: GlobalVar
    params: tuple[Var, ...]
    attrs: Mapping[str, Any]
    private: bool
    pure: bool
    output: Expr | None = None
    ret: StructInfo | None = None


class BlockBuilder:
    """Builds one IRModule; every step takes constant time, however long the function is.

    Given a ``module``, the new one has its PrimFuncs, and its Relax functions are declared, to be built again.
    """

    def __init__(self, module: IRModule | None = None) -> None:
        self._functions: dict[GlobalVar, Function | PrimFunc] = {}
        self._globals: dict[str, GlobalVar] = {}
        self._global_names = NameSupply()
        self._alike: dict[Hashable, GlobalVar] = {}
        self._inference = Inference()
        self._names = NameSupply()
        self._stack: list[_Sequence] = []
        self._function: _Signature | None = None
        for var, func in module.functions.items() if module is not None else ():
            self._global_names.reserve(var.name)
            self._globals[var.name] = var
            self._inference.declare(var, function_info(func))
            if isinstance(func, PrimFunc):
                self._functions[var] = func
                self._alike[structural_key(func)] = var

    # Functions of the module.

    def declare(self, name: str, params: Sequence[StructInfo], ret: StructInfo, pure: bool = True) -> GlobalVar:
        """Return the global variable of a function that is built later, so that it can be called before."""
        var = self._globals.get(name)
        if var is None:
            var = self._new_global(name)
        self._inference.declare(var, FuncStructInfo(tuple(params), ret, pure))
        return var

    def declare_new(self, name_hint: str, params: Sequence[StructInfo], ret: StructInfo) -> GlobalVar:
        """Return the global variable, under a free name made of ``name_hint``, of a function that is built later."""
        var = self._new_global(identifier(name_hint))
        self._inference.declare(var, FuncStructInfo(tuple(params), ret, True))
        return var

    def add_func(self, func: PrimFunc | Function, name_hint: str = "") -> GlobalVar:
        """Add ``func`` under a free name made of ``name_hint`` and return its global variable.

        A PrimFunc that is structurally equal to one of the module is not added again. Callers that make the same
        PrimFunc over and over keep a table of their own, as ``OpEmitter`` does.
        """
        if isinstance(func, PrimFunc):
            key = structural_key(func)
            if key in self._alike:
                return self._alike[key]
            var = self._alike[key] = self._new_global(kernel_name(name_hint or func.name))
            self._functions[var] = func if func.name == var.name else replace(func, name=var.name)
        else:
            var = self._new_global(identifier(name_hint or "func"))
            self._functions[var] = func
        self._inference.declare(var, function_info(func))
        return var

    def _new_global(self, hint: str) -> GlobalVar:
        var = GlobalVar(self._global_names.fresh(hint))
        self._globals[var.name] = var
        return var

    def get(self) -> IRModule:
        """Return the module; raises BuilderError where a declared function was not built."""
        missing = [name for name, var in self._globals.items() if var not in self._functions]
        if missing:
            raise BuilderError(f"declared, but never built: {', '.join(missing)}")
        return IRModule(dict(self._functions))

    # Scopes.

    @contextmanager
    def function(
        self,
        name: str,
        params: Sequence[Var] = (),
        attrs: Mapping[str, Any] | None = None,
        *,
        private: bool = False,
        pure: bool = True,
    ) -> Iterator[GlobalVar]:
        """Build the function ``name``; its result is what ``emit_func_output`` is given."""
        var = self.begin_function(name, params, attrs, private=private, pure=pure)
        try:
            yield var
        except BaseException:
            self._function, self._stack = None, []
            raise
        self.end_function()

    def begin_function(
        self,
        name: str,
        params: Sequence[Var] = (),
        attrs: Mapping[str, Any] | None = None,
        *,
        private: bool = False,
        pure: bool = True,
    ) -> GlobalVar:
        """Begin the function ``name``; one function is built at a time."""
        if self._function is not None:
            raise BuilderError(f"{name} begins inside of {self._function.var.name}; local functions are sequences")
        var = self._globals.get(name)
        if var is None:
            var = self.declare(name, [param.info for param in params], ObjectStructInfo(), pure)
        elif var in self._functions:
            raise BuilderError(f"the module has a function {name!r} already")
        self._function = _Signature(var, tuple(params), attrs or {}, private, pure)
        self._names = NameSupply()
        for param in params:
            self._names.reserve(param.name)
        self._stack = [_Sequence()]
        return var

    def emit_func_output(self, value: Expr, ret: StructInfo | None = None) -> None:
        """Let the function return ``value``; call it last, outside of dataflow blocks.

        ``ret`` says more of the result than inference can; the machine checks it.
        """
        if self._function is None:
            raise BuilderError("emit_func_output outside of a function")
        if self._current.dataflow:
            raise BuilderError("emit_func_output inside of a dataflow block; use emit_output there")
        self._function.output = self._as_result(value)
        self._function.ret = ret

    def end_function(self) -> GlobalVar:
        """Finish the function and add it to the module."""
        building = self._function
        if building is None:
            raise BuilderError("end_function without begin_function")
        if building.output is None:
            raise BuilderError(f"{building.var.name} has no result; call emit_func_output")
        if len(self._stack) != 1:
            raise BuilderError(f"{len(self._stack) - 1} sequences of {building.var.name} are not finished")
        info = building.ret or self.struct_info(building.output)
        ret = symbols.erase(info, symbols.defined(param.info for param in building.params))
        function = Function(
            building.params,
            self._close(building.output),
            ret,
            building.attrs,
            building.pure,
            building.private,
        )
        self._functions[building.var] = function
        self._inference.declare(building.var, function_info(function))
        self._function = None
        return building.var

    @contextmanager
    def dataflow(self) -> Iterator[None]:
        """Build a dataflow block; what is used after it is given to ``emit_output``."""
        self.begin_dataflow()
        yield
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
        """Begin a sequence of its own: a branch of an If, or the body of a local function."""
        if not self._stack:
            raise BuilderError("bindings are made inside of a function")
        self._stack.append(_Sequence())

    def end_sequence(self, value: Expr) -> SeqExpr:
        """Finish the sequence that was begun last, with the result ``value``."""
        if len(self._stack) < 2:
            raise BuilderError("end_sequence without begin_sequence")
        if self._current.dataflow:
            raise BuilderError("end_sequence inside of a dataflow block")
        return self._close(self._as_result(value))

    @property
    def in_dataflow(self) -> bool:
        """Whether a dataflow block is open."""
        return bool(self._stack) and self._stack[-1].dataflow

    @property
    def _current(self) -> _Sequence:
        if not self._stack:
            raise BuilderError("bindings are made inside of a function")
        return self._stack[-1]

    def _close(self, body: Expr) -> SeqExpr:
        sequence = self._stack.pop()
        sequence.close_block()
        return SeqExpr(tuple(sequence.blocks), body)

    # Bindings.

    def emit(self, expr: Expr, name_hint: str = "", info: StructInfo | None = None) -> Var:
        """Bind ``expr`` and return its variable; ``info`` says more than inference can (packed functions)."""
        value = self._normalised(expr)
        return self._bind(value, name_hint, info or self.struct_info(value), output=False)

    def emit_output(self, expr: Expr, name_hint: str = "") -> Var:
        """Bind ``expr`` as an output of the dataflow block and return its variable."""
        if not self._current.dataflow:
            raise BuilderError("emit_output outside of a dataflow block")
        value = self._normalised(expr)
        return self._bind(value, name_hint, self.struct_info(value), output=True)

    def new_var(self, name_hint: str, info: StructInfo, output: bool = False) -> Var:
        """Return a variable to be bound later by :meth:`bind`: a local function that calls itself needs its own.

        In a dataflow block, ``output`` says that it is used after the block.
        """
        return self._fresh(name_hint, info, output, None)

    def bind(self, var: Var, expr: Expr) -> None:
        """Bind ``var``, which :meth:`new_var` made, to ``expr``."""
        self._current.pending.append(Binding(var, self._normalised(expr)))

    def match_cast(self, value: Expr, info: StructInfo, name_hint: str = "") -> Var:
        """Bind ``value`` cast to ``info``; new variables among the extents of ``info`` are bound by this."""
        source = self._as_result(value)
        if reason := symbols.mismatch(info, self.struct_info(source)):
            raise StructInfoError(f"match_cast cannot succeed: {reason}")
        var = self._fresh(name_hint, info, False, None)
        self._current.pending.append(MatchCast(var, source, info))
        return var

    def struct_info(self, expr: Expr) -> StructInfo:
        """Return the struct info of ``expr``; raises StructInfoError."""
        return self._inference.of(expr)

    def _bind(self, value: Expr, hint: str, info: StructInfo, output: bool) -> Var:
        if self._current.dataflow and isinstance(value, If):
            raise BuilderError("a dataflow block has no branches")
        span = value.span if isinstance(value, (Call, CallTIR, CallDPSPacked)) else None
        var = self._fresh(hint, info, output, span)
        self._current.pending.append(Binding(var, value))
        return var

    def _fresh(self, hint: str, info: StructInfo, output: bool, span: Span | None) -> Var:
        inner = self._current.dataflow and not output
        name = self._names.fresh(hint, "_") if hint else self._names.fresh("lv" if inner else "gv")
        return Var(name, info, inner, span)

    def _normalised(self, expr: Expr) -> Expr:
        """Bind what is nested in ``expr``, so that its operands are leaves and tuples of leaves."""
        if all(isinstance(one, LEAVES) for one in operands(expr)):
            return expr
        made: dict[Expr, Expr] = {}
        for node in post_order(operands(expr), operands):
            if isinstance(node, LEAVES):
                made[node] = node
                continue
            new = with_operands(node, [made[one] for one in operands(node)])
            made[node] = new if isinstance(new, Tuple) else self._bind(new, "", self.struct_info(new), False)
        return with_operands(expr, [made[one] for one in operands(expr)])

    def _as_result(self, value: Expr) -> Expr:
        value = self._normalised(value)
        return value if isinstance(value, (*LEAVES, Tuple)) else self.emit(value)
