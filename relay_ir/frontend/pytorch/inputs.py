"""The inputs of a module as the user states them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import NoReturn, TypeAlias, Union, cast

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import frontends
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.frontend.pytorch.dtypes import dtype_of
from relay2relax.relay_ir.frontend.pytorch.torchscript import Input
from relay2relax.relay_ir.ir.expr import Var
from relay2relax.tir.extent import Extent, static

Shape: TypeAlias = Sequence[Extent]
InputInfo: TypeAlias = tuple[str, Union[Shape, tuple[Shape, str]]]
# What TorchScript puts behind the names of values: `x.1`.
_NUMBERED = re.compile(r"\.\d+$")
# Name, shape and dtype of an input.
Parts: TypeAlias = "tuple[str, Shape, str | None]"


def input_variables(inputs: Sequence[Input], infos: Sequence[InputInfo], default_dtype: str) -> Mapping[str, Var]:
    """Return a variable for each input, by the name of its value.

    Raises UnsupportedError where ``infos`` are not those of ``inputs``.
    """
    if not isinstance(infos, (list, tuple)):
        _wrong(f"a list of inputs is expected, found {infos!r}")
    if len(infos) != len(inputs):
        _wrong(f"the model has {len(inputs)} inputs, {len(infos)} are stated")
    found: dict[str, Var] = {}
    for one, info in zip(inputs, infos, strict=True):
        name, shape, stated = parts_of(info)
        if one.kind != "TensorType":
            _wrong(f"input {name!r} of the model is not a tensor, but a {one.kind}")
        dtype = dtype_of(one.dtype or stated or default_dtype)
        # What the model says counts, as in TVM's import.
        if dtype is None or (stated and dtype_of(stated) is None):
            _wrong(f"input {name!r} is {one.dtype or 'of a dtype that Relay has'} in the model, {stated!r} is stated")
        if one.shape is not None and not fits(one.shape, shape):
            _wrong(f"input {name!r} has the shape {one.shape} in the model, {list(shape)} is stated")
        found[one.name] = var(name, shape=tuple(shape), dtype=dtype)
    names = [one.name for one in found.values()]
    if len(set(names)) != len(names):
        _wrong(f"two inputs have one name: {', '.join(names)}")
    return found


def own_infos(inputs: Sequence[Input], shapes: Mapping[str, Shape]) -> list[InputInfo]:
    """Return what a graph says of its inputs, with ``shapes`` by name for those that have none.

    Raises UnsupportedError for inputs whose shapes are not known.
    """
    names = [_NUMBERED.sub("", one.name) for one in inputs]
    if len(set(names)) != len(names):
        names = [one.name for one in inputs]
    found: list[InputInfo] = []
    for name, one in zip(names, inputs, strict=True):
        shape = one.shape if one.shape is not None and None not in one.shape else shapes.get(name)
        if shape is None:
            said = mistake(frontends.INPUTS, problem=f"the shape of input {name!r} is not known; there are {names}")
            help = f"state it: [({name!r}, [1, 3]), …] in Python, --dims {name}=1,3 behind a command"
            raise UnsupportedError(dataclasses.replace(said, help=help))
        found.append((name, cast(Shape, shape)))
    return found


def fits(own: Sequence[int | None], stated: Shape) -> bool:
    """Whether stated extents are those of the model; where one says none, any will do."""
    pairs = [(a, static(b)) for a, b in zip(own, stated, strict=False)]
    return len(own) == len(stated) and all(a is None or b is None or a == b for a, b in pairs)


def parts_of(info: object) -> Parts:
    """Return name, shape and dtype of a stated input."""
    dtype: str | None = None
    match info:
        case (str(name), (shape, str(stated))):
            dtype = stated
        case (str(name), shape):
            pass
        case _:
            _wrong(f"(name, shape) or (name, (shape, dtype)) is expected, found {info!r}")
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        _wrong(f"the shape of input {name!r} is expected to be a list of extents, found {shape!r}")
    return name, shape, dtype


def refuse_inputs(problem: str) -> NoReturn:
    """Raise UnsupportedError: what is stated of inputs is not the model's."""
    _wrong(problem)


def _wrong(problem: str) -> NoReturn:
    raise UnsupportedError(mistake(frontends.INPUTS, problem=problem))
