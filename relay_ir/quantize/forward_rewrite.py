"""Rewriting with the data flow: a rule may hand its users something that is not an expression yet.

Source of the semantics: TVM 0.18 src/relay/transforms/forward_rewrite.cc.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Optional, TypeAlias, Union, cast

from relay2relax.core.passes import note_rewritten
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Op, RelayExpr, Tuple, TupleGetItem, children
from relay2relax.relay_ir.ir.rewrite import nodes, with_children


class Temporary(RelayExpr):
    """What stands for an expression while a function is rewritten."""

    __slots__ = ()

    @abstractmethod
    def realize(self) -> Expr:
        """Return the expression, for users that no rule looks at."""


Value: TypeAlias = Union[Expr, Temporary]
# (call as it was, its rewritten arguments, what the pass knows) -> what becomes of it; None where
# it stays. A tuple among the arguments may hold temporaries.
Rule: TypeAlias = Callable[[Call, Sequence[Any], Any], Optional[Value]]
# The rule of an operator, None where it has none.
Rules: TypeAlias = Callable[[str], Optional[Rule]]


def forward_rewrite(
    root: Function, rules: Rules, known: object = None, several: Callable[[Temporary], Value] | None = None
) -> Function:
    """Return ``root`` with each operator's call replaced by what its rule makes of it.

    Arguments come before calls. Where a value has ``several`` users, each is given what that makes
    of a temporary. What is left of temporaries in the end is realised.
    """
    found = _Rewriter(root, rules, known, several).run()
    assert isinstance(found, Function)
    return found


def forward_op(ref_call: Call, args: Sequence[Value]) -> Call:
    """Return the call of other arguments, which are expressions by now."""
    return replace(ref_call, args=cast("tuple[Expr, ...]", tuple(args)))


class _Rewriter:
    def __init__(
        self, root: Function, rules: Rules, known: object, several: Callable[[Temporary], Value] | None
    ) -> None:
        self.order = list(nodes(root))
        self.rules, self.known, self.several = rules, known, several
        self.users = Counter(child for node in self.order for child in children(node)) if several else Counter()
        self.done: dict[Expr, Value] = {}
        # Temporaries, and tuples that hold some, as expressions.
        self.realised: dict[Value, Expr] = {}

    def run(self) -> Expr:
        """Return the rewritten function."""
        for node in self.order:
            self.done[node] = self._visit(node)
        note_rewritten({node: self._plain(value) for node, value in self.done.items()})
        return self._plain(self.done[self.order[-1]])

    def _visit(self, node: Expr) -> Value:
        match node:
            case Call(Op(name), args):
                return self._call(node, args, self.rules(name))
            case Tuple(fields):
                return self._tuple(node, [self._given(one) for one in fields])
            case TupleGetItem(whole, index):
                made = self._given(whole)
                if isinstance(made, Tuple):
                    return made.fields[index]
                return with_children(node, (self._plain(made),))
        return with_children(node, [self._plain(self.done[child]) for child in children(node)])

    def _call(self, call: Call, args: Sequence[Expr], rule: Rule | None) -> Value:
        given = [self._given(arg) for arg in args]
        if rule is not None:
            found = rule(call, given, self.known)
            if found is not None:
                return found
        return with_children(call, (call.op, *map(self._plain, given)))

    def _tuple(self, node: Tuple, fields: Sequence[Value]) -> Tuple:
        plain = with_children(node, [self._plain(one) for one in fields])
        assert isinstance(plain, Tuple)
        if all(one is other for one, other in zip(plain.fields, fields, strict=True)):
            return plain
        made = replace(node, fields=cast("tuple[Expr, ...]", tuple(fields)))
        self.realised[made] = plain
        return made

    def _given(self, part: Expr) -> Value:
        """Return what a user of ``part`` is given."""
        made = self.done[part]
        if self.several is not None and isinstance(made, Temporary) and self.users[part] > 1:
            return self.several(made)
        return made

    def _plain(self, value: Value) -> Expr:
        if isinstance(value, Temporary):
            if value not in self.realised:
                self.realised[value] = value.realize()
            return self.realised[value]
        return self.realised.get(value, value)
