"""A mutator to derive one's own from, in TVM's vocabulary.

    class Doubled(ExprMutator):
        def visit_constant(self, constant):
            return Constant(constant.data * 2)

    module = Doubled(module).module()

What changes goes through a :class:`BlockBuilder`, which keeps programs in normal form.
``transform/rewriting/`` has what passes use, which work binding by binding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.relax_ir.build.builder import BlockBuilder
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    Call,
    CallTIR,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    IRModule,
    MatchCast,
    SeqExpr,
    Var,
)
from relay2relax.relax_ir.ir.functor import ExprFunctor, callee_by_name
from relay2relax.relax_ir.ir.struct_info import StructInfo
from relay2relax.relax_ir.ir.visit import Steps, free_variables, operands, run, sequences, with_operands, with_sequences


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
        for func in callee_by_name(expr):
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
    raise _wrong(callee_by_name(expr)[0], callee[0])


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
