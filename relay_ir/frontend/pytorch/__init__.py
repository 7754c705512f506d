"""TorchScript modules as Relay.

torchscript.py   the graph of a module as plain records of nodes
naming.py        names of nodes, weights and spans, which are TVM's
importer.py      from_pytorch: the nodes of a graph, one after the other
context.py       what an operator's conversion asks and makes
operators/       a record per ATen operator, a file per family
"""

from relay2relax.relay_ir.frontend.pytorch.importer import from_pytorch

__all__ = ["from_pytorch"]
