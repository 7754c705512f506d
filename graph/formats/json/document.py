"""The forms of a graph's JSON document, which the writer makes and the reader checks.

MSC's own layout is ``Graph`` of ``Node``. What MSC drops stands under the key ``relay2relax`` of
the document, of its nodes, and of the graphs inside it.

Of a Relay program that part holds graphs that nodes hold and of other functions (``graphs``; the
first is the document itself), and one Relay JSON document (``objects``) of everything typed:
attributes, annotations, spans. Nodes refer into both by index. Of a Relax program it is the
``script``, with constants by the names of the weights; these ``weights``; and the ``names`` of the
nodes of each graph, in order, for a script has Python's names. A script cannot say which nodes are
fused: it has their parts, and ``fused`` says what became one node of them. Without that part a
document is what MSC reads and writes.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeAlias, TypeVar, Union

from relay2relax.core.schema import Extent, Form, OpenExtent, field

EXTRA = "relay2relax"
VERSION: Literal[1] = 1

N = TypeVar("N")
# A place in the list of typed objects; null for nothing.
Object: TypeAlias = Union[Extent, None]
# A number as Python writes it; null where a weight has dimensions.
Scalar: TypeAlias = Union[str, None]


# --- MSC's own ------------------------------------------------------------------------------------


class Tensor(Form):
    """A tensor; a symbolic extent is -1."""

    name: str
    alias: str
    dtype: str
    layout: str
    shape: tuple[OpenExtent, ...]
    prims: tuple[str, ...]


class Prim(Form):
    """A symbolic extent."""

    index: Extent
    name: str
    optype: str
    parents: tuple[str, ...]
    attrs: dict[str, str]


class Node(Form):
    """A node, its attributes as strings."""

    index: Extent
    name: str
    shared_ref: str
    optype: str
    parents: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[Tensor, ...]
    attrs: dict[str, str]
    weights: dict[str, Tensor]


class Graph(Form, Generic[N]):
    """A graph of nodes of one form."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[N, ...]
    prims: tuple[Prim, ...]


# --- attributes of a node, by kind ----------------------------------------------------------------


class Input(Form, tag_field="kind", tag="input"):
    """``InputAttrs``."""

    hint: str
    captured: bool
    annotation: Object
    virtual_device: Object


class Constant(Form, tag_field="kind", tag="constant"):
    """``ConstantAttrs``."""

    scalar: Scalar


class GetItem(Form, tag_field="kind", tag="get_item"):
    """``GetItemAttrs``."""

    index: Extent


class Call(Form, tag_field="kind", tag="call"):
    """``CallAttrs``."""

    type_args: tuple[Extent, ...]
    attrs: Object


class Global(Form, tag_field="kind", tag="global"):
    """``GlobalAttrs``."""

    name: str


class Function(Form, tag_field="kind", tag="function"):
    """``FunctionAttrs``."""

    graph: Extent
    itself: str


class Fused(Form, tag_field="kind", tag="fused"):
    """``FusedAttrs``."""

    graph: Extent


class If(Form, tag_field="kind", tag="if"):
    """``IfAttrs``: the graphs of both branches."""

    graphs: tuple[Extent, Extent]


class Pattern(Form):
    """A pattern of a clause."""

    kind: Literal["wildcard", "variable", "tuple", "constructor"]
    parts: tuple[Pattern, ...]
    constructor: tuple[str, str]
    span: Object


class Match(Form, tag_field="kind", tag="match"):
    """``MatchAttrs``: as many patterns as graphs."""

    patterns: tuple[Pattern, ...]
    graphs: tuple[Extent, ...]
    complete: bool


class Constructor(Form, tag_field="kind", tag="constructor"):
    """``ConstructorAttrs``."""

    data_type: str
    constructor: str


class Operator(Form, tag_field="kind", tag="operator"):
    """The attributes of an operator, or of a node that has none."""

    attrs: Object


Attrs: TypeAlias = Union[Input, Constant, GetItem, Call, Global, Function, Fused, If, Match, Constructor, Operator]


# --- what MSC drops of a Relay program ------------------------------------------------------------


class NodeExtra(Form):
    """What a node has beside MSC's form."""

    operands: tuple[str, ...]
    scope: tuple[str, ...]
    span: Object
    attrs: Attrs
    attr_operands: dict[str, Extent]


class RelayNode(Node):
    """A node of a Relay program."""

    extra: NodeExtra = field(name=EXTRA)


class FunctionExtra(Form):
    """What a graph has beside MSC's form."""

    params: tuple[str, ...]
    captured: tuple[str, ...]
    result: str
    ret_type: Object
    type_params: tuple[Extent, ...]
    attrs: Object
    span: Object
    virtual_device: Object
    inferred: Object
    weight_spans: dict[str, Extent]


class InnerGraph(Graph[RelayNode]):
    """The graph of a branch, a clause, a function literal, or another function of the module."""

    extra: FunctionExtra = field(name=EXTRA)


class ModuleExtra(FunctionExtra, omit_defaults=True):
    """What the entry function has, and what belongs to its module.

    ``entries`` stands only where there are such, as in a library.
    """

    version: Literal[1]
    functions: dict[str, Extent]
    module_attrs: Object
    type_definitions: tuple[Extent, ...]
    graphs: tuple[InnerGraph, ...]
    objects: dict[str, Any]
    entries: tuple[str, ...] = ()


class RelayDocument(Graph[RelayNode]):
    """The document of a Relay program."""

    extra: ModuleExtra = field(name=EXTRA)


# --- what MSC drops of a Relax program ------------------------------------------------------------


class Weight(Tensor):
    """A constant of a script, which the script only names."""

    scalar: Scalar


class FusedNode(Form):
    """Nodes of a script that are one node.

    ``params`` are the nodes that its operands stand for. The last of ``parts`` is their result.
    ``weights`` are those that the node holds, by role.
    """

    name: str
    pattern: str
    params: tuple[str, ...]
    parts: tuple[str, ...]
    weights: dict[str, str]


class FusedGraph(Form):
    """The fused nodes of a function.

    ``order`` are the names of all its nodes, and ``prims`` its symbolic extents, which the order of
    the script would number otherwise.
    """

    order: tuple[str, ...]
    prims: tuple[Prim, ...]
    nodes: tuple[FusedNode, ...]


class ScriptExtra(Form, omit_defaults=True):
    """A Relax program as a script.

    ``fused`` are the functions with fused nodes, by name; it stands only where there are such.
    """

    version: Literal[1]
    script: str
    weights: tuple[Weight, ...]
    names: dict[str, tuple[str, ...]]
    fused: dict[str, FusedGraph] = field(default_factory=dict)


class RelaxDocument(Graph[Node]):
    """The document of a Relax program."""

    extra: ScriptExtra = field(name=EXTRA)


# --- which of them a document is ------------------------------------------------------------------


class HeadExtra(Form, forbid_unknown_fields=False):
    """The version, and whether there is a script."""

    version: int
    script: object = None


class Head(Form, forbid_unknown_fields=False):
    """As much of a document as tells its form."""

    extra: HeadExtra = field(name=EXTRA)
