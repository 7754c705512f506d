"""Graph walks with a stack of their own: a chain of a million nodes is as ordinary as a chain of
three.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from typing import Any, TypeVar

from relay2relax.core.limits import active

Node = TypeVar("Node", bound=Hashable)
Answer = TypeVar("Answer")


def post_order(roots: Iterable[Node], children: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Yield every node reachable from ``roots`` once, each after its children, children in their
    order.

    Nodes are told apart by hash and equality, so identity-hashed nodes of a DAG are visited once
    each. ``children`` must not describe a cycle; on a cycle the back edge is ignored. Raises
    LimitError where the limits around it are reached.
    """
    budget = active()
    seen: set[Node] = set()
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        stack: list[tuple[Node, Iterator[Node]]] = [(root, iter(children(root)))]
        while stack:
            node, rest = stack[-1]
            for child in rest:
                if child not in seen:
                    seen.add(child)
                    stack.append((child, iter(children(child))))
                    break
            else:
                stack.pop()
                if budget is not None:
                    budget.check()
                yield node


def answer(question: Generator[Any, Any, Answer]) -> Answer:
    """Return the answer to a question, which may yield others and is sent their answers.

    What is asked waits on a stack of its own, at any depth.
    """
    stack: list[Generator[Any, Any, Answer]] = [question]
    told: Any = None
    while True:
        try:
            asked = stack[-1].send(told)
        except StopIteration as done:  # noqa: PERF203
            stack.pop()
            told = done.value
            if not stack:
                return told  # type: ignore[no-any-return]
        else:
            stack.append(asked)
            told = None


def run_steps(step: Generator[Any, Any, Any]) -> Any:
    """Return what a step returns, with a stack for the steps that it waits for by yielding them.

    >>> def total(items):
    ...     return items[0] + (yield total(items[1:])) if items else 0
    >>> run_steps(total([1, 2, 3]))
    6
    """
    stack, value = [step], None
    while stack:
        try:
            waits_for = stack[-1].send(value)
        except StopIteration as end:  # noqa: PERF203 - how a generator returns
            stack.pop()
            value = end.value
        else:
            stack.append(waits_for)
            value = None
    return value
