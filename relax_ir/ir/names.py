"""Names that are given out once, and names that kernels may have."""

from __future__ import annotations

from relay2relax.core.words import Identifier, word
from relay2relax.tir.script.names import identifier

# A kernel becomes a linker symbol; under one of these names it would hide a function of the C
# library.
C_LIBRARY = frozenset(
    {
        "abort", "abs", "acos", "acosh", "aligned_alloc", "asin", "asinh", "atan", "atan2", "atanh",
        "atexit", "atof", "atoi", "bsearch", "calloc", "cbrt", "ceil", "clock", "close", "copysign",
        "cos", "cosh", "div", "erf", "erfc", "exit", "exp", "exp10", "exp2", "expm1", "fabs",
        "fdim", "floor", "fma", "fmax", "fmin", "fmod", "free", "frexp", "getenv", "hypot", "ilogb",
        "j0", "j1", "jn", "labs", "ldexp", "ldiv", "lgamma", "llabs", "log", "log10", "log1p",
        "log2", "logb", "lrint", "lround", "main", "malloc", "memchr", "memcmp", "memcpy",
        "memmove", "memset", "modf", "nan", "nearbyint", "nextafter", "open", "pow", "printf",
        "puts", "qsort", "raise", "rand", "read", "realloc", "remainder", "remove", "remquo",
        "rename", "rint", "round", "scalbn", "select", "signal", "signbit", "sin", "sinh", "sleep",
        "sqrt", "srand", "strcat", "strchr", "strcmp", "strcpy", "strlen", "strncmp", "strncpy",
        "strstr", "strtod", "strtol", "system", "tan", "tanh", "tgamma", "time", "trunc", "write",
        "y0", "y1", "yn",
    }
)  # fmt: skip


def kernel_name(hint: str) -> Identifier:
    """Return a legal name for a PrimFunc.

    As in TVM, ``exp`` becomes ``tir_exp`` lest it hide libm's.
    """
    legal = identifier(hint)
    return word(f"tir_{legal}") if legal in C_LIBRARY else legal


class NameSupply:
    """Gives out each name once; a name asked for again gets a number."""

    __slots__ = ("_next", "_taken")

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        """Let nobody else have ``name``."""
        self._taken.add(name)

    def fresh(self, hint: str, separator: str = "") -> str:
        """Return ``hint`` where it is free, else ``hint1``, ``hint2``, ….

        Constant time on average.
        """
        name, number = hint, self._next.get(hint, 1)
        while name in self._taken:
            name = f"{hint}{separator}{number}"
            number += 1
        self._next[hint] = number
        self._taken.add(name)
        return name

    def identifier(self, hint: str) -> Identifier:
        """Return ``hint`` as a name of scripts, with an underscore and a number where it is
        taken.
        """
        return word(self.fresh(identifier(hint), "_"))
