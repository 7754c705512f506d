"""What the importer knows of an ATen operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value

# Makes the value of a node. Of several outputs it makes a tuple, with None for what Relay cannot
# say.
Convert: TypeAlias = Callable[[Conversion], Value]
# Whether PyTorch takes a node of these arguments apart.
Apart: TypeAlias = Callable[[Sequence[Any]], bool]


def always(args: Sequence[Any]) -> bool:
    """Whatever the arguments are."""
    return True


@dataclass(frozen=True, slots=True)
class AtenOperator:
    """An operator: ``name`` as graphs have it, and what makes Relay of it.

    ``view``: PyTorch's result may share its memory with the first argument, so that what is
    written into one is seen in the other. ``apart``: of which arguments PyTorch takes it apart
    before where a program is exported, None for none.
    """

    name: str
    convert: Convert
    view: bool = False
    apart: Apart | None = None


def records(converts: Mapping[str, Convert], view: bool = False, apart: Apart | None = None) -> Sequence[AtenOperator]:
    """Return the records of operators by their names; ``aten::`` may be left out."""
    named = {name if "::" in name else f"aten::{name}": convert for name, convert in converts.items()}
    return [AtenOperator(name, convert, view, apart) for name, convert in named.items()]
