"""The pass manager of both IRs: the form of a pass, the context passes run in, and running several.

with PassContext(opt_level=3, disabled_pass=["FoldConstant"], instruments=[PassTimingInstrument()]):
    mod = Sequential([InferType(), FoldConstant(), EliminateCommonSubexpr()])(mod)

A pass that puts new parts in the place of others may tell so, for whoever traces a program through
it; where nobody listens that costs nothing.

    with rewrites_noted() as found:
        after = ToGraphNormalForm()(before)
    found.origins(part_of_after)
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from types import TracebackType
from typing import Any, ClassVar, Generic, TypeVar

from relay2relax.core.collection import collection_paused
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError, mistake
from relay2relax.core.errors.extensions import ask, returned
from relay2relax.core.errors.table import files
from relay2relax.core.limits import check
from relay2relax.core.progress import each

# The module that a pass takes and returns: Relay's or Relax's.
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class PassInfo:
    """What instruments learn of a pass: its name and the optimisation level from which it runs.

    What is ``required`` cannot be left out: it finds what passes after it ask for.
    """

    name: str
    opt_level: int
    required: bool = False


class PassInstrument:
    """Looks on while passes run. Subclasses override what they are interested in."""

    def enter_pass_ctx(self) -> None:
        """The context that the instrument belongs to is entered."""

    def exit_pass_ctx(self) -> None:
        """The context is left, also by an exception."""

    def should_run(self, mod: Any, info: PassInfo) -> bool:
        """Whether the pass may run on ``mod``; one instrument that says no is enough."""
        return True

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """``mod`` is about to be given to the pass."""

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """The pass returned ``mod``."""


# The options of passes that a context may set, and of which kind they are.
CONFIGS: Mapping[str, type] = {
    "relax.FuseOps.max_depth": int,
    "relay.FuseOps.link_params": bool,
    "relay.FuseOps.max_depth": int,
    "relay.ToMixedPrecision.keep_orig_output_dtype": bool,
}

_contexts: ContextVar[tuple[PassContext, ...]] = ContextVar("_contexts", default=())


@dataclass(frozen=True, slots=True, eq=False)
class PassContext:
    """What holds for passes that run within ``with PassContext(…):``.

    ``opt_level``  a ``Sequential`` leaves out passes of a higher level (those in ``required_pass``
        run anyway).
    ``required_pass``  names of passes that a ``Sequential`` always runs.
    ``disabled_pass``  names of passes that a ``Sequential`` leaves out.
    ``instruments``  look on at every pass.
    ``config``  options of passes by name; :data:`CONFIGS` has them all.

    Raises Relay2RelaxError for an option that no pass has, and for a value of another kind.
    """

    opt_level: int = 2
    required_pass: Sequence[str] = ()
    disabled_pass: Sequence[str] = ()
    instruments: Sequence[PassInstrument] = ()
    config: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.config.items():
            if name not in CONFIGS:
                raise Relay2RelaxError(
                    f"no pass has an option {name!r}; there are: {', '.join(CONFIGS)}", kind=files.OPTION
                )
            if not isinstance(value, CONFIGS[name]):
                raise Relay2RelaxError(
                    mistake(
                        files.OPTION, name=f"the option {name!r}", value=repr(value), expected=CONFIGS[name].__name__
                    )
                )

    @staticmethod
    def current() -> PassContext:
        """Return the innermost context, the default one outside of any."""
        stack = _contexts.get()
        return stack[-1] if stack else PassContext()

    @staticmethod
    def entered() -> bool:
        """Whether this is within some context."""
        return bool(_contexts.get())

    def enabled(self, info: PassInfo) -> bool:
        """Whether a ``Sequential`` runs the pass in this context."""
        if info.required:
            return True
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    def __enter__(self) -> PassContext:
        _contexts.set((*_contexts.get(), self))
        for instrument in self.instruments:
            instrument.enter_pass_ctx()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _contexts.set(_contexts.get()[:-1])
        for instrument in self.instruments:
            instrument.exit_pass_ctx()


class Pass(ABC, Generic[M]):
    """A pass: a module in, a module out; its argument is never changed.

    A pass is a frozen dataclass whose fields are its options. It overrides :meth:`transform`;
    ``opt_level`` is the level from which a ``Sequential`` runs it (as in TVM).
    """

    __slots__ = ()
    opt_level: ClassVar[int] = 0

    @property
    def info(self) -> PassInfo:
        """The pass's name and level."""
        return PassInfo(type(self).__name__, self.opt_level)

    @abstractmethod
    def transform(self, mod: M) -> M:
        """Return the changed module; ``mod`` itself where there is nothing to change."""

    def __call__(self, mod: M) -> M:
        """Run the pass under the eyes of the current context's instruments.

        Raises UnsupportedError for a program that is nested too deep for it.
        """
        check()
        instruments, info = PassContext.current().instruments, self.info
        if not info.required and not all(instrument.should_run(mod, info) for instrument in instruments):
            return mod
        for instrument in instruments:
            instrument.run_before_pass(mod, info)
        with collection_paused():
            try:
                result = self.transform(mod)
            except RecursionError as error:
                raise UnsupportedError(f"the program is nested too deep for {info.name}") from error
        for instrument in instruments:
            instrument.run_after_pass(result, info)
        return result


@dataclass(frozen=True, slots=True)
class Sequential(Pass[M]):
    """Passes one after the other, as far as the current context enables them."""

    passes: Sequence[Pass[M]]
    name: str = "sequential"

    @property
    def info(self) -> PassInfo:
        """The name given, and level 0: what it contains has levels of its own."""
        return PassInfo(self.name, 0)

    def transform(self, mod: M) -> M:
        """Return ``mod`` after every enabled pass."""
        context = PassContext.current()
        with each("passes", self.passes) as rest:
            for one in rest:
                if not isinstance(one, Pass):
                    raise returned(f"the sequence {self.name}", "passes", one)
                if context.enabled(one.info):
                    mod = one(mod)
        return mod


@dataclass(frozen=True, slots=True)
class ModulePass(Pass[M]):
    """A pass of the user's own: ``change(mod, context)`` returns the new module."""

    change: Callable[[M, PassContext], M]
    name: str = "module_pass"
    level: int = 0

    @property
    def info(self) -> PassInfo:
        """The name and level given."""
        return PassInfo(self.name, self.level)

    def transform(self, mod: M) -> M:
        """Return what ``change`` makes of ``mod``; raises ExtensionError where it fails."""
        what = f"the pass {self.name}"
        made: object = ask(self.change, mod, PassContext.current(), what=what)
        if not isinstance(made, type(mod)):
            raise returned(what, "a module", made)
        return made


def pass_decorator(
    make: Callable[[Callable[..., Any], str, int], Pass[M]], method: str, opt_level: int, name: str
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator of functions, or of classes with the method ``method``.

    A function becomes the pass that ``make(function, name, opt_level)`` gives; a class becomes a
    function that takes the class's arguments and returns such a pass. ``name`` is that of what is
    decorated where it is "".
    """

    def decorate(decorated: Callable[..., Any]) -> Any:
        label = name or decorated.__name__
        if not isinstance(decorated, type):
            return make(decorated, label, opt_level)

        @wraps(decorated, updated=())
        def create(*args: Any, **kwargs: Any) -> Pass[M]:
            return make(getattr(decorated(*args, **kwargs), method), label, opt_level)

        return create

    return decorate


def module_pass(*, opt_level: int, name: str = "") -> Callable[[Callable[..., Any]], Any]:
    """Make a pass of a function ``(mod, context) -> mod``, or of a class with a method
    ``transform_module``.

    @module_pass(opt_level=1)
    def nothing(mod, context):
        return mod
    """
    return pass_decorator(ModulePass, "transform_module", opt_level, name)


@dataclass(slots=True)
class _Timed:
    name: str
    seconds: float = 0.0
    inner: list[_Timed] = field(default_factory=list)


class PassTimingInstrument(PassInstrument):
    """Measures every pass, passes within passes included; ``render()`` says what was measured."""

    def __init__(self) -> None:
        self._root = _Timed("")
        self._open: list[tuple[_Timed, float]] = []

    def enter_pass_ctx(self) -> None:
        """Forget earlier measurements."""
        self._root = _Timed("")
        self._open = []

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Start the clock of a pass."""
        entry = _Timed(info.name)
        (self._open[-1][0] if self._open else self._root).inner.append(entry)
        self._open.append((entry, time.perf_counter()))

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Stop the clock of a pass."""
        entry, start = self._open.pop()
        entry.seconds = time.perf_counter() - start

    def render(self) -> str:
        """Return a line per pass, indented under the pass that ran it: time, time of its own, share
        of the whole.
        """
        whole = sum(entry.seconds for entry in self._root.inner) or 1.0
        lines: list[str] = []
        stack = [(entry, 0) for entry in reversed(self._root.inner)]
        while stack:
            entry, depth = stack.pop()
            own = entry.seconds - sum(one.seconds for one in entry.inner)
            share = 100 * entry.seconds / whole
            lines.append(f"{'  ' * depth}{entry.name}: {entry.seconds * 1e6:.0f}us [{own * 1e6:.0f}us] ({share:.2f}%)")
            stack += [(one, depth + 1) for one in reversed(entry.inner)]
        return "".join(line + "\n" for line in lines)


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after passes.

    ``before`` and ``after`` name the passes; None stands for all. ``write`` gets the text, by
    default it is printed.
    """

    def __init__(
        self,
        before: Sequence[str] | None = (),
        after: Sequence[str] | None = (),
        write: Callable[[str], object] = print,
    ) -> None:
        self._before = before
        self._after = after
        self._write = write

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module if the pass is among those of ``before``."""
        if self._before is None or info.name in self._before:
            self._write(f"Before running pass {info.name}:\n{mod}")

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module if the pass is among those of ``after``."""
        if self._after is None or info.name in self._after:
            self._write(f"After running pass {info.name}:\n{mod}")


# --- what passes rewrite --------------------------------------------------------------------------

# A part of a program, equal to itself only.
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rewrites:
    """What parts were made of, through any number of passes; parts are equal to themselves only."""

    made_of: dict[object, dict[object, None]] = field(default_factory=dict)

    def note(self, done: Mapping[T, object]) -> None:
        """Note what became of the keys of ``done``."""
        for old, new in done.items():
            if new is not old:
                self.made_of.setdefault(new, {})[old] = None

    def origins(self, part: object) -> list[object]:
        """Return ``part`` and everything that it was made of, at any step, itself first."""
        found = {part: None}
        stack = [part]
        while stack:
            for one in self.made_of.get(stack.pop(), ()):
                if one not in found:
                    found[one] = None
                    stack.append(one)
        return list(found)


_LISTENING: ContextVar[Rewrites | None] = ContextVar("rewrites", default=None)


@contextmanager
def rewrites_noted() -> Iterator[Rewrites]:
    """Note what passes rewrite while the block runs."""
    found = Rewrites()
    token = _LISTENING.set(found)
    try:
        yield found
    finally:
        _LISTENING.reset(token)


def note_rewritten(done: Mapping[T, object]) -> None:
    """Say that the values of ``done`` now stand where its keys stood."""
    listening = _LISTENING.get()
    if listening is not None:
        listening.note(done)
