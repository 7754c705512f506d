"""What nodes, types and modules are taught while the facade is installed: TVM's names."""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax.compat.relay import operators, passes, registering
from relay2relax.compat.vocabulary import attributes, expressions, modules, numbers, numpy_names, types
from relay2relax.compat.vocabulary.teaching import Lesson


def lessons() -> Iterator[Lesson]:
    """Yield everything that is taught."""
    for room in (numpy_names, numbers, types, attributes, expressions, modules, operators, registering, passes):
        yield from room.lessons()
