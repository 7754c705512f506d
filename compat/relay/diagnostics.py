"""``tvm.ir.diagnostics``: mistakes are errors here, which carry what they say."""

from __future__ import annotations

from collections.abc import Callable

from relay2relax.core.errors import Diagnostic as OurDiagnostic


class Renderer:
    """Shows what a context collected, by default nothing: errors say it."""

    def __init__(self, show: Callable[[object], object] | None = None) -> None:
        self.show = show

    def render(self, context: object) -> None:
        """Show a context."""
        if self.show is not None:
            self.show(context)


def get_renderer() -> Renderer:
    """Return what shows mistakes."""
    return Renderer()


def override_renderer(show: Callable[[object], object] | None) -> None:
    """Do nothing: mistakes are raised as errors, with their text."""


class DiagnosticLevel:
    """How grave a mistake is."""

    BUG, ERROR, WARNING, NOTE, HELP = 10, 20, 30, 40, 50


Diagnostic = OurDiagnostic
DiagnosticContext = Renderer
