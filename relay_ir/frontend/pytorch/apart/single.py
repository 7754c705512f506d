"""One operator, taken apart by PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import frontends
from relay2relax.relay_ir.frontend.pytorch.operators import aten_operators
from relay2relax.relay_ir.frontend.pytorch.torchscript import library

Native: TypeAlias = Any
# So many answers of PyTorch's are kept.
_KEPT = 256


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a tensor among those that are given."""

    place: int


@dataclass(frozen=True, slots=True)
class Request:
    """A call of an operator: its arguments with slots for tensors, and shapes and dtypes of these.

    ``said`` has the arguments as text: 1, 1.0 and True are equal, and other arguments.
    """

    operator: Native
    args: tuple[Native, ...]
    keywords: tuple[tuple[str, Native], ...]
    tensors: tuple[tuple[tuple[int, ...], Native], ...]
    said: str

    @classmethod
    def of(
        cls,
        operator: Native,
        args: Sequence[Native],
        keywords: Mapping[str, Native],
        tensors: Sequence[tuple[tuple[int, ...], Native]],
    ) -> Request:
        """Return a request; lists become tuples."""
        named = tuple((name, _frozen(one)) for name, one in keywords.items())
        return cls(operator, _frozen(args), named, tuple(tensors), repr((args, named)))


def _frozen(value: Native) -> Native:
    return tuple(_frozen(one) for one in value) if isinstance(value, (list, tuple)) else value


def _filled(value: Native, tensors: Sequence[Native]) -> Native:
    if isinstance(value, Slot):
        return tensors[value.place]
    return [_filled(one, tensors) for one in value] if isinstance(value, tuple) else value


@lru_cache(maxsize=_KEPT)
def graph_of(request: Request) -> Native:
    """Return the graph that PyTorch takes an operator apart into, of the tensors in order.

    Raises UnsupportedError where PyTorch does not take it apart.
    """
    torch = library()

    def run(*tensors: Native) -> Native:
        keywords = {name: _filled(one, tensors) for name, one in request.keywords}
        return request.operator(*_filled(request.args, tensors), **keywords)

    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            from torch.fx.experimental.proxy_tensor import make_fx

            given = [torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in request.tensors]
            graph = make_fx(run, decomposition_table=decompositions(), tracing_mode="fake")(*given)
            if any(_changes(node) for node in graph.graph.nodes):
                graph = make_fx(torch.func.functionalize(graph), tracing_mode="fake")(*given)
            return graph
    except Exception as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UnsupportedError(said[:200], kind=frontends.FORM) from error


def _changes(node: Native) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


@lru_cache(maxsize=None)
def decompositions() -> Mapping[Native, Native]:
    """Return PyTorch's decompositions of operators that have no record."""
    torch = library()
    table = torch.export.default_decompositions()
    known = aten_operators()
    for operator in list(table):
        record = known.get(kind_of(operator))
        if record is not None and record.apart is None:
            table.pop(operator)
    found: Mapping[Native, Native] = dict(table)
    return found


def kind_of(target: Native) -> str:
    """Return the name of an operator as records have it: ``aten::linear``."""
    name = getattr(target, "name", None)
    if callable(name):
        return str(name()).partition(".")[0]
    return str(getattr(target, "__name__", target))
