"""Visitors and mutators to derive one's own from, in TVM's vocabulary.

    class Calls(ExprVisitor):
        def visit_call(self, call):
            print(call.op.name)

    class Doubled(ExprMutator):
        def visit_constant(self, constant):
            return Constant(constant.data * 2)

    Calls().visit(module)
    module = Doubled(module).module()

There is a method for every kind of node. It is called when the parts of its node have been visited,
which happens in the order in which the program is evaluated; the walk keeps its own stack, however
deep the program is. ``transform/mutator.py`` and ``transform/rewriter.py`` are what passes use,
which work binding by binding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, TypeVar, Union

from typing_extensions import assert_never

from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.relax_ir.build.builder import BlockBuilder
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    DataTypeImm,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import StructInfo
from relay2relax.relax_ir.ir.visit import Steps, free_variables, operands, run, sequences, with_operands, with_sequences

Result = TypeVar("Result")


class ExprFunctor(Generic[Result]):
    """Has a method for each kind of expression.

    Those that are not overridden do what ``visit_default`` does.
    """

    def visit_default(self, expr: Expr) -> Result:
        """Return the value of a node whose kind has no method of its own."""
        raise NotImplementedError(f"{type(self).__name__} has no method for a {type(expr).__name__}")

    def _dispatch(self, expr: Expr) -> Result:
        match expr:
            case Var():
                return self.visit_var(expr)
            case Constant():
                return self.visit_constant(expr)
            case ShapeExpr():
                return self.visit_shape_expr(expr)
            case PrimValue():
                return self.visit_prim_value(expr)
            case DataTypeImm():
                return self.visit_data_type_imm(expr)
            case StringImm():
                return self.visit_string_imm(expr)
            case GlobalVar():
                return self.visit_global_var(expr)
            case ExternFunc():
                return self.visit_extern_func(expr)
            case Call():
                return self.visit_call(expr)
            case CallTIR():
                return self.visit_call_tir(expr)
            case CallDPSPacked():
                return self.visit_call_dps_packed(expr)
            case Tuple():
                return self.visit_tuple(expr)
            case TupleGetItem():
                return self.visit_tuple_getitem(expr)
            case If():
                return self.visit_if(expr)
            case Function():
                return self.visit_function(expr)
            case SeqExpr():
                return self.visit_seq_expr(expr)
        assert_never(expr)

    def visit_var(self, var: Var) -> Result:
        """A variable where it is used."""
        return self.visit_default(var)

    def visit_constant(self, constant: Constant) -> Result:
        """A tensor."""
        return self.visit_default(constant)

    def visit_shape_expr(self, shape: ShapeExpr) -> Result:
        """A shape."""
        return self.visit_default(shape)

    def visit_prim_value(self, value: PrimValue) -> Result:
        """A scalar."""
        return self.visit_default(value)

    def visit_data_type_imm(self, dtype: DataTypeImm) -> Result:
        """A dtype."""
        return self.visit_default(dtype)

    def visit_string_imm(self, string: StringImm) -> Result:
        """A string."""
        return self.visit_default(string)

    def visit_global_var(self, var: GlobalVar) -> Result:
        """The name of a function of the module, as callee or as value."""
        return self.visit_default(var)

    def visit_extern_func(self, func: ExternFunc) -> Result:
        """A function by name, as callee or as value."""
        return self.visit_default(func)

    def visit_call(self, call: Call) -> Result:
        """A call of an operator or function."""
        return self.visit_default(call)

    def visit_call_tir(self, call: CallTIR) -> Result:
        """A ``call_tir``."""
        return self.visit_default(call)

    def visit_call_dps_packed(self, call: CallDPSPacked) -> Result:
        """A ``call_dps_packed``."""
        return self.visit_default(call)

    def visit_tuple(self, tup: Tuple) -> Result:
        """A tuple."""
        return self.visit_default(tup)

    def visit_tuple_getitem(self, item: TupleGetItem) -> Result:
        """A projection."""
        return self.visit_default(item)

    def visit_if(self, branch: If) -> Result:
        """An if."""
        return self.visit_default(branch)

    def visit_function(self, function: Function) -> Result:
        """A function of the module, or a local one."""
        return self.visit_default(function)

    def visit_seq_expr(self, seq: SeqExpr) -> Result:
        """A sequence: the body of a function, or a branch."""
        return self.visit_default(seq)


def _callee(expr: Expr) -> tuple[GlobalVar | ExternFunc, ...]:
    """Return the function that ``expr`` calls by name, which is none of its operands."""
    match expr:
        case Call(GlobalVar() | ExternFunc() as callee, _) | CallTIR(callee):
            return (callee,)
    return ()


Program = Union[IRModule, Expr, BindingBlock, Binding, MatchCast]


class ExprVisitor(ExprFunctor[None]):
    """Looks at every node, as often as it occurs; methods that are not overridden do nothing."""

    def visit(self, program: Program) -> None:
        """Look at ``program``, of a module at every Relax function."""
        match program:
            case IRModule(functions):
                for func in functions.values():
                    if isinstance(func, Function):
                        run(self._expr(func))
            case BindingBlock():
                run(self._block(program))
            case Binding() | MatchCast():
                run(self._binding(program))
            case _:
                run(self._expr(program))

    def enter(self, expr: Expr) -> bool:
        """Look at ``expr`` before its parts.

        Return whether these, and then itself, shall be visited.
        """
        return True

    def visit_default(self, expr: Expr) -> None:
        """Do nothing."""

    def visit_var_def(self, var: Var) -> None:
        """A variable where it is bound: a parameter, or what a binding defines."""

    def visit_binding(self, binding: Binding) -> None:
        """A binding, after its value and its variable."""

    def visit_match_cast(self, binding: MatchCast) -> None:
        """A cast, after its value and its variable."""

    def visit_binding_block(self, block: BindingBlock) -> None:
        """An ordinary block, after its bindings."""

    def visit_dataflow_block(self, block: BindingBlock) -> None:
        """A dataflow block, after its bindings."""

    def _expr(self, expr: Expr) -> Steps:
        if not self.enter(expr):
            return
        if isinstance(expr, Function):
            for param in expr.params:
                self.visit_var_def(param)
        for one in (*_callee(expr), *operands(expr), *sequences(expr)):
            yield self._expr(one)
        if isinstance(expr, SeqExpr):
            for block in expr.blocks:
                yield self._block(block)
            yield self._expr(expr.body)
        self._dispatch(expr)

    def _block(self, block: BindingBlock) -> Steps:
        for binding in block.bindings:
            yield self._binding(binding)
        if block.dataflow:
            self.visit_dataflow_block(block)
        else:
            self.visit_binding_block(block)

    def _binding(self, binding: Binding | MatchCast) -> Steps:
        yield self._expr(binding.value)
        self.visit_var_def(binding.var)
        if isinstance(binding, MatchCast):
            self.visit_match_cast(binding)
        else:
            self.visit_binding(binding)


class ExprMutator(ExprFunctor[Expr]):
    """Rebuilds programs.

    Methods that are not overridden return their node, of which the parts are changed already.

    What does not change is the same object afterwards. Where the struct info of a value changes,
    its variable is replaced by one of that struct info, and so on with what uses it; a method may
    return an expression that is not in normal form, which is bound in parts. ``builder`` is where
    bindings go: a method may emit others before.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = mod if mod is not None else IRModule({})
        self.builder = BlockBuilder(mod)
        # What stands for a variable from its binding on.
        self.vars: dict[Var, Expr] = {}
        self._original: Binding | MatchCast | None = None

    def module(self) -> IRModule:
        """Return the module with every Relax function changed, the module itself where nothing
        changes.
        """
        for var, func in self.mod.functions.items():
            if isinstance(func, Function):
                made = self.visit(func)
                if not isinstance(made, Function):
                    raise _wrong(func, made)
                if made is not func:
                    self.builder.update_func(var, made)
        made_module = self.builder.get()
        before, after = self.mod.functions, made_module.functions
        same = len(before) == len(after) and all(after[var] is func for var, func in before.items())
        return self.mod if same else made_module

    def visit(self, expr: Expr) -> Expr:
        """Return what ``expr`` becomes."""
        found: list[Expr] = []
        run(self._expr(expr, found))
        return found[0]

    # What a mutator overrides, besides the methods for expressions.

    def visit_default(self, expr: Expr) -> Expr:
        """Return ``expr``."""
        return expr

    def visit_var(self, var: Var) -> Expr:
        """Return what stands for a variable where it is used."""
        return self.vars.get(var, var)

    def visit_var_def(self, var: Var) -> Var:
        """Return the variable that is bound in the place of ``var``: itself."""
        return var

    def visit_binding(self, binding: Binding) -> None:
        """Say what becomes of a binding, whose value is changed already: it is kept."""
        self.keep(binding)

    def visit_match_cast(self, binding: MatchCast) -> None:
        """Say what becomes of a cast, whose value is changed already: it is kept."""
        self.keep(binding)

    def returned(self, func: Function, params: tuple[Var, ...], body: SeqExpr) -> StructInfo:
        """Return what ``func`` returns with ``params`` and ``body``: something else where its
        result is.
        """
        info = self.builder.struct_info(body.body)
        if info == self.builder.struct_info(func.body.body):
            return func.ret
        return symbols.erase(info, symbols.defined(param.info for param in params))

    # What a mutator calls.

    def keep(self, binding: Binding | MatchCast) -> None:
        """Bind the variable to the value, with the struct info that the value has now."""
        original = self._original
        value = self.builder.normalize(binding.value)
        var = self.visit_var_def(binding.var)
        if isinstance(binding, Binding) and (original is None or value is not original.value):
            info = self.builder.struct_info(value)
            # What functions outside of the module return is known from the variable only.
            if info != var.info and not symbols.is_opaque(info):
                if isinstance(value, Function) and var in free_variables(value):
                    raise UnsupportedError(f"{var.name} calls itself; its struct info cannot change")
                var = replace(var, info=info)
        if original is not None and var is not original.var:
            self.vars[original.var] = var
        same = var is binding.var and value is binding.value
        self.builder.emit_normalized(binding if same else replace(binding, var=var, value=value))

    # Walking.

    def _expr(self, expr: Expr, found: list[Expr]) -> Steps:
        match expr:
            case Function():
                yield self._function(expr, found)
                return
            case SeqExpr():
                yield self._sequence(expr, found)
                return
        callee: list[Expr] = []
        for func in _callee(expr):
            yield self._expr(func, callee)
        new: list[Expr] = []
        for one in operands(expr):
            yield self._expr(one, new)
        parts: list[Expr] = []
        for seq in sequences(expr):
            yield self._expr(seq, parts)
        if isinstance(expr, Call) and isinstance(expr.op, Var) and not isinstance(new[0], Var):
            new[0] = self.builder.emit(new[0])
        changed = _with_callee(with_operands(expr, new), callee)
        found.append(self._dispatch(with_sequences(changed, _sequences(expr, parts))))

    def _function(self, func: Function, found: list[Expr]) -> Steps:
        params = tuple(self.visit_var_def(param) for param in func.params)
        self.vars.update((old, new) for old, new in zip(func.params, params, strict=True) if old is not new)
        parts: list[Expr] = []
        yield self._expr(func.body, parts)
        (body,) = _sequences(func, parts)
        if body is func.body and all(old is new for old, new in zip(func.params, params, strict=True)):
            found.append(self._dispatch(func))
            return
        found.append(self._dispatch(replace(func, params=params, body=body, ret=self.returned(func, params, body))))

    def _sequence(self, seq: SeqExpr, found: list[Expr]) -> Steps:
        self.builder.begin_sequence()
        for block in seq.blocks:
            if block.dataflow:
                self.builder.begin_dataflow()
            for binding in block.bindings:
                parts: list[Expr] = []
                yield self._expr(binding.value, parts)
                self._original = binding
                new = binding if parts[0] is binding.value else replace(binding, value=parts[0])
                if isinstance(new, MatchCast):
                    self.visit_match_cast(new)
                else:
                    self.visit_binding(new)
                self._original = None
            if block.dataflow:
                self.builder.end_dataflow()
        body: list[Expr] = []
        yield self._expr(seq.body, body)
        found.append(self._dispatch(self.builder.end_sequence(body[0], like=seq)))


def _with_callee(expr: Expr, callee: Sequence[Expr]) -> Expr:
    """Return ``expr`` with ``callee`` in the place of the function that it calls by name."""
    match expr, callee:
        case _, () | []:
            return expr
        case Call(op), (GlobalVar() | ExternFunc() | Var() as new,):
            return expr if new is op else replace(expr, op=new)
        case CallTIR(func), (GlobalVar() as new,):
            return expr if new is func else replace(expr, func=new)
    raise _wrong(_callee(expr)[0], callee[0])


def _sequences(expr: Expr, new: Sequence[Expr]) -> list[SeqExpr]:
    """Return ``new``, which stand for the sequences of ``expr``."""
    found: list[SeqExpr] = []
    for old, one in zip(sequences(expr), new, strict=True):
        if not isinstance(one, SeqExpr):
            raise _wrong(old, one)
        found.append(one)
    return found


def _wrong(old: Expr, new: Expr) -> Relay2RelaxError:
    return Relay2RelaxError(f"a {type(new).__name__} cannot stand in the place of a {type(old).__name__}")
