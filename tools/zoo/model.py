"""A model of the zoo: what makes it, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Model:
    """A model: ``make`` returns a module in evaluation and its inputs."""

    library: str
    name: str
    make: Callable[[], tuple[Any, Sequence[Any]]]
