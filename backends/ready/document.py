"""What is kept of a program that is one kernel, all of whose extents are known.

The document is written as MessagePack. Arrays that the kernel reads lie in an entry of their own,
one behind the other, where they are mapped from: each begins at a multiple of 64 in the file.
"""

from __future__ import annotations

from typing import Literal, Union

from relay2relax.core.schema import Extent, Form

FORMAT: Literal["relay2relax program"] = "relay2relax program"
VERSION: Literal[1] = 1


class Tensor(Form, frozen=True, array_like=True):
    """A parameter or a result: shape and dtype, and what the parameter is called.

    Values that nobody gives are drawn as those of weights, or of what is added (``shift``).
    """

    name: str
    shape: tuple[Extent, ...]
    dtype: str
    weight: bool = False
    shift: bool = False


class Document(Form, frozen=True, array_like=True):
    """A program.

    ``library`` is the entry of its machine code, and ``symbol`` the function there; one that
    ``asks`` may run long. ``weights`` is the entry of arrays, which begin at ``constants``; it is
    "" where there are none. ``results`` are in the kernel's order; ``order`` says which of them the
    fields of the returned tuple are, None for a program that returns the only one. ``arena`` is the
    size of the memory for temporaries.
    """

    format: Literal["relay2relax program"]
    version: Literal[1]
    library: str
    symbol: str
    asks: bool
    weights: str
    constants: tuple[Extent, ...]
    arena: Extent
    inputs: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    order: Union[tuple[Extent, ...], None]
