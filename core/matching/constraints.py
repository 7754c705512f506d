"""What patterns ask of each other beside their own form: who uses whom, and equal shapes.

    with PatternContext() as context:
        relu, add = is_op("nn.relu")(wildcard()), is_op("add")(wildcard(), wildcard())
        relu >> add                     # the only use of relu is add
    context.match_dfb(block)            # a variable for each of the patterns, or None

A constraint is noted in the innermost context that is entered, and nowhere outside of any. Names
and meaning are those of ``tvm.relax.dpl``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import patterns as kinds
from relay2relax.core.matching.view import PatternError, matched_block

_entered: ContextVar[tuple[PatternContext, ...]] = ContextVar("_entered", default=())


class Pattern(Hashable, Protocol):
    """What a chain is made of."""

    def dup(self) -> Any:
        """Return a pattern like this one, which is another one."""

    def __rshift__(self, other: Any) -> PatternSeq:
        """Return the chain of this and ``other``, which alone uses it."""


@dataclass(frozen=True, slots=True)
class Use:
    """A user has the value at ``index`` among the variables that it uses, anywhere for -1; with
    ``only`` nothing else uses the value.
    """

    only: bool = False
    index: int = -1


class PatternContext:
    """Collects the constraints that are stated while it is entered.

    With ``incremental``, those of the context around it hold, too; raises PatternError where there
    is none.
    """

    def __init__(self, incremental: bool = False) -> None:
        self.uses: dict[Hashable, dict[Hashable, tuple[Use, ...]]] = {}
        self.same_shapes: list[tuple[Hashable, ...]] = []
        if incremental:
            outer = PatternContext.current()
            if outer is None:
                raise PatternError(
                    mistake(kinds.PATTERN, what="an incremental context", expected="within another", found="none")
                )
            self.uses = {used: dict(users) for used, users in outer.uses.items()}

    def __enter__(self) -> PatternContext:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _entered.set(_entered.get()[:-1])

    @staticmethod
    def current() -> PatternContext | None:
        """Return the innermost context that is entered."""
        stack = _entered.get()
        return stack[-1] if stack else None

    def match_dfb(self, dfb: object) -> Mapping[Any, Any] | None:
        """Return a variable of the dataflow block for each pattern that a constraint speaks of.

        No two patterns have the same. None where there is no such choice. Raises PatternError for
        what is no dataflow block.
        """
        return matched_block(dfb, self)


@dataclass(frozen=True, slots=True)
class SameShapeConstraint:
    """Values of the same shape; made within a context, it holds there."""

    args: tuple[Hashable, ...]

    def __init__(self, *args: Hashable) -> None:
        object.__setattr__(self, "args", args)
        context = PatternContext.current()
        if context is not None:
            context.same_shapes.append(args)


@dataclass(frozen=True, slots=True)
class PatternSeq:
    """A chain of patterns, each of which the next one uses."""

    patterns: tuple[Pattern, ...]
    uses: tuple[Use, ...] = ()

    def __getitem__(self, index: int) -> Pattern:
        return self.patterns[index]

    def __len__(self) -> int:
        return len(self.patterns)

    def __iter__(self) -> Iterator[Pattern]:
        return iter(self.patterns)

    def used_by(self, other: Pattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Return this chain and ``other``, whose first pattern uses the last one here."""
        return joined(self, other, Use(False, index))

    def only_used_by(self, other: Pattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Return this chain and ``other``, whose first pattern alone uses the last one here."""
        return joined(self, other, Use(True, index))

    def __xor__(self, other: Pattern | PatternSeq) -> PatternSeq:
        return self.used_by(other)

    def __rshift__(self, other: Pattern | PatternSeq) -> PatternSeq:
        return self.only_used_by(other)

    def dup(self) -> PatternSeq:
        """Return a chain of other patterns that are like these, under the same constraints."""
        patterns = tuple(one.dup() for one in self.patterns)
        for used, user, use in zip(patterns, patterns[1:], self.uses, strict=False):
            note(used, user, use)
        return PatternSeq(patterns, self.uses)


def note(used: Hashable, user: Hashable, use: Use) -> None:
    """Let the innermost context hold that ``user`` uses ``used``."""
    context = PatternContext.current()
    if context is None:
        return
    users = context.uses.setdefault(used, {})
    if use not in users.get(user, ()):
        users[user] = (*users.get(user, ()), use)


def joined(one: Pattern | PatternSeq, other: Pattern | PatternSeq, use: Use) -> PatternSeq:
    """Return both as one chain, and note the use between them."""
    first, second = _chain(one), _chain(other)
    note(first.patterns[-1], second.patterns[0], use)
    return PatternSeq((*first.patterns, *second.patterns), (*first.uses, use, *second.uses))


def _chain(given: Pattern | PatternSeq) -> PatternSeq:
    return given if isinstance(given, PatternSeq) else PatternSeq((given,))


def note_arguments(call: Hashable, args: Sequence[Hashable]) -> None:
    """Note that a call uses its arguments, each at its place."""
    for place, arg in enumerate(args):
        note(arg, call, Use(False, place))
