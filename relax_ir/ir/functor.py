"""Visitors to derive one's own from, in TVM's vocabulary.

    class Calls(ExprVisitor):
        def visit_call(self, call):
            print(call.op.name)

    Calls().visit(module)

There is a method for every kind of node. It is called when the parts of its node have been visited,
which happens in the order in which the program is evaluated; the walk keeps its own stack, however
deep the program is. ``build/expr_mutator.py`` has the mutator.
"""

from __future__ import annotations

from typing import Generic, TypeVar, Union

from typing_extensions import assert_never

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
from relay2relax.relax_ir.ir.visit import Steps, operands, run, sequences

Result = TypeVar("Result")


class ExprFunctor(Generic[Result]):
    """Has a method for each kind of expression.

    Those that are not overridden do what ``visit_default`` does.
    """

    def visit_default(self, expr: Expr) -> Result:
        """Return the value of a node whose kind has no method of its own."""
        raise NotImplementedError(f"{type(self).__name__} has no method for a {type(expr).__name__} of Relax")

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


def callee_by_name(expr: Expr) -> tuple[GlobalVar | ExternFunc, ...]:
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
        for one in (*callee_by_name(expr), *operands(expr), *sequences(expr)):
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
