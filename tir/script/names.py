"""Python identifiers for names that may be any text."""

from __future__ import annotations

import keyword
import re

from relay2relax.core.words import Identifier, word
from relay2relax.tir.ir.expr import Var

# Words that a script already uses: TVMScript's namespaces, the module, and what printers write
# around them.
_NAMESPACES = {"T", "I", "R", "Tx", "tvm", "ir", "tir", "tirx", "relax"}
RESERVED = frozenset(_NAMESPACES | {"Axis", "TypeVar", "Module", "cls", "range", "float"})
# apache-tvm writes the name of a variable into CUDA and C as it is: words and types there, and the
# functions that it calls.
_C_WORDS = frozenset(
    """
    alignas alignof asm auto bool case catch char const constexpr default delete do double dynamic_cast
    enum explicit export extern friend goto inline int long mutable namespace new noexcept nullptr
    operator private protected public register short signed sizeof static struct switch template this
    throw typedef typeid typename union unsigned using virtual void volatile wchar_t
    dim3 half uchar uint ushort blockDim blockIdx gridDim threadIdx warpSize
    abs acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf exp exp2 exp10 fabs floor fma
    fmod hypot isfinite isinf isnan ldexp log log10 log1p log2 max min nextafter pow rint round rsqrt
    sin sinh sqrt tan tanh trunc
    """.split()  # noqa: SIM905
)
_NOT_IDENTIFIER = re.compile(r"[^A-Za-z0-9_]")


def identifier(name: str) -> Identifier:
    """Return ``name`` as a Python identifier of ASCII letters that no script gives another
    meaning.

    Two names may become one; :class:`Scope` and NameSupply tell them apart. Names that begin with
    two underscores belong to Python, which reads them anew in the body of a class.
    """
    text = name if name.isascii() and name.isidentifier() else _NOT_IDENTIFIER.sub("_", name)
    if not text.isidentifier() or text.startswith("__") or text == "_":
        text = "v" + text
    if keyword.iskeyword(text) or text in RESERVED:
        text += "_"
    return word(text)


class Scope:
    """Names of objects in nested scopes: unique among those that can be seen, free again
    afterwards.
    """

    def __init__(self) -> None:
        self._names: dict[object, Identifier] = {}
        self._taken: set[str] = set()
        # What each scope has defined, and the name that it had before, in a scope around.
        self._frames: list[list[tuple[object, Identifier | None]]] = []

    def enter(self) -> None:
        """Open a scope."""
        self._frames.append([])

    def leave(self) -> None:
        """Close the innermost scope and forget its names."""
        for item, before in reversed(self._frames.pop()):
            self._taken.discard(self._names.pop(item))
            if before is not None:
                self._names[item] = before

    def free(self, hint: str) -> Identifier:
        """Return the name that a new object called ``hint`` would have."""
        base = name = identifier(hint)
        count = 0
        while name in self._taken:
            count += 1
            name = word(f"{base}_{count}")
        return name

    def define(self, item: object, hint: str) -> Identifier:
        """Return a new name for ``item`` (told apart by identity) in the innermost scope."""
        name = self.free(f"{hint}_" if isinstance(item, Var) and hint in _C_WORDS else hint)
        self._taken.add(name)
        self._frames[-1].append((item, self._names.get(item)))
        self._names[item] = name
        return name

    def name(self, item: object) -> Identifier | None:
        """Return the name of ``item``, None where it is not defined."""
        return self._names.get(item)
