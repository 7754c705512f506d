"""The smallest part of a model that still fails as the whole does.

    reduce(mod, arguments, check)

First the model is cut behind the first node whose value fails, found by halving. Then nodes are
taken away, first halves, then ever smaller pieces down to single nodes: what is taken away comes in
as the value that it had when the whole ran. Then tensors become smaller, and at last their values
simple. Every step is kept only if the check fails as it did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from relay2relax import backends
from relay2relax.core.amounts import counted
from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError, mistake
from relay2relax.core.errors.extensions import ask
from relay2relax.core.errors.table import patterns as kinds
from relay2relax.core.progress import going_on
from relay2relax.core.walk import post_order
from relay2relax.parity.checks import Check
from relay2relax.parity.halving import first_bad
from relay2relax.parity.shrinking import extents_of, sizes, smaller
from relay2relax.parity.straight import straightened
from relay2relax.parity.tables import data_frame, html_table
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Tuple
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.subgraphs import part_of
from relay2relax.relay_ir.subgraphs.names import CUT, flowing
from relay2relax.translator.arguments import Argument
from relay2relax.translator.bisection import inlined
from relay2relax.translator.subgraphs import RecordedPart, recorded_part


class NothingFailsError(Relay2RelaxError):
    """The check finds nothing wrong with the whole model."""

    kind = kinds.NOTHING_FAILS


@dataclass(frozen=True, slots=True)
class Try:
    """A part that was tried: how many ``calls`` it has, and whether it failed as the whole does.

    ``part`` is what is left where it failed.
    """

    number: int
    calls: int
    failed: bool
    part: RecordedPart | None = None


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smallest part that was found: a ``module`` and the values of its parameters by name.

    ``failure``  how it fails, in the words of the check. ``calls``  how many of the model's
    ``of_calls`` calls are left. ``tries``  how often the check was asked. ``stopped``
    whether KeyboardInterrupt ended the search.
    """

    module: IRModule
    inputs: Mapping[str, Array]
    failure: str
    calls: int
    of_calls: int
    tries: int
    stopped: bool = False

    def __str__(self) -> str:
        left = f"{counted(self.calls, 'call')} of {self.of_calls} left"
        return f"{left} after {counted(self.tries, 'try', 'tries')}; it fails as the whole does: {self.failure}"

    def to_json(self) -> dict[str, object]:
        """Return all but the module and its inputs as plain values."""
        return {
            "failure": self.failure,
            "calls": self.calls,
            "of_calls": self.of_calls,
            "tries": self.tries,
            "stopped": self.stopped,
        }

    def to_dataframe(self) -> Any:
        """Return a row for each input as a frame of pandas.

        Raises UnsupportedError where that is not installed.
        """
        return data_frame(self._records())

    def _records(self) -> list[dict[str, object]]:
        return [{"input": name, "dtype": of_array(one), "shape": one.shape} for name, one in self.inputs.items()]

    def _repr_html_(self) -> str:
        return html_table(("input", "dtype", "shape"), self._records(), f"{self}\n{self.module}")


def reduce(
    mod: IRModule, arguments: Sequence[Argument], check: Check, told: Callable[[Try], None] = lambda _: None
) -> Reduced:
    """Return the smallest part of ``main`` of ``mod`` that fails as the whole does with
    ``arguments``.

    ``told`` is called for every part that was tried. Where it fails within a branch, the branches
    that were taken stand for the choices; functions within ``main`` stay whole. On
    KeyboardInterrupt the smallest part so far is returned.

    Raises NothingFailsError where the check finds nothing wrong with the whole, ExtensionError
    where it raises, and what running Relay on numpy raises.
    """
    search = _Search(inlined(mod), arguments, partial(ask, check, what="the check"), told)
    failure = search.begin()
    try:
        with going_on("reduced", lambda: (search.of_calls - len(search.inside), search.of_calls)):
            search.cut_behind()
            search.take_away()
            # What is left is less, and may fail earlier than the whole did.
            search.cut_behind()
            search.shrink()
            search.simplify()
        stopped = False
    except KeyboardInterrupt:
        stopped = True
    best = search.best
    return Reduced(best.module, best.inputs, failure, _calls(best.module), search.of_calls, search.tries, stopped)


def _calls(mod: IRModule) -> int:
    """Return how many calls ``main`` makes outside of its branches and functions."""
    return sum(isinstance(node, Call) for node in post_order((mod["main"].body,), flowing(mod)))


@dataclass(eq=False)
class _Search:
    mod: IRModule
    arguments: Sequence[Argument]
    check: Check
    told: Callable[[Try], None]
    tries: int = 0
    failure: str = ""
    values: dict[Expr, Any] = field(default_factory=dict)
    inside: list[Expr] = field(default_factory=list)
    outputs: tuple[Expr, ...] = ()
    best: RecordedPart = field(init=False)

    def begin(self) -> str:
        """Run the whole, and return how it fails."""
        while True:
            self._run()
            self.failure = self.check(self.best.module, self.best.inputs)
            if self.failure:
                return self.failure
            # What fails may be within a branch, whose value came in.
            whole = self._whole()
            self.failure = "" if whole is None else self.check(whole.module, whole.inputs)
            if whole is None or not self.failure:
                raise NothingFailsError(mistake(kinds.NOTHING_FAILS, what="the whole model"))
            straight = straightened(self.mod, self._value)
            if straight is None or self.check(straight, whole.inputs) != self.failure:
                # Nothing can be taken away, but tensors and values may be less.
                self.best, self.inside = whole, []
                return self.failure
            self.mod = inlined(straight)

    def _run(self) -> None:
        """Note the values of all nodes, and begin with all of them."""
        main, self.flow = self.mod["main"], flowing(self.mod)
        self.values = dict(zip(main.params, self.arguments, strict=True))
        # Values are kept as they are when they are made: nothing is read again after the run.
        backends.create_executor("debug", self.mod).evaluate(observe=self.values.__setitem__)(*self.arguments)
        result = self.flow.seen(main.body)
        self.order = [one for one in post_order((result,), self.flow) if isinstance(one, CUT) and one in self.values]
        if not isinstance(result, CUT):
            raise UnsupportedError("the result is no call, so that there is nothing to take away from")
        self.of_calls = sum(isinstance(one, Call) for one in self.order)
        self.inside = self._behind(result)
        self.outputs = (result,)
        self.best = self._part(self.inside, self.outputs)

    def _whole(self) -> RecordedPart | None:
        """Return the whole model with its inputs, None where some are tuples."""
        names = [param.name for param in self.mod["main"].params]
        inputs = {name: one for name, one in zip(names, self.arguments, strict=True) if isinstance(one, np.ndarray)}
        return RecordedPart(self.mod, inputs, ()) if len(inputs) == len(names) else None

    def cut_behind(self) -> None:
        """End with the first node whose value fails, found by halving."""
        inside = set(self.inside)
        ends = [one for one in self.inside if isinstance(one, Call)]

        def fails(count: int) -> bool:
            end = ends[count - 1]
            return self._fails([one for one in self._behind(end) if one in inside], (end,))

        first_bad(len(ends), fails)

    def take_away(self) -> None:
        """Take nodes away, in ever smaller pieces from the first on."""
        size = len(self.inside) // 2
        while size:
            place = 0
            while place < len(self.inside):
                rest = [*self.inside[:place], *self.inside[place + size :]]
                piece = self.inside[place : place + size]
                if self.outputs[0] in piece or not self._fails(rest, self.outputs):
                    place += size
            size //= 2

    def shrink(self) -> None:
        """Make tensors smaller, the largest extents first."""
        tried: set[int] = set()
        while left := extents_of(self.best) - tried:
            extent = max(left)
            parts = (part for size in sizes(extent) for part in smaller(self.best, extent, size))
            if not any(map(self._try, parts)):
                tried.add(extent)

    def simplify(self) -> None:
        """Make the values that come in simple: zeros, ones, or whole numbers."""
        for name, value in list(self.best.inputs.items()):
            for simple in _simpler(value):
                inputs = {**self.best.inputs, name: simple}
                if self._try(RecordedPart(self.best.module, inputs, ())):
                    break

    def _behind(self, end: Expr) -> list[Expr]:
        """Return the nodes that ``end`` is computed by, itself among them, in order."""
        needed = set(post_order((end,), self.flow))
        return [one for one in self.order if one in needed]

    def _fails(self, inside: list[Expr], outputs: tuple[Expr, ...]) -> bool:
        """Keep a part if it fails as the whole does; say whether it does."""
        part = self._part(inside, outputs)
        if not self._try(part):
            return False
        # What nothing asks for any more is gone with what asked for it. Tuples are put together
        # again.
        held = set(inside)
        needed = set(post_order(outputs, lambda one: self.flow(one) if one in held or isinstance(one, Tuple) else ()))
        self.inside, self.outputs = [one for one in inside if one in needed], outputs
        return True

    def _try(self, part: RecordedPart) -> bool:
        failed = self.check(part.module, part.inputs) == self.failure
        self.tries += 1
        self.told(Try(self.tries, _calls(part.module), failed, part if failed else None))
        if failed:
            self.best = part
        return failed

    def _part(self, inside: Sequence[Expr], outputs: tuple[Expr, ...]) -> RecordedPart:
        return recorded_part(self.mod, part_of(self.mod, inside, outputs), self._value)

    def _value(self, node: Expr) -> Any:
        return node.data if isinstance(node, Constant) else self.values[node]


def _simpler(value: Array) -> Iterator[Array]:
    """Yield simpler arrays of the same shape and dtype, the simplest first."""
    for made in (np.zeros_like(value), np.ones_like(value)):
        if not np.array_equal(made, value):
            yield made
    exact = value.astype(np.float64)
    if value.dtype.kind == "f" and bool(np.isfinite(exact).all()):
        whole = np.rint(exact).astype(value.dtype)
        if not np.array_equal(whole, value):
            yield whole
