"""What type inference states and solves: equations between types, and relations that wait for types
to be known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union

from relay2relax.core.errors import Diagnostic, LimitError, Relay2RelaxError
from relay2relax.core.source import SourceRange
from relay2relax.ops.common.shapes import any_type
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.types import NamedType
from relay2relax.relay_ir.inference import errors
from relay2relax.relay_ir.inference.operators import Inferred, Signature, infer_operator
from relay2relax.relay_ir.inference.unify import (
    BROKEN,
    TupleTerm,
    TypeNode,
    Unifier,
    find,
    is_broken,
    to_node,
    unknowns,
)
from relay2relax.relay_ir.ir.expr import Call, Expr, GlobalVar, TupleGetItem, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import IncompleteType, TensorType, Type, TypeCall


@dataclass(slots=True, eq=False)
class OperatorRelation:
    """The type of an operator call follows from its arguments' types."""

    call: Call
    op: OpDef
    args: tuple[TypeNode, ...]
    result: TypeNode
    done: bool = False


@dataclass(slots=True, eq=False)
class ProjectionRelation:
    """The type of a projection is that of the tuple's field."""

    expr: TupleGetItem
    value: TypeNode
    result: TypeNode
    done: bool = False


_Relation: TypeAlias = Union[OperatorRelation, ProjectionRelation]


class Equations:
    """What must be equal in the function ``name`` of ``mod``, and the mistakes found there."""

    def __init__(self, mod: IRModule, name: str) -> None:
        self.mod = mod
        self.name = name
        self.problems: list[Diagnostic] = []
        self.unifier = Unifier()

    def report(self, problem: Diagnostic, expr: Expr | None, where: SourceRange | None = None) -> None:
        if where is None and expr is not None:
            where = self.mod.locations.get(expr)
        self.problems.append(errors.located(problem, where, expr, self.name))

    def unify(
        self, expected: TypeNode, found: TypeNode, role: str, expr: Expr, within: Expr, formal: bool = False
    ) -> None:
        """Make two types equal, or report that ``expr``, which stands in ``within``, has the wrong
        one.
        """
        conflict = self.unifier.unify(expected, found, assign_right=not formal)
        if conflict is None:
            return
        resolve = self.unifier.resolve
        # A variable's place is where it is bound; the mistake is where it is used.
        where = None if isinstance(expr, (Var, GlobalVar)) else self.mod.locations.get(expr)
        where = where or self.mod.locations.get(within)
        self.report(errors.mismatch(role, resolve(expected), resolve(found), conflict.reason), within, where)


class Relations:
    """The relations of one function: looked at as soon as the types that they depend on are known.

    ``cache`` holds what operators gave for attributes and argument types, for all functions of a
    module.
    """

    def __init__(self, equations: Equations, cache: dict[Signature, Inferred]) -> None:
        self.equations = equations
        self.cache = cache
        self.queue: deque[_Relation] = deque()

    def add(self, relation: _Relation) -> None:
        """State a relation; :meth:`solve` looks at it."""
        self.queue.append(relation)

    def solve(self) -> None:
        """Look at the queued relations, and again at those whose types became known, to the end."""
        queue, unifier = self.queue, self.equations.unifier
        while True:
            # Unification wakes relations also where none is queued.
            if unifier.woken:
                queue.extend(unifier.woken)
                unifier.woken = []
            if not queue:
                return
            relation = queue.popleft()
            if not relation.done:
                if isinstance(relation, OperatorRelation):
                    relation.done = self._relate_operator(relation)
                else:
                    relation.done = self._relate_projection(relation)
                if not relation.done:
                    waited = relation.args if isinstance(relation, OperatorRelation) else (relation.value,)
                    self._wait(relation, waited)

    def _wait(self, relation: _Relation, nodes: Sequence[TypeNode]) -> None:
        for unknown in unknowns(nodes):
            if unknown.waiting is None:
                unknown.waiting = [relation]
            else:
                unknown.waiting.append(relation)

    def _relate_projection(self, relation: ProjectionRelation) -> bool:
        expr, value, result = relation.expr, find(relation.value), relation.result
        match value.head:
            case None:
                return False
            case TupleTerm(fields) if 0 <= expr.index < len(fields):
                field = fields[expr.index]
                self.equations.unify(result, field, errors.words(expr), expr, expr)
            case head:
                if head is not BROKEN:
                    found = self.equations.unifier.resolve(value)
                    self.equations.report(errors.not_a_tuple(expr.tuple_value, expr.index, found), expr)
                self.equations.unifier.mark_broken(result)
        return True

    def _relate_operator(self, relation: OperatorRelation) -> bool:
        op, call = relation.op, relation.call
        types = [self._known(node) for node in relation.args]
        if None in types:
            if is_broken(relation.args):
                self.equations.unifier.mark_broken(relation.result)
                return True
            if op.relay_type is any_type or op.passes_through:
                self.equations.unify(relation.result, relation.args[0], errors.words(call), call, call)
                return True
            if op.operands is None or not self._deduce_operands(relation, op, types):
                return False
            types = [self._known(node) for node in relation.args]
            if None in types:
                return False
        known = tuple(ty for ty in types if ty is not None)
        key = (op, call.attrs, known)
        inferred = self.cache.get(key)
        before, declared = find(relation.result).head, None
        try:
            if inferred is None:
                inferred = self.cache[key] = infer_operator(op, call.attrs, known)
            if op.known_result is not None and isinstance(before, TensorType):
                declared = op.known_result(call.attrs, before, *known)
        except LimitError as reached:
            raise reached.located(self.equations.mod.locations.get(call), self.equations.mod.source) from None
        except Relay2RelaxError as problem:
            self.equations.report(errors.refused(op, problem, call.args, known), call)
            self.equations.unifier.mark_broken(relation.result)
            return True
        node = relation.args[0] if inferred.same_as_input else to_node(self._defined(inferred.result, call))
        self.equations.unify(relation.result, node, errors.words(call), call, call)
        if declared is not None:
            self.equations.unify(relation.result, to_node(declared), errors.words(call), call, call)
        for index, demanded in inferred.operands:
            self._unify_operand(relation, index, demanded)
        return True

    def _defined(self, ty: Type, call: Call) -> Type:
        """Return ``ty``; a type that an operator's rule gives by name becomes the one that the
        module defines.
        """
        if not isinstance(ty, NamedType):
            return ty
        for var in self.equations.mod.type_definitions:
            if var.name == ty.name:
                return TypeCall(var)
        self.equations.report(errors.unknown_type(ty.name), call)
        return IncompleteType()

    def _known(self, node: TypeNode) -> Type | None:
        """Return the type of ``node`` if all of it is known (and sound)."""
        node = find(node)
        head = node.head
        if isinstance(head, TensorType):
            return head
        if unknowns((node,)) or is_broken((node,)):
            return None
        return self.equations.unifier.resolve(node)

    def _deduce_operands(self, relation: OperatorRelation, op: OpDef, types: list[Type | None]) -> bool:
        """Let the operator say what follows for unknown arguments; returns whether anything did."""
        assert op.operands is not None
        try:
            deduced = op.operands(relation.call.attrs, tuple(types))
        except LimitError:
            raise
        except Relay2RelaxError as problem:
            shown = [self.equations.unifier.resolve(node) for node in relation.args]
            self.equations.report(errors.refused(op, problem, relation.call.args, shown), relation.call)
            for node in relation.args:
                for unknown in unknowns((node,)):
                    self.equations.unifier.mark_broken(unknown)
            return True
        news = [(i, ty) for i, ty in enumerate(deduced) if ty is not None and types[i] is None]
        for index, demanded in news:
            self._unify_operand(relation, index, demanded)
        return bool(news)

    def _unify_operand(self, relation: OperatorRelation, index: int, demanded: Type) -> None:
        call = relation.call
        role = f"argument {index + 1} of {errors.words(call.op)}"
        self.equations.unify(relation.args[index], to_node(demanded), role, call.args[index], call)
