"""Open extents of exported programs: expressions of PyTorch's as extents of types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import frontends
from relay2relax.tir.extent import Extent, canonical
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Var, binary

# By what SymPy calls the node.
_OPERATIONS = {
    "Add": "+", "Mul": "*", "FloorDiv": "//", "CleanDiv": "//", "IntTrueDiv": "//", "Mod": "%", "PythonMod": "%",
    "Max": "max", "Min": "min",
}  # fmt: skip


@dataclass(slots=True)
class Symbols:
    """The open extents of a program, by the names that PyTorch gives them."""

    known: dict[str, Var] = field(default_factory=dict)

    def declare(self, extent: object) -> Extent:
        """Return an extent of an input; a name that was not met before is one from now on."""
        if isinstance(extent, int):
            return extent
        expression = _expression(extent)
        if type(expression).__name__ == "Symbol":
            self.known.setdefault(str(expression), Var(str(expression), "int64"))
        return self.extent(extent)

    def extent(self, extent: object) -> Extent:
        """Return an extent that the program computes; raises UnsupportedError for what is computed
        from data.
        """
        if isinstance(extent, int):
            return extent
        return canonical(self._converted(_expression(extent)))

    def _converted(self, expression: Any) -> PrimExpr:
        name = type(expression).__name__
        if getattr(expression, "is_Integer", False):
            return IntImm(int(expression), "int64")
        if name == "Symbol" and str(expression) in self.known:
            return self.known[str(expression)]
        if name in _OPERATIONS:
            first, *others = map(self._converted, expression.args)
            for one in others:
                first = binary(_OPERATIONS[name], first, one)  # type: ignore[arg-type]
            return first
        if name == "Pow" and getattr(expression.exp, "is_Integer", False) and 0 < int(expression.exp) < 8:
            base = made = self._converted(expression.base)
            for _ in range(int(expression.exp) - 1):
                made = binary("*", made, base)
            return made
        problem = f"the extent {expression} is not known before the program runs"
        raise UnsupportedError(mistake(frontends.FORM, node="the program", problem=problem))


def _expression(extent: Any) -> Any:
    """Return SymPy's expression of an extent."""
    return extent.node.expr
