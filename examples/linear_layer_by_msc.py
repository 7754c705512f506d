"""A linear layer of PyTorch as Relay, as a graph of MSC's, and as Relax.

The program is that of MSC's announcement, "translate relay to relax without loss info", in our
terms. It prints what that prints: the Relay with its spans, one node ``msc.linear_bias`` with the
attributes of its nine parts, and four bindings of Relax. Where apache-tvm is installed, the Relax
is compared with what TVM imports of the same module. It needs PyTorch.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from relay2relax import backends, graph, relay_ir
from relay2relax.graph import msc as translate

warnings.simplefilter("ignore", DeprecationWarning)  # of torch.jit

SHAPE = [1, 3, 10, 10]


def compared_with_tvm(script: str, model: Any) -> str:
    """Return whether TVM's import of ``model`` is the program ``script``."""
    try:
        import tvm
        from tvm.relax.frontend.torch import from_fx
    except ImportError:
        return "apache-tvm is not installed"
    with torch.no_grad():
        expected = from_fx(torch.fx.symbolic_trace(torch.nn.Sequential(model)), [(SHAPE, "float32")])
    tvm.ir.assert_structural_equal(tvm.script.from_source(script), expected)
    return "structurally equal to what TVM imports of the module"


def main() -> None:
    """Show each stage."""
    model = torch.nn.Linear(10, 7, bias=True)
    data = torch.rand(*SHAPE)
    scripted = torch.jit.trace(model, (data,)).eval()
    relay, params = relay_ir.frontend.from_pytorch(scripted, [("input0", (SHAPE, "float32"))])
    print("relay", relay["main"], sep="\n")

    found, weights = translate.from_relay(relay, params, patterns="msc-2023")
    print("graph", graph.to_text(found, msc="2023"), sep="\n")

    relax = translate.to_relax(found, weights, {"explicit_name": False, "from_relay": True})
    print("relax", relax.script(show_meta=False), sep="\n")
    print(compared_with_tvm(relax.script(), model))

    result = backends.VirtualMachine(backends.build(relax, target="numpy"))["main"](data.numpy())
    np.testing.assert_allclose(np.asarray(result), model(data).detach().numpy(), rtol=1e-5, atol=1e-5)
    # Nothing is lost: the node comes apart into the nine operators, which are the Relay again.
    bound = graph.to_relay(*graph.from_relay(relay, params))
    assert relay_ir.structural_equal(graph.to_relay(found, weights), bound)
    print(f"{len(found)} nodes, {len(graph.unfuse(found))} taken apart; the numbers are PyTorch's")


if __name__ == "__main__":
    main()
