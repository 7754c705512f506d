"""Long graphs, of any length, whose pages are looked at."""

from __future__ import annotations

import random

from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import InputAttrs, MSCGraph, MSCJoint, MSCTensor
from relay2relax.ops import relay_op
from relay2relax.relay_ir import TensorType

_OPERATORS = ("nn.relu", "add", "multiply", "tanh")


def long_graph(count: int, seed: int = 0) -> MSCGraph:
    """Return a graph of ``count`` nodes, which take what is one to seven nodes before them."""
    draw = random.Random(seed)
    attrs = InputAttrs("data", TensorType((1, 64), "float32"))
    nodes = [MSCJoint(0, "data", NodeKind.INPUT, "", (), (), (_tensor("data"),), {}, attrs)]
    for index in range(1, count):
        before, back = nodes[-1].name, nodes[max(0, index - draw.choice((1, 1, 1, 1, 2, 3, 7)))].name
        op = draw.choice(_OPERATORS)
        record = relay_op(op)
        assert record is not None
        operands = (before, back) if len(record.inputs) == 2 else (back,)
        name = f"{op.split('.')[-1]}_{index}"
        inputs = tuple(f"{one}:0" for one in operands)
        nodes.append(
            MSCJoint(index, name, NodeKind.OPERATOR, op, operands, inputs, (_tensor(name),), {}, record.attrs())
        )
    return MSCGraph("main", tuple(nodes), ("data",), nodes[-1].name)


def _tensor(name: str) -> MSCTensor:
    return MSCTensor(f"{name}:0", "float32", (1, 64))
