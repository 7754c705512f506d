"""Relay as the matcher sees it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

from relay2relax.core.matching.matcher import Matcher
from relay2relax.core.matching.patterns import DFPattern
from relay2relax.core.matching.view import ABSENT, Found, matched
from relay2relax.core.walk import post_order
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.table import fusion_of
from relay2relax.relay_ir.inference.errors import TypeInferenceError
from relay2relax.relay_ir.inference.infer import infer_type
from relay2relax.relay_ir.ir.equality import structural_equal
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    OpaqueAttrs,
    RelayExpr,
    Tuple,
    TupleGetItem,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars, nodes, pattern_vars
from relay2relax.relay_ir.ir.types import TensorType, Type


class RelayView:
    """An expression and all that it is made of.

    ``mod`` holds what the expression refers to, and the types that are known; what is not known is
    inferred when a pattern asks for it.
    """

    any_pattern_commutes = False

    def __init__(self, expr: Expr, mod: IRModule | None = None) -> None:
        self.expr = expr
        self.mod = mod or IRModule()
        self._types: dict[Expr, Type] = dict(self.mod.types)

    # --- the graph --------------------------------------------------------------------------------

    @cached_property
    def _recursive(self) -> frozenset[Var]:
        """The variables whose value refers to them: those uses are no data flow."""
        lets = [node for node in nodes(self.expr) if isinstance(node, Let) and isinstance(node.value, Function)]
        return frozenset(let.var for let in lets if let.var in free_vars(let.value))

    def value(self, node: Hashable) -> Hashable:
        """Return ``node``: lets are nodes of the graph."""
        return node

    def inputs(self, node: Hashable) -> Sequence[Expr]:
        """Return what ``node`` is computed from; a variable that a let binds, from its value."""
        return self._sources[cast(Expr, node)]

    @cached_property
    def _sources(self) -> dict[Expr, list[Expr]]:
        found: dict[Expr, list[Expr]] = {node: [] for node in self._walked}
        for node, user in self.flows():
            found[user].append(node)
        return found

    def order(self) -> Sequence[Expr]:
        """Return all nodes, variables that are bound among them, in the order of TVM's walk."""
        return self._walked

    @cached_property
    def _walked(self) -> list[Expr]:
        return list(post_order((self.expr,), self._walk))

    def _walk(self, node: Expr) -> Sequence[Expr]:
        match node:
            case Let(var, value, body):
                return (value, var, body)
            case Function(params, body):
                return (*params, body)
            case Match(data, clauses):
                return (data, *(one for clause in clauses for one in (*pattern_vars(clause.lhs), clause.rhs)))
        if not self._recursive:
            return children(node)
        return [child for child in children(node) if child not in self._recursive]

    def flows(self) -> Iterator[tuple[Expr, Expr]]:
        """Yield every pair of a node and a node that uses it."""
        index = {node: place for place, node in enumerate(self._walked)}
        for node in self._walked:
            match node:
                case Let(var, value, body):
                    yield value, var
                    yield body, node
                case Match(data, clauses):
                    for clause in clauses:
                        yield from ((data, var) for var in pattern_vars(clause.lhs))
                        yield clause.rhs, node
                case _:
                    # A recursive call depends on what is bound behind it only.
                    yield from ((child, node) for child in children(node) if index[child] < index[node])

    # --- what nodes are ---------------------------------------------------------------------------

    def operator(self, node: Hashable) -> str | None:
        """Return the name of an operator."""
        return node.name if isinstance(node, Op) else None

    def call(self, node: Hashable) -> tuple[Expr, Sequence[Expr]] | None:
        """Return what a call calls, and its arguments."""
        return (node.op, node.args) if isinstance(node, Call) else None

    def fields(self, node: Hashable) -> Sequence[Expr] | None:
        """Return the fields of a tuple."""
        return node.fields if isinstance(node, Tuple) else None

    def projection(self, node: Hashable) -> tuple[Expr, int] | None:
        """Return the tuple and the index."""
        return (node.tuple_value, node.index) if isinstance(node, TupleGetItem) else None

    def function(self, node: Hashable) -> tuple[Sequence[Expr], Expr] | None:
        """Return the parameters and the body."""
        return (node.params, node.body) if isinstance(node, Function) else None

    def branches(self, node: Hashable) -> tuple[Expr, Expr, Expr] | None:
        """Return the condition and both branches."""
        return (node.condition, node.true_branch, node.false_branch) if isinstance(node, If) else None

    def binding(self, node: Hashable) -> tuple[Expr, Expr, Expr] | None:
        """Return the variable, the value and the body."""
        return (node.var, node.value, node.body) if isinstance(node, Let) else None

    def variable(self, node: Hashable) -> str | None:
        """Return the name of a local variable."""
        return node.name if isinstance(node, Var) else None

    def is_dataflow(self, node: Hashable) -> bool:
        """Whether ``node`` is seen in its block only: Relay has no blocks."""
        return False

    def global_name(self, node: Hashable) -> str | None:
        """Return the name of a function of the module."""
        return node.name if isinstance(node, GlobalVar) else None

    def external_name(self, node: Hashable) -> str | None:
        """Return None: Relay has no functions outside of the module."""
        return None

    def shape_value(self, node: Hashable) -> tuple[object, ...] | None:
        """Return None: Relay's shapes are tensors."""
        return None

    def is_constant(self, node: Hashable) -> bool:
        """Whether ``node`` is a constant."""
        return isinstance(node, Constant)

    def attribute(self, node: Hashable, name: str) -> object:
        """Return an attribute; of operators, ``TOpPattern`` alone is known."""
        match node:
            case Op(operator):
                return int(fusion_of(operator).pattern) if name == "TOpPattern" else ABSENT
            case Call(attrs=OpaqueAttrs(fields=given)):
                return dict(given).get(name, ABSENT)
            case Call(attrs=attrs):
                known = any(field.name == name for field in attr_fields(type(attrs)))
                return getattr(attrs, name) if known else ABSENT
            case Function(attrs=attrs):
                return attrs.get(name, ABSENT)
        return ABSENT

    def alike(self, one: object, other: object) -> bool:
        """Whether both are built alike; variables that nothing binds are equal to themselves
        only.
        """
        return structural_equal(one, other)

    # --- types ------------------------------------------------------------------------------------

    def admits(self, wanted: object, node: Hashable, known: Mapping[Any, Any]) -> Mapping[Any, Any] | None:
        """Return ``known`` where ``node`` is of the type ``wanted``; raises TypeInferenceError."""
        return known if self.alike(wanted, self.type_of(node)) else None

    def type_of(self, node: Hashable) -> Type:
        """Return the type of an expression; raises TypeInferenceError where it has none."""
        expr = cast(Expr, node)
        if expr not in self._types:
            try:
                self._infer(self.expr)
            except TypeInferenceError:
                self._infer(expr)
        if expr not in self._types:
            self._infer(expr)
        return self._types[expr]

    def _infer(self, expr: Expr) -> None:
        function = expr if isinstance(expr, Function) else Function(free_vars(expr), expr)
        functions = {**self.mod.functions, GlobalVar("matched"): function}
        self._types.update(infer_type(replace(self.mod, functions=functions, types={})).types)

    def shape_and_dtype(self, node: Hashable) -> tuple[object, str] | None:
        """Return those of a tensor."""
        found = self.type_of(node)
        return (found.shape, found.dtype) if isinstance(found, TensorType) else None


@matched.register(RelayExpr)
def _(expr: RelayExpr, pattern: DFPattern, values: Mapping[Any, Any] | None = None) -> Found | None:
    return Matcher(RelayView(cast(Expr, expr))).match(pattern, cast(Expr, expr))
