"""Type inference: every expression of a module gets its type.

Each function of a module is inferred on its own, against what the others declare. One walk over the
expressions gives each a :class:`TypeNode` and states what has to hold: equations, which are unified
at once, and relations of operators and projections, which wait in a queue until the types of their
arguments are known. What is left unknown at the end, and every mistake on the way, is reported
together. The walk keeps its own stack, and operators are inferred once per (operator, attributes,
argument types), so that a module of 100,000 calls is ordinary.

The rules are those of TVM 0.18, its destructive unification included (see ``unify.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import assert_never

from relay2relax.core.collection import collection_paused
from relay2relax.core.errors import Diagnostic
from relay2relax.core.limits import active, check
from relay2relax.core.progress import Position, going_on
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.inference import errors
from relay2relax.relay_ir.inference.declared_types import callees_first, definition_problems, type_problems
from relay2relax.relay_ir.inference.errors import TypeInferenceError
from relay2relax.relay_ir.inference.exhaustiveness import pattern_text, unmatched_cases
from relay2relax.relay_ir.inference.operators import Inferred, Signature
from relay2relax.relay_ir.inference.relations import Equations, OperatorRelation, ProjectionRelation, Relations
from relay2relax.relay_ir.inference.unify import (
    BROKEN,
    FunctionTerm,
    RefTerm,
    TupleTerm,
    TypeNode,
    TypeTooLarge,
    find,
    instantiate,
    to_node,
)
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule, as_module
from relay2relax.relay_ir.ir.rewrite import nodes as reachable
from relay2relax.relay_ir.ir.types import (
    FuncType,
    IncompleteType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay2relax.tir.extent import is_symbolic

_BOOL = TensorType((), "bool")
_UNIT = TupleType(())


@collection_paused()
def infer_type(mod: IRModule, declare_results: bool = False) -> IRModule:
    """Return ``mod`` with ``types`` filled for every expression, and return types of its functions
    declared.

    A function sees of the others what they declare. TVM therefore refuses a call of one that
    declares no result where nothing else determines it; with ``declare_results`` such functions are
    inferred before those that call them.

    Expressions stay the same objects; a function of the module whose return type was missing, or
    changed by unification, is a new ``Function`` around the same body. The types of variables and
    of local functions are in the table only. Raises TypeInferenceError with every mistake of the
    module.
    """
    problems: list[Diagnostic] = list(definition_problems(as_module(mod)))
    types: dict[Expr, Type] = {}
    functions: dict[GlobalVar, Function] = {}
    by_name = {var.name: function for var, function in mod.functions.items()}
    cache: dict[Signature, Inferred] = {}
    for var, function in callees_first(mod.functions) if declare_results else mod.functions.items():
        check()
        inference = _Inference(mod, var.name, by_name, cache)
        inference.run(function)
        if not problems and not inference.equations.problems:
            inference.export(function, types)
        problems += inference.equations.problems
        if problems:
            continue
        found = types[function]
        assert isinstance(found, FuncType)
        # The body's type, where it is a tensor's, has the extents in the width that they are
        # computed in.
        body = types[function.body]
        ret_type = body if isinstance(body, TensorType) else found.ret_type
        # Texts number symbolic extents by object, so that equal ones are told apart.
        symbolic = isinstance(ret_type, TensorType) and any(map(is_symbolic, ret_type.shape))
        if function.ret_type is not ret_type and (symbolic or function.ret_type != ret_type):
            function = replace(function, ret_type=ret_type)
            types[function] = found
        functions[var] = function
        if declare_results:
            by_name[var.name] = function
        types[var] = found
    types.update((var, one.type) for var, one in mod.opaque_functions.items() if one.type is not None)
    if problems:
        raise TypeInferenceError(errors.in_source_order(list(dict.fromkeys(problems))), mod.source)
    return replace(mod, functions={var: functions[var] for var in mod.functions}, types=types, recorded=False)


def typed_module(mod: IRModule) -> IRModule:
    """Return ``mod`` with the types that inference found of it: itself where it has them.

    Types that a document records are not believed. Raises TypeInferenceError where it is ill-typed.
    """
    return mod if as_module(mod).types and not mod.recorded else infer_type(mod, declare_results=True)


# Steps of the walk. An expression is visited before and finished after its parts; binders bind
# between.
_VISIT, _BIND, _FINISH = 0, 1, 2


class _Inference:
    """The inference of one function of a module."""

    def __init__(
        self, mod: IRModule, name: str, functions: dict[str, Function], cache: dict[Signature, Inferred]
    ) -> None:
        self.mod = mod
        self.functions = functions
        self.opaque = {var.name: function for var, function in mod.opaque_functions.items()}
        self.equations = Equations(mod, name)
        self.relations = Relations(self.equations, cache)
        self.nodes: dict[Expr, TypeNode] = {}
        # Variables whose scope the walk has left, and the type parameters in reach.
        self.closed: set[Var] = set()
        self.type_params: set[TypeVar] = set()
        self.stack: list[tuple[int, Expr]] = []

    def run(self, function: Function) -> None:
        """Infer the types of ``function`` and everything in it.

        Mistakes end up in its equations.
        """
        try:
            with going_on("types", self._position(function)):
                self._walk(function)
                self.relations.solve()
        except TypeTooLarge as problem:
            self.equations.report(problem.diagnostics[0], function)
        if not self.equations.problems:
            self._report_unresolved()

    def _position(self, function: Function) -> Position:
        """Return how the position is read; what there is to do is counted where somebody asks."""
        whole = 0

        def position() -> tuple[int, int]:
            nonlocal whole
            whole = whole or sum(1 for _ in reachable(function))
            return len(self.nodes), whole

        return position

    def export(self, function: Function, types: dict[Expr, Type]) -> None:
        """Add the types found to ``types``; one that is too large to be a type is a mistake of
        ``function``.
        """
        freeze = self.equations.unifier.freeze
        try:
            for expr, node in self.nodes.items():
                types[expr] = freeze(node)
        except TypeTooLarge as problem:
            self.equations.report(problem.diagnostics[0], function)

    def _report_unresolved(self) -> None:
        reported: set[TypeNode] = set()
        nodes = self.nodes
        for expr, node in nodes.items():
            root = find(node)
            if root.head is not None or root in reported:
                continue
            # What depends on an unknown type is unknown in consequence; the origin is reported.
            if any(part in nodes and find(nodes[part]).head is None for part in children(expr)):
                continue
            reported.add(root)
            self.equations.report(errors.unresolved(expr), expr)

    # The walk

    def _walk(self, root: Expr) -> None:
        stack = self.stack
        stack.append((_VISIT, root))
        budget = active()
        while stack:
            step, expr = stack.pop()
            if budget is not None:
                budget.check()
            if step == _VISIT:
                self._visit(expr)
            elif step == _FINISH:
                self.nodes[expr] = self._finish(expr)
            elif isinstance(expr, Let):
                self._bind_let(expr)
            elif isinstance(expr, Match):
                data = self.nodes[expr.data]
                for clause in expr.clauses:
                    self._bind_pattern(clause.lhs, data, expr)

    def _visit(self, expr: Expr) -> None:
        nodes = self.nodes
        if expr in nodes:
            if expr in self.closed:
                assert isinstance(expr, Var)
                self.equations.report(errors.unbound(expr, closed=True), expr)
            return
        stack = self.stack
        match expr:
            case Call(op, args):
                # Arguments come before the callee; an operator needs no visit.
                stack.append((_FINISH, expr))
                if not isinstance(op, Op):
                    stack.append((_VISIT, op))
                closed = self.closed
                for arg in reversed(args):
                    if arg not in nodes or arg in closed:
                        stack.append((_VISIT, arg))
            case Var():
                self.equations.report(errors.unbound(expr, closed=False), expr)
                nodes[expr] = TypeNode(BROKEN)
            case Let(var, value, body):
                stack += ((_FINISH, expr), (_VISIT, body), (_BIND, expr), (_VISIT, value))
                if isinstance(value, Function):
                    self._bind(var, expr)
            case Function(params, body, _, type_params):
                self.relations.solve()
                self.type_params.update(type_params)
                for param in params:
                    self._bind(param, expr)
                stack += ((_FINISH, expr), (_VISIT, body))
            case Match(data, clauses):
                stack.append((_FINISH, expr))
                stack.extend((_VISIT, clause.rhs) for clause in reversed(clauses))
                stack += ((_BIND, expr), (_VISIT, data))
            case Constant() | GlobalVar() | Op() | Constructor():
                nodes[expr] = self._finish(expr)
            case Tuple() | TupleGetItem() | If() | RefCreate() | RefRead() | RefWrite():
                stack.append((_FINISH, expr))
                stack.extend((_VISIT, part) for part in reversed(children(expr)))
            case _:
                assert_never(expr)

    def _finish(self, expr: Expr) -> TypeNode:
        """Return the type of an expression whose parts have theirs."""
        nodes = self.nodes
        match expr:
            case Call(Op(name), args):
                return self._call_operator(expr, name, [nodes[arg] for arg in args])
            case Call():
                return self._call_function(expr)
            case Constant():
                return TypeNode(expr.tensor_type)
            case Tuple(fields):
                return TypeNode(TupleTerm(tuple(nodes[one] for one in fields)))
            case TupleGetItem(value):
                result = TypeNode()
                self.relations.add(ProjectionRelation(expr, nodes[value], result))
                return result
            case Let(var, _, body):
                self.closed.add(var)
                return nodes[body]
            case If(condition, then, otherwise):
                self.equations.unify(TypeNode(_BOOL), nodes[condition], "the condition of `if`", condition, expr)
                self.equations.unify(nodes[then], nodes[otherwise], "the branches of `if`", otherwise, expr)
                return nodes[then]
            case Function():
                return self._finish_function(expr)
            case RefCreate(value):
                return TypeNode(RefTerm(nodes[value]))
            case RefRead(ref):
                content = TypeNode()
                self.equations.unify(TypeNode(RefTerm(content)), nodes[ref], "what `ref_read` reads", ref, expr)
                return content
            case RefWrite(ref, value):
                written = TypeNode(RefTerm(nodes[value]))
                self.equations.unify(nodes[ref], written, "what `ref_write` writes", value, expr)
                return to_node(_UNIT)
            case Match():
                return self._finish_match(expr)
            case GlobalVar(name):
                return self._global(expr, name)
            case Constructor():
                return self._constructor(expr)
            case Op(name):
                self.equations.report(errors.operator_as_value(name), expr)
                return TypeNode(BROKEN)
            case Var():
                return nodes[expr]
        assert_never(expr)

    # Binders

    def _declared(self, ty: Type | None, expr: Expr) -> TypeNode:
        """Return the node of a type that the program declares (unknown where it declares none)."""
        if ty is None:
            return TypeNode()
        if isinstance(ty, TensorType):
            return TypeNode(ty)
        problems = list(type_problems(self.mod, ty, self.type_params))
        for problem in problems:
            self.equations.report(problem, expr)
        return TypeNode(BROKEN) if problems else to_node(ty)

    def _bind(self, var: Var, binder: Expr) -> TypeNode:
        if var in self.nodes:
            self.equations.report(errors.rebound(var), binder)
            return self.nodes[var]
        node = self._declared(var.type_annotation, var if var in self.mod.locations else binder)
        self.nodes[var] = node
        return node

    def _bind_let(self, let: Let) -> None:
        value = self.nodes[let.value]
        if isinstance(let.value, Function):
            declared = self.nodes[let.var]
        elif let.var.type_annotation is None and let.var not in self.nodes:
            self.nodes[let.var] = value
            return
        else:
            declared = self._bind(let.var, let)
        self.equations.unify(declared, value, f"`%{let.var.name}`", let.value, let)

    def _finish_function(self, function: Function) -> TypeNode:
        nodes = self.nodes
        body = nodes[function.body]
        head = find(body).head
        if isinstance(head, FunctionTerm) and head.type_params:
            values = {param: TypeNode() for param in head.type_params}
            args = tuple(instantiate(arg, values) for arg in head.args)
            body = TypeNode(FunctionTerm(args, instantiate(head.ret, values)))
        ret = body
        if function.ret_type is not None:
            ret = self._declared(function.ret_type, function)
            self.equations.unify(ret, body, "the result of the function", function.body, function)
        self.closed.update(function.params)
        self.type_params.difference_update(function.type_params)
        return TypeNode(FunctionTerm(tuple(nodes[param] for param in function.params), ret, function.type_params))

    def _bind_pattern(self, root: Pattern, data: TypeNode, expr: Match) -> None:
        work: list[tuple[Pattern, TypeNode]] = [(root, data)]
        while work:
            pattern, node = work.pop()
            match pattern:
                case PatternVar(var):
                    self.equations.unify(self._bind(var, expr), node, f"`%{var.name}`", expr.data, expr)
                case PatternConstructor(constructor, patterns):
                    function = self._instantiated(self._constructor(constructor))
                    if function is None:
                        continue
                    self.equations.unify(node, function.ret, f"the pattern `{constructor.name}`", expr.data, expr)
                    if len(patterns) != len(function.args):
                        self.equations.report(errors.wrong_pattern(constructor, len(patterns)), expr)
                    work.extend(zip(patterns, function.args, strict=False))
                    work.extend((rest, TypeNode(BROKEN)) for rest in patterns[len(function.args) :])
                case PatternTuple(patterns):
                    fields = tuple(TypeNode() for _ in patterns)
                    self.equations.unify(node, TypeNode(TupleTerm(fields)), "the tuple pattern", expr.data, expr)
                    work.extend(zip(patterns, fields, strict=True))
                case PatternWildcard():
                    pass
                case _:
                    assert_never(pattern)

    def _finish_match(self, expr: Match) -> TypeNode:
        nodes = self.nodes
        result = TypeNode()
        for clause in expr.clauses:
            self.equations.unify(result, nodes[clause.rhs], "the clauses of `match`", clause.rhs, expr)
            stack: list[Pattern] = [clause.lhs]
            while stack:
                pattern = stack.pop()
                if isinstance(pattern, PatternVar):
                    self.closed.add(pattern.var)
                elif isinstance(pattern, (PatternConstructor, PatternTuple)):
                    stack.extend(pattern.patterns)
        # Cases are counted only where the patterns themselves make sense.
        if expr.complete and not self.equations.problems:
            cases = unmatched_cases(expr, self.mod.type_definitions)
            if cases:
                self.equations.report(errors.unmatched([pattern_text(case) for case in cases]), expr)
        return result

    # Names

    def _global(self, var: GlobalVar, name: str) -> TypeNode:
        function = self.functions.get(name)
        if function is None:
            opaque = self.opaque.get(name)
            if opaque is not None and opaque.type is not None:
                return self._declared(opaque.type, var)
            problem = errors.unknown_global(name, tuple(self.functions))
            self.equations.report(problem if opaque is None else errors.untyped_function(name, opaque.type_key), var)
            return TypeNode(BROKEN)
        unknown = IncompleteType()
        args = tuple(param.type_annotation or unknown for param in function.params)
        return to_node(FuncType(args, function.ret_type or unknown, function.type_params))

    def _constructor(self, constructor: Constructor) -> TypeNode:
        data = self.mod.type_definitions.get(constructor.belong_to)
        if data is None:
            self.equations.report(errors.unknown_type(constructor.belong_to.name), constructor)
            return TypeNode(BROKEN)
        made = TypeCall(data.header, data.type_vars)
        return to_node(FuncType(constructor.inputs, made, data.type_vars))

    # Calls

    def _instantiated(self, callee: TypeNode, type_args: Sequence[Type] = ()) -> FunctionTerm | None:
        """Return a function type with its type parameters replaced by ``type_args`` and
        unknowns.
        """
        head = find(callee).head
        if not isinstance(head, FunctionTerm):
            return None
        values = {
            param: to_node(type_args[i]) if i < len(type_args) else TypeNode()
            for i, param in enumerate(head.type_params)
        }
        args = tuple(instantiate(arg, values) for arg in head.args)
        return FunctionTerm(args, instantiate(head.ret, values))

    def _call_function(self, call: Call) -> TypeNode:
        self.relations.solve()
        nodes = self.nodes
        callee = find(nodes[call.op])
        opaque = self.opaque.get(call.op.name) if isinstance(call.op, GlobalVar) else None
        if opaque is not None:
            self.equations.report(errors.lowered_function(call.op, opaque.type_key), call)
            return TypeNode(BROKEN)
        args = tuple(nodes[arg] for arg in call.args)
        if callee.head is None:
            function = FunctionTerm(args, TypeNode())
            self.equations.unify(callee, TypeNode(function), f"{errors.words(call.op)}", call.op, call)
            return function.ret
        type_params = callee.head.type_params if isinstance(callee.head, FunctionTerm) else ()
        instance = self._instantiated(callee, call.type_args)
        if instance is None:
            if callee.head is not BROKEN:
                self.equations.report(errors.not_a_function(call.op, self.equations.unifier.resolve(callee)), call)
            return TypeNode(BROKEN)
        if len(call.type_args) > len(type_params):
            problem = errors.too_many_type_arguments(call.op, len(type_params), len(call.type_args))
            self.equations.report(problem, call)
        if len(args) != len(instance.args):
            names = self._parameter_names(call.op)
            self.equations.report(errors.wrong_count(call.op, names, str(len(instance.args)), len(args)), call)
            return instance.ret
        for i, (formal, actual) in enumerate(zip(instance.args, args, strict=True)):
            role = f"argument {i + 1} of {errors.words(call.op)}"
            self.equations.unify(formal, actual, role, call.args[i], call, formal=True)
        return instance.ret

    def _parameter_names(self, callee: Expr) -> list[str]:
        if isinstance(callee, GlobalVar):
            callee = self.functions[callee.name]
        return [f"%{param.name}" for param in callee.params] if isinstance(callee, Function) else []

    def _call_operator(self, call: Call, name: str, args: list[TypeNode]) -> TypeNode:
        op = relay_op(name)
        if op is None:
            self.equations.report(errors.unknown_operator(name), call)
            return TypeNode(BROKEN)
        least = len(op.inputs) - op.variadic
        if len(args) < least or (len(args) > least and not op.variadic):
            expected = f"at least {least}" if op.variadic else str(least)
            self.equations.report(errors.wrong_count(call.op, op.inputs, expected, len(args)), call)
            return TypeNode(BROKEN)
        if not isinstance(call.attrs, op.attrs):
            self.equations.report(errors.wrong_attributes(op, call.attrs), call)
            return TypeNode(BROKEN)
        result = TypeNode()
        self.relations.add(OperatorRelation(call, op, tuple(args), result))
        return result
