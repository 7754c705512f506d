"""What stands for constants of a script that was printed without its metadata.

``script()`` leaves the table out, and writes ``metadata["relax.expr.Constant"][0]`` where a
constant stands. Such a constant becomes a parameter, ``constant_0``, ``constant_1``, … by its place
in the table. Its type is what the operator that takes it and the types of its operands and its
result decide; where they leave a choice it is asked for by name. Nothing is guessed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias

from relay2relax.core.errors import Diagnostic, ParseError
from relay2relax.core.errors.table import script
from relay2relax.relax_ir.ir.expr import Function, IRModule, Var
from relay2relax.relax_ir.ir.struct_info import TensorStructInfo
from relay2relax.relax_ir.ir.visit import callees, free_variables
from relay2relax.tir.ir.expr import IntImm

# What constants are called in the table: until TVM 0.26, and from then on.
CONSTANTS = ("relax.expr.Constant", "ir.GenericConst")
# A constant: what the table calls it, and its place there.
Place: TypeAlias = "tuple[str, int]"


@dataclass(frozen=True, slots=True)
class _Tensor:
    shape: tuple[int, ...]
    dtype: str


# What is known of a call: the types of its arguments, None where they are not, and of its result,
# and its named arguments.
_Types: TypeAlias = Sequence["_Tensor | None"]
_Named: TypeAlias = Mapping[str, object]
_Decide: TypeAlias = Callable[[_Types, _Tensor, _Named], "_Tensor | None"]


@dataclass(slots=True, eq=False)
class OmittedConstants:
    """The constants that a script leaves out.

    ``types`` are those that are decided, or were told, by place; ``variables`` the parameters that
    stand for those that were met. ``told`` are the words of a constant that something was said of.
    """

    types: Mapping[Place, _Tensor]
    told: Sequence[str] = ()
    variables: dict[Place, Var] = field(default_factory=dict)

    def find(self, place: Place) -> Var | None:
        """Return the parameter for the constant at ``place``, None where its type is not known."""
        known = self.types.get(place)
        if known is not None and place not in self.variables:
            shape = tuple(IntImm(extent, "int64") for extent in known.shape)
            self.variables[place] = Var(f"constant_{place[1]}", TensorStructInfo(shape, known.dtype))
        return self.variables.get(place)

    def as_parameters(self, mod: IRModule) -> IRModule:
        """Return ``mod`` whose functions take the constants that they use, behind their parameters.

        Raises ParseError where a function that uses one is called, and for words that something was
        said of although the script does not have them.
        """
        met = {words_of(place) for place in self.variables}
        unknown = [word for word in self.told if word not in met]
        if unknown:
            title = f"a type is given for `{unknown[0]}`, which the script does not leave out"
            raise ParseError(Diagnostic(title, kind=script.NAME))
        order = {var: place for place, var in self.variables.items()}
        called = {callee for func in mod.functions.values() for callee in callees(mod, func)}
        functions = dict(mod.functions)
        for name, func in mod.functions.items():
            if isinstance(func, Function):
                used = sorted((var for var in free_variables(func) if var in order), key=order.__getitem__)
                if used and name in called:
                    title = f"the function {name.name}, which others call, uses constants that the script leaves out"
                    raise ParseError(Diagnostic(title, help="print it with show_meta=True", kind=script.NAME))
                functions[name] = replace(func, params=(*func.params, *used)) if used else func
        return replace(mod, functions=functions) if order else mod


def words_of(place: Place) -> str:
    """Return the words that stand for the constant at ``place``."""
    return f'metadata["{place[0]}"][{place[1]}]'


def omitted_constants(tree: ast.Module, told: Mapping[str, Mapping[str, object]]) -> OmittedConstants:
    """Return the constants that ``tree`` leaves out, with the types that it decides, and those that
    are ``told`` (``shape`` and ``dtype``) by the words that stand for them.

    Raises ParseError for something told that is no type.
    """
    types: dict[Place, _Tensor] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            _function(node, types)
    places = {words_of(place): place for place in _places(tree)}
    for word, said in told.items():
        match said:
            case {"shape": list() | tuple() as shape, "dtype": str() as dtype} if all(
                isinstance(extent, int) and extent >= 0 for extent in shape
            ):
                if word in places:
                    types[places[word]] = _Tensor(tuple(shape), dtype)
            case _:
                title = f"what is given for `{word}` is no type"
                raise ParseError(Diagnostic(title, label='expected {"shape": […], "dtype": "…"}', kind=script.NAME))
    return OmittedConstants(types, tuple(told))


def _places(tree: ast.AST) -> list[Place]:
    return [place for node in ast.walk(tree) if (place := _place(node)) is not None]


def _place(node: ast.AST) -> Place | None:
    """Return the place in the table that ``node`` refers to, None for anything else."""
    match node:
        case ast.Subscript(
            ast.Subscript(ast.Name("metadata"), ast.Constant(str() as key)), ast.Constant(int() as number)
        ):
            return (key, number) if key in CONSTANTS else None
    return None


def _function(node: ast.FunctionDef, types: dict[Place, _Tensor]) -> None:
    """Note the types that the bindings of one function decide."""
    known: dict[str, _Tensor | None] = {arg.arg: _annotated(arg.annotation) for arg in node.args.args}
    for inner in ast.walk(node):
        match inner:
            case ast.AnnAssign(ast.Name(name), annotation):
                known[name] = _annotated(annotation)
            case ast.Return(ast.expr() as value) if (place := _place(value)) is not None:
                _note(types, place, _annotated(node.returns))
    for inner in ast.walk(node):
        match inner:
            case ast.AnnAssign(_, annotation, ast.Call(func, args, keywords)):
                result = _annotated(annotation)
                name = ast.unparse(func).removeprefix("R.")
                if result is None or name not in _DECIDE:
                    continue
                named = {one.arg: _literal(one.value) for one in keywords if one.arg is not None}
                given = [known.get(arg.id) if isinstance(arg, ast.Name) else None for arg in args]
                for number, arg in enumerate(args):
                    if (place := _place(arg)) is not None and (decide := _DECIDE[name].get(number)) is not None:
                        _note(types, place, decide(given, result, named))


def _note(types: dict[Place, _Tensor], place: Place, found: _Tensor | None) -> None:
    if found is not None:
        types.setdefault(place, found)


def _annotated(node: ast.expr | None) -> _Tensor | None:
    """Return the tensor of static shape that ``R.Tensor((2, 3), dtype="float32")`` says."""
    match node:
        case ast.Call(ast.Attribute(ast.Name("R"), "Tensor"), [shape, *rest], keywords):
            extents = _literal(shape)
            dtype = next(
                (_literal(one.value) for one in keywords if one.arg == "dtype"), _literal(rest[0]) if rest else ""
            )
            if isinstance(extents, tuple) and all(isinstance(one, int) for one in extents) and isinstance(dtype, str):
                return _Tensor(extents, dtype) if dtype else None
    return None


def _literal(node: ast.expr) -> object:
    """Return what a literal says; anything else stands for itself."""
    match node:
        case ast.Constant(value):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int() as value)):
            return -value
        case ast.List(elements) | ast.Tuple(elements):
            return tuple(map(_literal, elements))
    return node


# What operators decide of their arguments, by the places of these.


def _at_axes(names: Sequence[str]) -> _Decide:
    """Return what decides a parameter that has the data's extents at the axes ``names`` say."""

    def decide(args: _Types, result: _Tensor, named: _Named) -> _Tensor | None:
        axes = next((named[name] for name in names if name in named), None)
        axes = (axes,) if isinstance(axes, int) else axes
        data = args[0]
        if data is None or not isinstance(axes, tuple):
            return None
        rank = len(data.shape)
        if not all(isinstance(axis, int) and -rank <= axis < rank for axis in axes):
            return None
        return _Tensor(tuple(data.shape[axis] for axis in axes), data.dtype)

    return decide


def _turned(args: _Types, result: _Tensor, named: _Named) -> _Tensor | None:
    """Return what has the shape of the result once its axes are permuted."""
    rank = len(result.shape)
    axes = named.get("axes")
    axes = tuple(reversed(range(rank))) if axes is None else axes
    if not isinstance(axes, tuple) or sorted(axes) != list(range(rank)):
        return None
    return _Tensor(tuple(result.shape[axes.index(axis)] for axis in range(rank)), result.dtype)


def _class_weights(args: _Types, result: _Tensor, named: _Named) -> _Tensor | None:
    """Return a weight for each class of the predictions."""
    data = args[0]
    return None if data is None or not data.shape else _Tensor((data.shape[min(1, len(data.shape) - 1)],), data.dtype)


def _kernel(args: _Types, result: _Tensor, named: _Named) -> _Tensor | None:
    """Return the weight of a convolution, where only one size of it gives the result."""
    data, groups = args[0], named.get("groups", 1)
    layouts = [named.get(name) for name in ("data_layout", "kernel_layout")]
    out = named.get("out_layout") or layouts[0]
    if data is None or not isinstance(groups, int) or not isinstance(out, str):
        return None
    inner, kernel = layouts
    if not (isinstance(inner, str) and isinstance(kernel, str) and (inner + kernel + out).isalpha()):
        return None
    extents = {"O": result.shape[out.index("C")], "I": data.shape[inner.index("C")] // groups}
    spatial = [letter for letter in inner if letter not in "NC"]
    strides, dilation, padding = (_numbers(named.get(name)) for name in ("strides", "dilation", "padding"))
    if len(strides) != len(spatial) or len(dilation) != len(spatial) or len(padding) != 2 * len(spatial):
        return None
    for number, letter in enumerate(spatial):
        room = data.shape[inner.index(letter)] + padding[number] + padding[number + len(spatial)]
        sizes = [
            size
            for size in range(1, room + 1)
            if room >= (span := dilation[number] * (size - 1) + 1)
            and (room - span) // strides[number] + 1 == result.shape[out.index(letter)]
        ]
        if len(sizes) != 1:
            return None
        extents[letter] = sizes[0]
    if not set(kernel) <= set(extents) or prod(extents.values()) == 0:
        return None
    return _Tensor(tuple(extents[letter] for letter in kernel), data.dtype)


def _numbers(value: object) -> tuple[int, ...]:
    found = value if isinstance(value, tuple) else ()
    return found if all(isinstance(one, int) and one >= 0 for one in found) else ()


_CHANNELS = dict.fromkeys(range(1, 5), _at_axes(("axis",)))
_GROUPS = dict.fromkeys((1, 2), _at_axes(("channel_axis",)))
_AXES = dict.fromkeys((1, 2), _at_axes(("axes",)))
_DECIDE: Mapping[str, Mapping[int, _Decide]] = {
    "nn.batch_norm": _CHANNELS,
    "nn.conv1d": {1: _kernel},
    "nn.conv2d": {1: _kernel},
    "nn.conv3d": {1: _kernel},
    "nn.group_norm": _GROUPS,
    "nn.instance_norm": _GROUPS,
    "nn.layer_norm": _AXES,
    "nn.nll_loss": {2: _class_weights},
    "nn.rms_norm": {1: _at_axes(("axes",))},
    "permute_dims": {0: _turned},
}
