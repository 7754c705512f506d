"""The graph of a TorchScript module, as records.

Only what the module itself says is read: nothing of it is run, and no source of it is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import frontends, running
from relay2relax.core.output import OutputFile
from relay2relax.core.torch_tensors import array_of

# Nodes that are no operators: constants, attributes, lists and tuples, branches and loops.
CONSTANT, ATTRIBUTE = "prim::Constant", "prim::GetAttr"
BRANCH, LOOP, RAISE = "prim::If", "prim::Loop", "prim::RaiseException"
# Branches and loops lie within each other so deep.
_DEEPEST = 64
# What is said or asserted, and computes nothing.
_SILENT = frozenset({"prim::Print", "aten::warn", "prim::SetAttr"})
LISTS = frozenset({"prim::ListConstruct", "prim::TupleConstruct"})
UNPACKED = frozenset({"prim::ListUnpack", "prim::TupleUnpack"})


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its kind (``aten::linear``), and the values that it takes and gives, by name.

    ``scope`` is the module that it was traced in, ``native`` PyTorch's node. ``blocks`` are the
    arms of a branch, or the body of a loop.
    """

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scope: str
    native: Any
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """What runs inside a node: what it takes, its nodes, and what it gives."""

    inputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    results: tuple[str, ...]

    def inner(self) -> Iterator[Node]:
        """Yield the nodes, those at any depth too."""
        return every_node(self.nodes)


def every_node(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield nodes, those within one before it."""
    for node in nodes:
        for block in node.blocks:
            yield from block.inner()
        yield node


@dataclass(frozen=True, slots=True)
class Input:
    """An input: dtype ("Float", …) and extents where the module states them."""

    name: str
    kind: str
    dtype: str | None
    shape: tuple[int | None, ...] | None


@dataclass(frozen=True, slots=True)
class TorchGraph:
    """A graph: its inputs, its nodes in the order in which they run, and what it returns.

    ``attributes`` has what the module holds, by the names of values: the name that the module
    gives it ("layer.0.weight"), and itself. ``kinds`` are the operators at any depth.
    """

    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    results: tuple[str, ...]
    attributes: Mapping[str, tuple[str, Any]]
    kinds: frozenset[str]
    native: Any


def read_graph(module: object) -> TorchGraph:
    """Return the graph of a traced or scripted module or function, calls inside it inlined.

    Raises UnsupportedError where PyTorch is not installed or ``module`` is something else.
    """
    torch = library()
    is_module = isinstance(module, torch.jit.ScriptModule)
    if not is_module and not isinstance(module, torch.jit.ScriptFunction):
        raise UnsupportedError(mistake(frontends.NOT_TORCHSCRIPT, found=type(module).__qualname__))
    graph: Any = getattr(module, "inlined_graph")  # noqa: B009 - what a type checker does not know
    given = list(graph.inputs())
    held: dict[str, tuple[str, Any]] = {given[0].debugName(): ("", module)} if is_module else {}
    whole = _block(graph, held, 0)
    inputs = tuple(map(_input, given[1:] if is_module else given))
    return TorchGraph(inputs, whole.nodes, whole.results, held, _kinds(graph), graph)


def _block(block: Any, held: dict[str, tuple[str, Any]], depth: int) -> Block:
    """Return a graph, or what a node holds; ``held`` gets the attributes that it asks for."""
    if depth > _DEEPEST:
        problem = f"its branches and loops lie more than {_DEEPEST} deep"
        raise UnsupportedError(mistake(frontends.FORM, node="the module", problem=problem))
    nodes: list[Node] = []
    for node in block.nodes():
        inputs = tuple(one.debugName() for one in node.inputs())
        outputs = tuple(one.debugName() for one in node.outputs())
        if node.kind() == ATTRIBUTE:
            path, owner = held[inputs[0]]
            name = node.s("name")
            held[outputs[0]] = (f"{path}.{name}" if path else name, getattr(owner, name))
            continue
        blocks = tuple(_block(one, held, depth + 1) for one in node.blocks())
        if node.kind() not in _SILENT:
            nodes.append(Node(node.kind(), inputs, outputs, node.scopeName(), node, blocks))
    inputs = tuple(one.debugName() for one in block.inputs())
    return Block(inputs, tuple(nodes), tuple(one.debugName() for one in block.outputs()))


def _kinds(graph: Any) -> frozenset[str]:
    """Return the kinds of operators, those in branches and loops too."""
    found: set[str] = set()
    stack = list(graph.nodes())
    while stack:
        node = stack.pop()
        found.add(node.kind())
        stack += [inner for block in node.blocks() for inner in block.nodes()]
    return frozenset(found - {CONSTANT, ATTRIBUTE, BRANCH, LOOP, RAISE} - LISTS - UNPACKED - _SILENT)


def write_renamed(graph: TorchGraph, names: Mapping[str, str], folder: Path) -> None:
    """Write PyTorch's text of a graph, its values called as ``names`` says, into a file of
    ``folder`` that TVM would call the same.
    """
    for node in every_node(graph.nodes):
        for output in node.native.outputs():
            output.setDebugName(names[output.debugName()])
    stamp = datetime.now().strftime("%m_%d_%Y_%H_%M_%S")
    OutputFile(folder / f"tvm_exported_c_graph_{stamp}.txt").write(str(graph.native).encode())


def library() -> Any:
    """Return PyTorch; raises UnsupportedError where it is not installed."""
    try:
        import torch
    except ImportError as error:
        lacking = mistake(running.LIBRARY, what="PyTorch, by which a TorchScript module is read,", problem=error)
        raise UnsupportedError(replace(lacking, help="pip install 'relay2relax[torch]'")) from error
    return torch


def _input(value: Any) -> Input:
    kind = value.type().kind()
    if kind != "TensorType":
        return Input(value.debugName(), kind, None, None)
    sizes = value.type().sizes()
    shape = None if sizes is None else tuple(sizes)
    return Input(value.debugName(), kind, value.type().scalarType(), shape)


def constant_of(node: Node) -> object:
    """Return the value of a ``prim::Constant``: a number, text, a tensor, a list of them, or
    None.
    """
    return node.native.output().toIValue()


def tensor_of(value: object) -> Array | None:
    """Return the array of a tensor of PyTorch's, None for anything else.

    Raises UnsupportedError for a tensor that numpy has no array of.
    """
    torch = library()
    if not isinstance(value, torch.Tensor):
        return None
    try:
        return array_of(value.cpu(), torch.int16)
    except (TypeError, RuntimeError) as error:
        found = f"a tensor of {value.dtype}, {value.layout}, which numpy has no array of"
        raise UnsupportedError(mistake(frontends.FORM, node="the module", problem=f"it holds {found}")) from error


def first_users(nodes: tuple[Node, ...]) -> Iterator[tuple[str, Node, bool]]:
    """Yield each value that nodes take, with the first node that takes it.

    Last comes whether it takes the value itself: what a list holds goes to the list's user.
    """
    seen: set[str] = set()
    lists: dict[str, tuple[str, ...]] = {}
    for node in every_node(nodes):
        if node.kind in LISTS:
            lists[node.outputs[0]] = node.inputs
            continue
        for name in node.inputs:
            itself = name not in lists
            for one in (name,) if itself else lists[name]:
                if one not in seen:
                    seen.add(one)
                    yield one, node, itself
