"""Annotations for external compilers, by what each of them says that it can compile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias, Union

from relay2relax.core.errors.extensions import ask, returned
from relay2relax.core.passes import Pass, note_rewritten
from relay2relax.core.walk import post_order
from relay2relax.ops.target.annotation import OWN_COMPILER
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import (
    Call,
    Expr,
    Function,
    If,
    Let,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import with_children
from relay2relax.relay_ir.ir.types import Type
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions
from relay2relax.relay_ir.transform.partition.annotations import BEGIN, END, annotated, annotation, compiler, operand

# (a call of an operator, the types of the program) -> whether the target compiles it
Predicate: TypeAlias = Callable[[Call, Mapping[Expr, Type]], bool]
Operators: TypeAlias = Union[Sequence[str], Mapping[str, Predicate]]


@dataclass(frozen=True, slots=True)
class AnnotateTarget(Pass[IRModule]):
    """Put ``compiler_begin`` and ``compiler_end`` around what an external compiler supports.

    ``targets`` has the operators of each compiler: their names, or a predicate for each name. Of
    compilers that support a call the first gets it; ``default`` is TVM itself. A call of a
    composite function goes to the compiler that its name begins with, up to the first dot. A tuple
    or reference goes where its parts go; without ``include_non_call_ops`` it stays between
    regions. What another run annotated stays, but for ``default``:

        mod = transform.AnnotateTarget({"dnnl": ["nn.conv2d", "nn.relu"]})(mod)

    TVM 0.18 src/relay/transforms/annotate_target.cc, where predicates are registered for operators,
    and ask ``checked_type`` of nodes for what is in their second argument here. Arguments keep
    their order where some were annotated before; TVM puts those first.
    """

    targets: Mapping[str, Operators]
    include_non_call_ops: bool = True
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` annotated; infers types where ``mod`` has none."""
        types = typed_module(mod).types
        for target, operators in self.targets.items():
            if not isinstance(operators, Collection):
                raise returned(f"the table of targets, for {target},", "names of operators", operators)

        def change(function: Function) -> Function:
            walk = _Walk(self.targets, self.include_non_call_ops, types)
            return function if left_alone(function) else walk.annotated(function)

        return map_functions(mod, change)


@dataclass(slots=True)
class _Walk:
    """One function: ``target_of`` has the target of each new node that is in a region."""

    targets: Mapping[str, Operators]
    all_nodes: bool
    types: Mapping[Expr, Type]
    target_of: dict[Expr, str] = field(default_factory=dict)

    def annotated(self, root: Function) -> Function:
        done: dict[Expr, Expr] = {}
        roots: tuple[Expr, ...] = (root,)
        for node in post_order(roots, lambda one: () if _composite(one) else children(one)):
            made = node if _composite(node) else with_children(node, [done[child] for child in children(node)])
            done[node] = self.visit(node, made)
        note_rewritten(done)
        result = done[root]
        assert isinstance(result, Function)
        return result

    def visit(self, node: Expr, made: Expr) -> Expr:
        """Return what ``node`` becomes; ``made`` is the same over its new parts."""
        match made:
            case Call():
                assert isinstance(node, Call)
                return self.call(node, made)
            case Function() if not _composite(made):
                return with_children(made, [self.ended(made.body)])
            case If():
                return with_children(made, [self.ended(one) for one in children(made)])
            case Let(_, value, body):
                bound = value if isinstance(value, Function) else self.begun((value,), "")[1][0]
                return with_children(made, [bound, self.ended(body)])
            case Tuple() | TupleGetItem() | RefCreate() | RefRead() | RefWrite():
                return self.value(made)
        return made

    def value(self, made: Expr) -> Expr:
        """Return a tuple, a field, or what concerns a reference: it has no target of its own."""
        parts = children(made)
        if not self.all_nodes:
            return with_children(made, [self.ended(one) for one in parts])
        if not parts:
            return made
        target, begun = self.begun(parts, "")
        made = with_children(made, begun)
        self.target_of[made] = target
        return made

    def call(self, node: Call, made: Call) -> Expr:
        name = annotation(made)
        if name:
            if name == END:
                self.target_of.setdefault(operand(made), compiler(made))
            return made
        first = node.args[0] if node.args else None
        if first is not None and annotation(first) == BEGIN and compiler(first) != OWN_COMPILER:
            return made
        target = self.supporting(node)
        if isinstance(node.op, Var) and not self.all_nodes:
            return with_children(made, [made.op, *(self.ended(arg) for arg in made.args)])
        _, begun = self.begun(made.args, target)
        result = with_children(made, [made.op, *begun])
        self.target_of[result] = target
        return result

    def supporting(self, node: Call) -> str:
        """Return the first target that compiles ``node``."""
        match node.op:
            case Op(name):
                return next((one for one in self.targets if self.supports(one, name, node)), OWN_COMPILER)
            case Function() as function if _composite(function):
                target, dot, _ = str(function.attrs["Composite"]).partition(".")
                return target if dot and target in self.targets else OWN_COMPILER
        return OWN_COMPILER

    def supports(self, target: str, name: str, node: Call) -> bool:
        operators = self.targets[target]
        if isinstance(operators, Mapping):
            what = f"what {target} says of {name}"
            return name in operators and bool(ask(operators[name], node, self.types, what=what))
        return name in operators

    def begun(self, parts: Sequence[Expr], target: str) -> tuple[str, list[Expr]]:
        """Return a target, and ``parts`` annotated to go into a region for it.

        It is ``target``, or where that is empty the one that all the parts have.
        """
        found = [self.source(part) for part in parts]
        common = {one for one, _ in found}
        target = target or (next(iter(common)) if len(common) == 1 else OWN_COMPILER)
        kept = [annotation(part) == BEGIN and compiler(part) != OWN_COMPILER for part in parts]
        pairs = zip(parts, kept, found, strict=True)
        return target, [part if keep else annotated(BEGIN, end, target) for part, keep, (_, end) in pairs]

    def source(self, part: Expr) -> tuple[str, Expr]:
        """Return the target that makes ``part``, and it with the end of its region."""
        if annotation(part) == BEGIN:
            end = operand(part)
            return compiler(end) if annotation(end) == END else OWN_COMPILER, end
        target = self.target_of.get(part)
        if target is None:
            return OWN_COMPILER, part
        return target, annotated(END, part, target) if _has_parts(part) else part

    def ended(self, part: Expr) -> Expr:
        """Return ``part`` with the end of its region, where it is in one."""
        if annotation(part) == END and compiler(part) == OWN_COMPILER:
            part = operand(part)
        target = self.target_of.get(part)
        if target is None or annotation(part) == END or not _has_parts(part):
            return part
        made = annotated(END, part, target)
        self.target_of[made] = target
        return made


def _composite(node: Expr) -> bool:
    return isinstance(node, Function) and "Composite" in node.attrs


def _has_parts(node: Expr) -> bool:
    """Whether a region could begin before ``node``: what has no arguments is in none."""
    match node:
        case Call(args=parts) | Tuple(parts):
            return bool(parts)
    return isinstance(node, (TupleGetItem, RefCreate, RefRead, RefWrite))
