"""Modules and programs of PyTorch as Relay.

archive.py       what files hold, looked at before PyTorch reads them
files.py         programs in files
torchscript.py   the graph of a TorchScript module as plain records of nodes
naming.py        names of nodes, weights and spans, which are TVM's
importer.py      from_pytorch: the nodes of a TorchScript graph, one after the other
exported.py      programs of torch.export
context.py       what an operator's conversion asks and makes
operators/       a record per ATen operator, a file per family
"""

from relay2relax.relay_ir.frontend.pytorch.importer import from_pytorch

__all__ = ["from_pytorch"]
