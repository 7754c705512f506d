"""Unification of types that are still being found.

A type under inference is a :class:`TypeNode` of a union-find forest. What is known of it is its
``head``:

    head ::= None (nothing known) | TensorType | TypeVar | GlobalTypeVar
           | TupleTerm(node*) | FunctionTerm(node*, node, TypeVar*) | RefTerm(node)
           | AdtTerm(name, node*)
           | BROKEN (a mistake was reported here; agrees with everything)

Unification is symmetric and replaces: both sides become the merged type, so a declared ``(2)`` that
meets ``(?)`` turns into ``(?)`` everywhere it is used. That is Relay's rule (tensor dimensions are
gradual), not an accident.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, Union
from typing import TypeVar as TypeParameter

from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import types
from relay2relax.relay_ir.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
)
from relay2relax.tir.extent import ANY, Extent, equal, is_any, static
from relay2relax.tir.ir.expr import Var as ExtentVar

Item = TypeParameter("Item")
Result = TypeParameter("Result")


@dataclass(frozen=True, slots=True, eq=False)
class Broken:
    """The head of a type about which a mistake was reported already."""


BROKEN = Broken()


@dataclass(frozen=True, slots=True, eq=False)
class TupleTerm:
    """A tuple of types under inference."""

    fields: tuple[TypeNode, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FunctionTerm:
    """A function type; ``type_params`` are bound in the others."""

    args: tuple[TypeNode, ...]
    ret: TypeNode
    type_params: tuple[TypeVar, ...] = ()
    constraints: tuple[TypeRelation, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RefTerm:
    """A mutable cell."""

    value: TypeNode


@dataclass(frozen=True, slots=True, eq=False)
class AdtTerm:
    """An ADT applied to its parameters."""

    func: Type
    args: tuple[TypeNode, ...]


Head: TypeAlias = Union[
    TensorType, TypeVar, GlobalTypeVar, TupleTerm, FunctionTerm, RefTerm, AdtTerm, Broken, Type, None
]


class TypeNode:
    """One type under inference; ``waiting`` are the relations to look at again once it is known.

    ``written`` is the type as it was written where it met an equal one whose extents have another
    width (``2i64`` and ``2``); function types keep it.
    """

    __slots__ = ("head", "parent", "waiting", "written")

    def __init__(self, head: Head = None) -> None:
        self.head: Head = head
        self.parent: TypeNode | None = None
        self.waiting: list[Any] | None = None
        self.written: TensorType | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why two types do not unify: the parts that differ, and what differs in them."""

    left: TypeNode
    right: TypeNode
    reason: str


def find(node: TypeNode) -> TypeNode:
    """Return the representative of ``node``; paths are halved on the way."""
    while (parent := node.parent) is not None:
        above = parent.parent
        if above is None:
            return parent
        node.parent = above
        node = above
    return node


def parts(node: TypeNode) -> tuple[TypeNode, ...]:
    """Return the types that the head of ``node`` is made of."""
    match find(node).head:
        case TupleTerm(fields):
            return fields
        case FunctionTerm(args, ret):
            return (*args, ret)
        case RefTerm(value):
            return (value,)
        case AdtTerm(_, args):
            return args
    return ()


# Types are values without shared parts when they are compared, hashed and written.
MAX_DEPTH = 100
MAX_SIZE = 100_000


class TypeTooLarge(Relay2RelaxError):
    """A type is nested too deeply, or is made of too many types."""

    kind = types.TOO_LARGE


def check_measure(depth: int, size: int) -> None:
    """Raise TypeTooLarge for a type of that many levels or parts, if they are too many."""
    if depth > MAX_DEPTH:
        raise TypeTooLarge(mistake(types.TOO_LARGE, most=MAX_DEPTH, parts="levels"))
    if size > MAX_SIZE:
        raise TypeTooLarge(mistake(types.TOO_LARGE, most=MAX_SIZE, parts="types in it"))


def fold(root: Item, below: Callable[[Item], Sequence[Item]], build: Callable[[Item, list[Result]], Result]) -> Result:
    """Return ``build(root, results of its parts)``, computed bottom-up.

    Every occurrence of a part counts.

    Raises TypeTooLarge where there are more than can be of use.
    """
    stack: list[tuple[Item, Iterator[Item], list[Result]]] = [(root, iter(below(root)), [])]
    size = 0
    while True:
        item, rest, done = stack[-1]
        for part in rest:
            stack.append((part, iter(below(part)), []))
            break
        else:
            size += 1
            check_measure(len(stack), size)
            stack.pop()
            result = build(item, done)
            if not stack:
                return result
            stack[-1][2].append(result)


def type_parts(ty: Type) -> tuple[Type, ...]:
    """Return the types that ``ty`` is made of."""
    match ty:
        case TupleType(fields):
            return fields
        case FuncType(arg_types, ret_type):
            return (*arg_types, ret_type)
        case RefType(value):
            return (value,)
        case TypeCall(_, args):
            return args
    return ()


def term(ty: Type, below: list[TypeNode]) -> TypeNode:
    """Return a fresh node for ``ty``, whose parts have the nodes ``below``."""
    match ty:
        case IncompleteType():
            return TypeNode()
        case TupleType():
            return TypeNode(TupleTerm(tuple(below)))
        case FuncType(_, _, type_params, constraints):
            return TypeNode(FunctionTerm(tuple(below[:-1]), below[-1], type_params, constraints))
        case RefType():
            return TypeNode(RefTerm(below[0]))
        case TypeCall(func):
            return TypeNode(AdtTerm(func, tuple(below)))
    return TypeNode(ty)


def to_node(ty: Type) -> TypeNode:
    """Return a fresh node for ``ty``; every ``IncompleteType`` in it becomes an unknown."""
    return TypeNode(ty) if isinstance(ty, TensorType) else fold(ty, type_parts, term)


def instantiate(root: TypeNode, values: Mapping[TypeVar, TypeNode]) -> TypeNode:
    """Return ``root`` with type variables replaced.

    Parts in which none occurs stay the same nodes.
    """
    if not values:
        return root

    def build(node: TypeNode, below: list[TypeNode]) -> TypeNode:
        node = find(node)
        head = node.head
        if isinstance(head, TypeVar):
            return values.get(head, node)
        if all(new is find(old) for new, old in zip(below, parts(node), strict=True)):
            return node
        return TypeNode(_with_parts(head, below))

    return fold(root, parts, build)


def _with_parts(head: Head, below: list[TypeNode]) -> Head:
    match head:
        case TupleTerm():
            return TupleTerm(tuple(below))
        case FunctionTerm(_, _, type_params, constraints):
            return FunctionTerm(tuple(below[:-1]), below[-1], type_params, constraints)
        case RefTerm():
            return RefTerm(below[0])
        case AdtTerm(func):
            return AdtTerm(func, tuple(below))
    return head


def unknowns(roots: Sequence[TypeNode]) -> list[TypeNode]:
    """Return the unknown types that occur in ``roots``, each once."""
    found: dict[TypeNode, None] = {}
    stack = list(roots)
    while stack:
        node = find(stack.pop())
        if node.head is None:
            found[node] = None
        else:
            stack.extend(parts(node))
    return list(found)


def is_broken(roots: Sequence[TypeNode]) -> bool:
    """Whether a mistake was reported about a part of ``roots``."""
    stack = list(roots)
    while stack:
        node = find(stack.pop())
        if node.head is BROKEN:
            return True
        stack.extend(parts(node))
    return False


class Unifier:
    """Merges types; collects in ``woken`` the relations whose types became known."""

    def __init__(self) -> None:
        self.woken: list[Any] = []
        # Symbolic extents that met a static one stand for it from then on.
        self._extents: dict[ExtentVar, Extent] = {}
        self._resolved: dict[TypeNode, Type] = {}
        self._measures: dict[TypeNode, tuple[int, int]] = {}

    def unify(self, left: TypeNode, right: TypeNode, assign_right: bool = True) -> Conflict | None:
        """Make two types equal; returns what stands against it, if anything does.

        With ``assign_right=False`` a known right side keeps its type and only the left one is
        replaced, as for a formal parameter (left) and an argument (right); parts of composite types
        are merged on both sides.
        """
        # A third entry of True says that the parts of a pair are merged and the pair itself is
        # next.
        work = [(left, right, False)]
        whole = True
        while work:
            a, b, parts_merged = work.pop()
            a, b = find(a), find(b)
            if a is b:
                continue
            if parts_merged:
                # The less polymorphic of two function types is what they have in common.
                swap = _polymorphism(a.head) < _polymorphism(b.head)
                self._link(*((b, a) if swap else (a, b)))
            elif a.head is None or b.head is None:
                unknown, other = (a, b) if a.head is None else (b, a)
                if self._occurs(unknown, other):
                    return Conflict(unknown, other, "a type would have to contain itself")
                self._link(unknown, other)
            elif isinstance(a.head, TensorType) and isinstance(b.head, TensorType):
                merged = b.head if a.head == b.head else self._merge_tensors(a.head, b.head)
                if isinstance(merged, str):
                    return Conflict(a, b, merged)
                if merged is b.head and merged is not a.head and a.written is None:
                    a.written = a.head
                if assign_right or not whole:
                    b.head = merged
                    self._link(a, b)
                else:
                    a.head = merged
            elif a.head is not BROKEN and b.head is not BROKEN:
                pairs = self._pairs(a.head, b.head)
                if isinstance(pairs, str):
                    return Conflict(a, b, pairs)
                if assign_right or not whole:
                    work.append((a, b, True))
                work.extend((p, q, False) for p, q in reversed(pairs))
            whole = False
        return None

    def _pairs(self, head: Head, other: Head) -> list[tuple[TypeNode, TypeNode]] | str:
        """Return the parts of two known types that have to be equal in turn, or what differs."""
        match head, other:
            case TupleTerm(fields), TupleTerm(others):
                if len(fields) != len(others):
                    return f"a tuple of {len(fields)} fields meets one of {len(others)}"
                return list(zip(fields, others, strict=True))
            case FunctionTerm() as f, FunctionTerm() as g:
                return _function_pairs(f, g)
            case RefTerm(value), RefTerm(other_value):
                return [(value, other_value)]
            case AdtTerm(func, args), AdtTerm(other_func, other_args):
                if func is not other_func:
                    return "different data types"
                if len(args) != len(other_args):
                    return f"{len(args)} type arguments meet {len(other_args)}"
                return list(zip(args, other_args, strict=True))
        return [] if head is other else "different kinds of type"

    def _merge_tensors(self, s: TensorType, t: TensorType) -> TensorType | str:
        if s.dtype != t.dtype:
            return f"dtypes {s.dtype} and {t.dtype} differ"
        if s.rank != t.rank:
            return f"ranks {s.rank} and {t.rank} differ"
        shape: list[Extent] = []
        for axis, (m, n) in enumerate(zip(s.shape, t.shape, strict=True)):
            merged = self._merge_extents(m, n)
            if merged is None:
                return f"extents {m!r} and {n!r} meet in dimension {axis}"
            shape.append(merged)
        if all(static(n) is not None for n in (*s.shape, *t.shape)):
            return t
        return TensorType(tuple(shape), s.dtype)

    def _merge_extents(self, m: Extent, n: Extent) -> Extent | None:
        if is_any(m) or is_any(n):
            return ANY
        m = self._extents.get(m, m) if isinstance(m, ExtentVar) else m
        n = self._extents.get(n, n) if isinstance(n, ExtentVar) else n
        if m == n or equal(m, n):
            return n
        for var, value in ((m, n), (n, m)):
            if isinstance(var, ExtentVar) and static(value) is not None:
                self._extents[var] = value
                return value
        return None

    def _occurs(self, unknown: TypeNode, root: TypeNode) -> bool:
        stack = list(parts(root))
        while stack:
            node = find(stack.pop())
            if node is unknown:
                return True
            stack.extend(parts(node))
        return False

    def _link(self, node: TypeNode, other: TypeNode) -> None:
        node.parent = other
        node.head = None
        if node.waiting is not None:
            if other.head is not None:
                self.woken.extend(node.waiting)
            elif other.waiting is None:
                other.waiting = node.waiting
            else:
                other.waiting.extend(node.waiting)
            node.waiting = None

    def mark_broken(self, node: TypeNode) -> None:
        """Let ``node`` agree with everything from now on: its mistake is reported."""
        node = find(node)
        node.head = BROKEN
        if node.waiting is not None:
            self.woken.extend(node.waiting)
            node.waiting = None

    def resolve(self, root: TypeNode) -> Type:
        """Return the type found so far; what is unknown becomes an ``IncompleteType``."""
        head = find(root).head
        return head if isinstance(head, TensorType) else fold(root, parts, resolved_type)

    def freeze(self, root: TypeNode) -> Type:
        """Return the type of ``root`` once nothing changes any more: each node is resolved once."""
        root = find(root)
        if isinstance(root.head, TensorType):
            return root.head
        resolved = self._resolved
        if root in resolved:
            return resolved[root]
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [part for part in map(find, parts(node)) if part not in resolved]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            measures = [self._measures.get(find(part), (1, 1)) for part in parts(node)]
            if measures:
                deep, size = 1 + max(depth for depth, _ in measures), 1 + sum(size for _, size in measures)
                check_measure(deep, size)
                self._measures[node] = (deep, size)
            below = [resolved[find(part)] for part in parts(node)]
            if isinstance(node.head, FunctionTerm):
                below = [part.written or found for part, found in zip(parts(node), below, strict=True)]
            resolved[node] = resolved_type(node, below)
        return resolved[root]


def _polymorphism(head: Head) -> int:
    return len(head.type_params) if isinstance(head, FunctionTerm) else 0


def _function_pairs(f: FunctionTerm, g: FunctionTerm) -> list[tuple[TypeNode, TypeNode]] | str:
    if len(f.args) != len(g.args):
        return f"a function of {len(f.args)} parameters meets one of {len(g.args)}"
    if f.constraints != g.constraints:
        return "functions with different constraints"
    general, special = (f, g) if len(f.type_params) >= len(g.type_params) else (g, f)
    # Type parameters are matched by position; what the more general side has beyond them is to be
    # found.
    values = {
        var: TypeNode(special.type_params[i]) if i < len(special.type_params) else TypeNode()
        for i, var in enumerate(general.type_params)
    }
    mine = [instantiate(part, values) for part in (general.ret, *general.args)]
    return list(zip(mine, (special.ret, *special.args), strict=True))


def resolved_type(node: TypeNode, below: list[Type]) -> Type:
    """Return the type of a node whose parts are the types ``below``."""
    match find(node).head:
        case TupleTerm():
            return TupleType(tuple(below))
        case FunctionTerm(_, _, type_params, constraints):
            return FuncType(tuple(below[:-1]), below[-1], type_params, constraints)
        case RefTerm():
            return RefType(below[0])
        case AdtTerm(func):
            return TypeCall(func, tuple(below))
        case None | Broken():
            return IncompleteType()
        case head:
            return head
