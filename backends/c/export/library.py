"""A Relax function as a C library sees it: parameters with C names, where constants lie, what the
results are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Union

import numpy as np

from relay2relax.backends.c.codegen.plan import ALIGNMENT, check_bytes
from relay2relax.backends.c.codegen.program import Entry
from relay2relax.backends.c.dtypes import C_TYPES
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, UnsupportedError
from relay2relax.core.errors.table import running
from relay2relax.core.words import Identifier, word
from relay2relax.relax_ir.ir import expr as rx
from relay2relax.relax_ir.ir.names import C_LIBRARY, NameSupply
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo
from relay2relax.relax_ir.ir.visit import bindings
from relay2relax.tir.arith.evaluate import is_computed
from relay2relax.tir.extent import as_prim
from relay2relax.tir.ir.expr import Buffer, PrimExpr, Var
from relay2relax.tir.ir.visit import variables
from relay2relax.tir.script.names import identifier

# The file of weights begins with so many bytes that say what it is.
MARK_BYTES = 64
# Words of C and C++ that cannot name a parameter, and what the generated functions themselves call
# things.
_RESERVED = C_LIBRARY | frozenset(
    {
        "EOF", "INFINITY", "NAN", "NULL", "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand",
        "bitor", "bool", "break", "bytes", "case", "catch", "char", "char16_t", "char32_t", "class", "compl",
        "const", "const_cast", "constexpr", "continue", "decltype", "default", "delete", "do", "double",
        "dynamic_cast", "else", "enum", "errno", "explicit", "export", "extern", "false", "float", "for",
        "friend", "goto", "if", "inline", "int", "linux", "long", "model", "mutable", "namespace", "new",
        "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public",
        "r2r_a", "r2r_aligned", "r2r_arena", "r2r_arena_size", "r2r_k", "r2r_kept", "r2r_s", "register",
        "reinterpret_cast", "restrict", "return", "short", "signed", "sizeof", "static", "static_assert",
        "static_cast", "stderr", "stdin", "stdout", "struct", "switch", "template", "this", "thread_local",
        "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "union", "unix", "unsigned", "using",
        "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output of the exported function: its C name, what the model calls it, extents by
    C name, type.
    """

    name: str
    original: str
    shape: tuple[PrimExpr, ...]
    dtype: str

    @property
    def c_type(self) -> str:
        """The C type of an element."""
        return C_TYPES[self.dtype]


@dataclass(slots=True)
class Weights:
    """Constants in the order of the file, with their places in memory: kept, or given up once used
    ahead.
    """

    mark: bytes = b""
    kept: list[Array] = field(default_factory=list)
    sources: list[Array] = field(default_factory=list)
    places: dict[int, str] = field(default_factory=dict)

    def place(self, array: Array, only_ahead: bool = False) -> str:
        """Return where ``array`` lies, as a C expression; it is added where it is new."""
        if id(array) not in self.places:
            base, arrays = ("r2r_sources", self.sources) if only_ahead else ("r2r_kept", self.kept)
            self.places[id(array)] = f"{base} + {padded_bytes(arrays)}"
            arrays.append(array)
        return self.places[id(array)]

    def keep(self, arrays: Iterable[Array]) -> None:
        """Add arrays that are read on every call."""
        for array in arrays:
            self.place(array)

    def content(self) -> list[bytes | memoryview]:
        """Return the parts of the file; arrays that are contiguous are not copied."""
        parts: list[bytes | memoryview] = [self.mark]
        for array in (*self.kept, *self.sources):
            parts += [np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, bytes(-array.nbytes % ALIGNMENT)]
        return parts


def padded_bytes(arrays: Sequence[Array]) -> int:
    """Return the bytes of ``arrays``, each filled up to the alignment."""
    return sum(-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays)


@dataclass(frozen=True, slots=True)
class Library:
    """What the texts are made of.

    ``buffers`` are what the entry is called with, ``constants`` and ``sources`` the constants it
    reads on every call and ahead: C expressions. ``copies`` are results that are another result, an
    input or a constant. ``conditions`` on extents are looked at before anything is read. ``sets``
    are the instruction sets among which the library chooses, none where it is made for one.
    ``embedded`` weights lie in the library itself, between ``r2r_weights`` and ``r2r_weights_end``.
    """

    name: str
    extents: Mapping[Var, Identifier]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    entry: Entry | None
    buffers: tuple[str, ...]
    copies: tuple[tuple[int, str], ...]
    weights: Weights
    constants: tuple[str, ...]
    sources: tuple[str, ...]
    sets: tuple[str, ...] = ()
    conditions: tuple[PrimExpr, ...] = ()
    embedded: bool = False

    @property
    def has_weights(self) -> bool:
        """Whether there are weights."""
        return bool(self.weights.kept or self.weights.sources)

    @property
    def reads_file(self) -> bool:
        """Whether there is a file of weights."""
        return self.has_weights and not self.embedded


def c_name(name: str) -> str:
    """Return ``name`` as a C identifier that means nothing else."""
    legal = _hint(name)
    return f"{legal}_" if legal in _RESERVED else legal


def _hint(name: str) -> str:
    # Names that begin with an underscore may be the compiler's own.
    legal = identifier(name)
    return f"v{legal}" if legal.startswith("_") else legal


# A parameter, a constant, the number of one of the call's results, or a tuple of values.
_Value = Union[rx.Var, rx.Constant, int, tuple["_Value", ...]]


class Block:
    """A function of at most one ``call_tir``: what that is given, and what is returned."""

    def __init__(self, function: rx.Function) -> None:
        self.params = function.params
        self.call: rx.CallTIR | None = None
        self.problems: list[Diagnostic] = []
        self.values: dict[rx.Var, _Value] = {}
        for param in function.params:
            self.values[param] = param
            if not _is_known(param.info):
                self.problems.append(
                    Diagnostic(f"parameter {param.name!r} is not a tensor whose shape is known", kind=running.EXPORT)
                )
        for binding in bindings(function.body):
            self.bind(binding)
        leaves: list[_Value] = [self.value(function.body.body)]
        self.results: list[rx.Var | rx.Constant | int] = []
        while leaves:
            leaf = leaves.pop()
            if isinstance(leaf, tuple):
                leaves += reversed(leaf)
            else:
                self.results.append(leaf)
        if self.problems:
            title = "main is not one block of tensor programs, so it cannot be exported as C"
            raise UnsupportedError([Diagnostic(title, kind=running.EXPORT), *self.problems])
        given: tuple[rx.Expr, ...] = () if self.call is None else self.call.args
        self.args = [self.value(arg) for arg in given]

    def bind(self, binding: rx.Binding | rx.MatchCast) -> None:
        self.values[binding.var] = 0
        match binding:
            case rx.Binding(var, rx.CallTIR() as call) if self.call is None:
                self.call = call
                self.values[var] = 0 if len(call.out) == 1 else tuple(range(len(call.out)))
            case rx.Binding(var, rx.Var() | rx.Constant() | rx.Tuple() | rx.TupleGetItem() as value):
                self.values[var] = self.value(value)
            case rx.MatchCast(var):
                self.refuse(f"{var.name!r} has a shape that is known only when the program runs")
            case rx.Binding(var, rx.If()):
                self.refuse(f"{var.name!r} is the result of a branch")
            case rx.Binding(var, rx.CallDPSPacked() | rx.Call(op=rx.ExternFunc())):
                self.refuse(f"{var.name!r} is the result of a packed function")
            case rx.Binding(var, rx.Call(op=rx.GlobalVar() | rx.Var()) | rx.Function()):
                self.refuse(f"{var.name!r} is a function, or the result of one")
            case rx.Binding(var):
                self.refuse(f"{var.name!r} does not belong to the one block of tensor programs")

    def refuse(self, title: str) -> None:
        self.problems.append(Diagnostic(title, kind=running.EXPORT))

    def value(self, expr: rx.Expr) -> _Value:
        match expr:
            case rx.Var():
                return self.values[expr]
            case rx.Constant():
                return expr
            case rx.Tuple(fields):
                return tuple(self.value(one) for one in fields)
            case rx.TupleGetItem(source, index):
                whole = self.value(source)
                return whole[index] if isinstance(whole, tuple) else whole
        self.refuse(f"{type(expr).__name__} is not a tensor")
        return 0


def _is_known(info: StructInfo) -> bool:
    return isinstance(info, TensorStructInfo) and info.shape is not None and info.dtype in C_TYPES


def describe(
    name: str,
    block: Block,
    entry: Entry | None,
    constants: Mapping[Buffer, Array],
    weights: Weights,
    asked: Sequence[PrimExpr],
) -> Library:
    """Return the library of ``block``, whose call is carried out by ``entry``.

    ``weights`` get what it needs; ``asked`` is what operators ask of extents. Raises
    UnsupportedError for a tensor that no machine has memory for.
    """
    supply = NameSupply()
    for reserved in _RESERVED:
        supply.reserve(reserved)
    infos = [param.info for param in block.params if isinstance(param.info, TensorStructInfo)]
    shapes = [tuple(as_prim(extent) for extent in info.shape or ()) for info in infos]
    symbols = dict.fromkeys(var for shape in shapes for extent in shape for var in variables(extent))
    extents = {var: word(supply.fresh(_hint(var.name), "_")) for var in symbols}
    inputs = tuple(
        Tensor(supply.fresh(_hint(param.name), "_"), param.name, shape, info.dtype)
        for param, shape, info in zip(block.params, shapes, infos, strict=True)
    )
    given = dict(zip(block.params, inputs, strict=True))

    def place(value: _Value) -> str:
        """Return where an operand of the call lies."""
        if isinstance(value, rx.Var):
            return given[value].name
        if isinstance(value, rx.Constant):
            return weights.place(value.data)
        raise UnsupportedError(f"{value!r} is not an operand of a tensor program", kind=running.EXPORT)

    outputs, copies, made = _results(block, entry, supply, place)
    _check_memory((*inputs, *outputs), entry)
    buffers = [place(value) for value in block.args]
    read_always, sources = list[str](), list[str]()
    if entry is not None:
        count = entry.func.num_outputs
        if len(made) < count or any(var not in extents for var in entry.variables):
            raise UnsupportedError(
                "main computes what it does not return, or on extents that no parameter has", kind=running.EXPORT
            )
        buffers += [made[number] for number in range(count)]
        read_always = [weights.place(constants[buffer]) for buffer in entry.constants]
        sources = [weights.place(constants[buffer], only_ahead=True) for buffer in entry.sources]
    return Library(
        name,
        extents,
        inputs,
        tuple(outputs),
        entry,
        tuple(buffers),
        tuple(copies),
        weights,
        tuple(read_always),
        tuple(sources),
        conditions=_conditions(entry, asked, extents),
    )


def _check_memory(tensors: Iterable[Tensor], entry: Entry | None) -> None:
    for tensor in tensors:
        check_bytes(tensor.original, tensor.shape, tensor.dtype)
    for arena in () if entry is None else (entry.arena, entry.scratch, entry.prepared):
        for buffer in arena.offsets:
            check_bytes(buffer.name, buffer.shape, buffer.dtype)


def _conditions(entry: Entry | None, asked: Sequence[PrimExpr], extents: Mapping[Var, str]) -> tuple[PrimExpr, ...]:
    needed = () if entry is None else (one.condition for one in entry.relations)
    return tuple(one for one in (*asked, *needed) if is_computed(one, extents))


def _results(
    block: Block, entry: Entry | None, supply: NameSupply, place: Callable[[_Value], str]
) -> tuple[list[Tensor], list[tuple[int, str]], dict[int, str]]:
    """Return the outputs, those that are copied from a place, and what the call's results are
    called by number.
    """
    outputs: list[Tensor] = []
    copies: list[tuple[int, str]] = []
    made: dict[int, str] = {}
    for number, value in enumerate(block.results):
        title = "result" if len(block.results) == 1 else f"result{number}"
        own = supply.fresh(title, "_")
        if isinstance(value, int):
            assert entry is not None
            buffer = entry.func.buffers[value - entry.func.num_outputs]
            outputs.append(Tensor(own, title, tuple(buffer.shape), buffer.dtype))
            if made.setdefault(value, own) is not own:
                copies.append((number, made[value]))
        else:
            info = value.info
            assert isinstance(info, TensorStructInfo)
            outputs.append(Tensor(own, title, tuple(as_prim(extent) for extent in info.shape or ()), info.dtype))
            copies.append((number, place(value)))
    return outputs, copies, made
