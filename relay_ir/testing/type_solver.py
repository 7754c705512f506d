"""Types that are solved by hand: what inference does with them, without a program."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.inference.unify import TypeNode, Unifier, find, fold, parts, resolved_type, term, type_parts
from relay2relax.relay_ir.ir.types import IncompleteType, Type


class TypeSolver:
    """Unifies types, and relates them as operators do.

        solver = TypeSolver()
        unknown = IncompleteType()
        solver.relate("add", [TensorType((10, 20)), TensorType((10, 1))], unknown)
        assert solver.solve()
        solver.resolve(unknown)                 # TensorType((10, 20))

    An ``IncompleteType`` is one unknown wherever it stands.
    """

    def __init__(self) -> None:
        self._unifier = Unifier()
        self._unknowns: dict[IncompleteType, TypeNode] = {}
        self._relations: list[tuple[str | None, Sequence[Type], Type]] = []

    def unify(self, left: Type, right: Type) -> Type:
        """Return what two types have in common.

        Raises Relay2RelaxError where they differ, or a type would have to contain itself.
        """
        node = self._node(left)
        found = self._unifier.unify(node, self._node(right))
        if found is not None:
            raise Relay2RelaxError(f"the types do not unify: {found.reason}")
        return self._resolve(node)

    def relate(self, operator: str | None, arguments: Sequence[Type], result: Type) -> None:
        """Let ``result`` be what ``operator`` gives of ``arguments``; None: the argument itself."""
        self._relations.append((operator, arguments, result))

    def solve(self) -> bool:
        """Whether all relations could be settled.

        Raises Relay2RelaxError where one does not hold.
        """
        waiting = self._relations
        while waiting:
            left = [one for one in waiting if not self._settle(*one)]
            if len(left) == len(waiting):
                break
            waiting = left
        self._relations = waiting
        return not waiting

    def resolve(self, ty: Type) -> Type:
        """Return what is known of a type."""
        return self._resolve(self._node(ty))

    def _resolve(self, root: TypeNode) -> Type:
        names = {find(node): one for one, node in reversed(self._unknowns.items()) if find(node).head is None}

        def build(node: TypeNode, below: list[Type]) -> Type:
            return names.get(find(node)) or resolved_type(node, below)

        return fold(root, parts, build)

    def _settle(self, operator: str | None, arguments: Sequence[Type], result: Type) -> bool:
        if operator is None:
            self.unify(arguments[0], result)
            return True
        known = [self.resolve(one) for one in arguments]
        record = relay_op(operator)
        if record is None or any(_open(one) for one in known):
            return False
        self.unify(record.infer(record.attrs(), *known), result)
        return True

    def _node(self, ty: Type) -> TypeNode:
        def build(one: Type, below: list[TypeNode]) -> TypeNode:
            if isinstance(one, IncompleteType):
                return self._unknowns.setdefault(one, TypeNode())
            return term(one, below)

        return fold(ty, type_parts, build)


def _open(ty: Type) -> bool:
    """Whether a part of a type is not known."""
    return fold(ty, type_parts, lambda one, below: isinstance(one, IncompleteType) or any(below))
