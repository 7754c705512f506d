"""Fusion: operators that one kernel computes become one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from relay2relax.core.passes import Pass, PassContext
from relay2relax.core.walk import post_order
from relay2relax.ops.registry.table import fusion_of
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem, Var, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import binders, nodes, with_children
from relay2relax.relay_ir.ir.types import TensorType, TupleType
from relay2relax.relay_ir.transform.infrastructure import declared, left_alone, map_functions
from relay2relax.relay_ir.transform.parts import is_call
from relay2relax.tir.analysis.fusion_arguments import Given
from relay2relax.tir.analysis.fusion_groups import Node, groups_of
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import static

# How many calls one function has at most.
_MOST = 256
_SCALARS = frozenset({"int32", "int64", "float32", "float64", "bool"})


@dataclass(frozen=True, slots=True)
class FuseOps(Pass[IRModule]):
    """Group operators that one kernel can compute, each group as a call of a function literal with
    the attribute ``Primitive``.

    ``fuse_opt_level`` 0 makes each operator a group of its own; -1 stands for the context's
    ``opt_level``. ``max_function_args`` is how many arguments a kernel takes at most, those for
    open extents and strides included (0: any number). The context's option
    ``relay.FuseOps.max_depth`` limits how many operators a group has (256), and
    ``relay.FuseOps.link_params`` lets constants stand inside of groups.
    ``annotation.stop_fusion`` keeps what is before it from what is behind it, and goes.
    """

    fuse_opt_level: int = -1
    max_function_args: int = 0
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its operators in groups; infers types where ``mod`` has none."""
        context = PassContext.current()
        level = context.opt_level if self.fuse_opt_level == -1 else self.fuse_opt_level
        most = context.config.get("relay.FuseOps.max_depth", _MOST) if level > 0 else 0
        link = context.config.get("relay.FuseOps.link_params", False)
        mod = declared(mod)
        types = TypeTable.inferred(mod)
        limits = most, self.max_function_args
        return map_functions(mod, lambda one: one if left_alone(one) else _Fusion(one, types, limits, link).run())


def _below(node: Expr) -> Sequence[Expr]:
    """Return the parts of ``node`` that fusion looks into."""
    done = isinstance(node, Function) and ("Primitive" in node.attrs or "Compiler" in node.attrs)
    return () if done else children(node)


@dataclass(slots=True)
class _Group:
    """A function under construction: the parameter of each value that it is given."""

    params: dict[Expr, Var] = field(default_factory=dict)


class _Fusion:
    """Fuses one function of a module."""

    def __init__(self, root: Function, types: TypeTable, limits: tuple[int, int], link_params: bool) -> None:
        self.root, self.types, self.link_params = root, types, link_params
        roots: tuple[Expr, ...] = (root,)
        self.order = [node for node in post_order(roots, _below) if not isinstance(node, Op)]
        self.index: dict[Expr, int] = {node: index for index, node in enumerate(self.order)}
        # The number of each node's group: that of its last node.
        most, arguments = limits
        self.group_of = groups_of(self._graph(), most, arguments) if most else list(range(len(self.order)))
        self.groups: dict[int, _Group] = {}
        self.done: dict[Expr, Expr] = {}

    def _graph(self) -> list[Node]:
        graph = [Node(self._pattern(node), given=self._given(node)) for node in self.order]
        graph[-1].shown = True
        for index, node in enumerate(self.order):
            used = self._used(node)
            for part in _below(node):
                if part not in used and not isinstance(part, Op):
                    graph[self.index[part]].shown = True
            if isinstance(node, (Call, Tuple, TupleGetItem)):
                for part in node.args if isinstance(node, Call) else children(node):
                    if part in used:
                        graph[self.index[part]].users.append((index, self._edge(node, part)))
        for node in self.order:
            for var in binders(node):
                if var in self.index:
                    graph[self.index[var]].shown = True
        return graph

    def _pattern(self, node: Expr) -> OpPattern:
        match node:
            case Constant(data):
                simple = data.ndim == 0 and node.tensor_type.dtype in _SCALARS
                return OpPattern.ELEMWISE if simple else OpPattern.OPAQUE
            case Call(Op(name)):
                unknown = fusion_of(name).reads_shape and self.types.is_dynamic(node)
                return OpPattern.OPAQUE if unknown else fusion_of(name).pattern
            case Tuple():
                return OpPattern.TUPLE
            case TupleGetItem(value):
                return OpPattern.INJECTIVE if self._holds_tensors(value) else OpPattern.OPAQUE
        return OpPattern.OPAQUE

    def _given(self, node: Expr) -> Given:
        """Return what the kernel of ``node`` alone would be given."""
        parts: Sequence[Expr] = ()
        match node:
            case Call(_, given) | Tuple(given):
                parts = given
            case Var():
                parts = (node,)
        own = sum(1 + self._open(one, 1) for one in parts if isinstance(one, (Var, TupleGetItem)))
        values = tuple(self.index[one] for one in parts if one in self.index and not isinstance(one, Var))
        return Given(own, values, 1 + (self._open(node, 0) if isinstance(node, Call) else 0))

    def _open(self, expr: Expr, strides: int) -> int:
        """Return how many arguments the open extents of a tensor take, and its strides then."""
        ty = self.types.tensor(expr)
        count = 0 if ty is None else sum(static(extent) is None for extent in ty.shape)
        return count + (strides * len(ty.shape) if ty is not None and count else 0)

    def _used(self, node: Expr) -> dict[Expr, None]:
        """Return the parts of ``node`` that could be in a group with it."""
        match node:
            case Call(_, args):
                return dict.fromkeys(args)
            case Tuple(fields):
                return dict.fromkeys(one for one in fields if self.types.tensor(one) is not None)
            case TupleGetItem(value) if self._holds_tensors(value):
                return {value: None}
        return {}

    def _edge(self, node: Expr, part: Expr) -> OpPattern:
        if not isinstance(node, Call):
            return OpPattern.INJECTIVE
        pattern = self._pattern(node)
        given, result = self.types.tensor(part), self.types.tensor(node)
        if pattern is OpPattern.BROADCAST and given is not None and result is not None and given.shape == result.shape:
            return OpPattern.ELEMWISE
        return pattern

    def _holds_tensors(self, expr: Expr) -> bool:
        ty = self.types.of(expr)
        return isinstance(ty, TupleType) and all(isinstance(one, TensorType) for one in ty.fields)

    def run(self) -> Function:
        """Return the function with its groups as functions of their own."""
        for node in self.order:
            made = with_children(node, [self._of(part) for part in _below(node)]) if _below(node) else node
            match node:
                case Call(Op(name)) if fusion_of(name).computes:
                    made = self.done[node.args[0]] if is_call(node, "annotation.stop_fusion") else self._member(node)
                case Tuple() if not self._is_last(node):
                    made = self._member(node)
                case TupleGetItem(value) if not self._is_last(node) or self._group(value) == self._group(node):
                    made = self._member(node)
            self.done[node] = made
        result = self.done[self.root]
        assert isinstance(result, Function)
        return result

    def _of(self, node: Expr) -> Expr:
        return node if isinstance(node, Op) else self.done[node]

    def _group(self, node: Expr) -> int:
        return self.group_of[self.index[node]]

    def _is_last(self, node: Expr) -> bool:
        return self._group(node) == self.index[node]

    def _member(self, node: Call | Tuple | TupleGetItem) -> Expr:
        """Return ``node`` as a part of its group; the group's last as the call of its function."""
        number = self._group(node)
        group = self.groups.setdefault(number, _Group())
        head = [node.op] if isinstance(node, Call) else []
        parts = children(node)[len(head) :]
        made = with_children(node, [*head, *(self._input(part, number, group) for part in parts)])
        if not self._is_last(node):
            return made
        function = Function(tuple(group.params.values()), made, self.types.of(node))
        return Call(replace(function, attrs=_attributes(made)), tuple(group.params))

    def _input(self, part: Expr, number: int, group: _Group) -> Expr:
        made = self.done[part]
        if self._group(part) == number or (self.link_params and isinstance(made, Constant)):
            return made
        if made not in group.params:
            group.params[made] = Var(f"p{len(group.params)}", self.types.of(part))
        return group.params[made]


def _attributes(body: Expr) -> dict[str, object]:
    """Return the attributes of a group's function."""
    inside = list(nodes(body))
    calls = [node for node in inside if isinstance(node, Call)]
    found: dict[str, object] = {"Primitive": int(bool(calls))}
    tensors = all(isinstance(node.type_annotation, TensorType) for node in inside if isinstance(node, Var))
    if calls and tensors and all(isinstance(call.op, Op) and fusion_of(call.op.name).reshapes for call in calls):
        found["relay.reshape_only"] = 1
    return found
