"""``tvm.instrument``: what looks on while passes run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay2relax.core import passes as core
from relay2relax.core.passes import PassTimingInstrument as OurTiming

PassInstrument = core.PassInstrument


class PassTimingInstrument(OurTiming):
    """Measures every pass; ``render()`` without an object speaks of the last one entered."""

    _last: OurTiming | None = None

    def enter_pass_ctx(self) -> None:
        """Forget earlier measurements."""
        super().enter_pass_ctx()
        PassTimingInstrument._last = self

    def exit_pass_ctx(self) -> None:
        """Forget what was measured: TVM renders within the context alone."""
        super().enter_pass_ctx()

    def render(self: OurTiming | None = None) -> str:
        """Return a line per pass."""
        one = self or PassTimingInstrument._last
        return OurTiming.render(one) if one is not None else ""


def PassPrintingInstrument(
    print_before_pass_names: Sequence[str], print_after_pass_names: Sequence[str]
) -> core.PassPrintingInstrument:
    """Return what prints the module before and after passes."""
    return core.PassPrintingInstrument(tuple(print_before_pass_names), tuple(print_after_pass_names))


def PrintAfterAll() -> core.PassPrintingInstrument:
    """Return what prints the module after each pass."""
    return core.PassPrintingInstrument((), None)


def PrintBeforeAll() -> core.PassPrintingInstrument:
    """Return what prints the module before each pass."""
    return core.PassPrintingInstrument(None, ())


_METHODS = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass")


def pass_instrument(pi_cls: type | None = None) -> object:
    """Let a class look on while passes run, with those of the methods that it has."""

    def decorate(cls: type) -> type:
        given = {name: getattr(cls, name) for name in _METHODS if hasattr(cls, name)}
        return type(cls.__name__, (cls, core.PassInstrument), given)

    return decorate if pi_cls is None else decorate(pi_cls)


__all__ = ["Callable", "PassInstrument", "PassTimingInstrument", "pass_instrument"]
