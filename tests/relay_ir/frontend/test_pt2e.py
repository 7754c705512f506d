"""Modules that PyTorch's quantisation of exported programs (pt2e) made, of ``torchao``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.relay_ir.frontend import from_pytorch

torch = pytest.importorskip("torch")
pytest.importorskip("torchao", reason="torchao is not installed: pip install torchao==0.18.0")

from torchao.quantization.pt2e import move_exported_model_to_eval  # noqa: E402
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e  # noqa: E402
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (  # noqa: E402
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)


class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Convolutions with normalisation, what is added, and a layer."""

    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, 2, 1, groups=2), nn.ReLU(), nn.MaxPool2d(2))
        self.last = nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        y = self.second(self.first(x))
        return self.last((y + torch.relu(y * 0.5)).mean((2, 3)))


def quantised(module: Any, batches: list[Any], *, training: bool = False, dynamic: bool = False) -> Any:
    """Return the program of a module that was prepared, calibrated and converted."""
    given = (batches[0],)
    config = get_default_x86_inductor_quantization_config(is_qat=training, is_dynamic=dynamic)
    prepare = prepare_qat_pt2e if training else prepare_pt2e
    prepared = prepare(torch.export.export(module, given).module(), X86InductorQuantizer().set_global(config))
    for one in batches:
        prepared(one)
    converted = convert_pt2e(prepared)
    move_exported_model_to_eval(converted)
    return torch.export.export(converted, given)


@pytest.mark.compiler
@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("kind", ["calibrated", "trained", "dynamic"])
def test_a_pipeline_gives_what_pytorch_gives(kind: str) -> None:
    torch.manual_seed(0)
    if kind == "dynamic":
        layers = torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)
        program = quantised(torch.nn.Sequential(*layers).eval(), [torch.randn(3, 6)], dynamic=True)
        x = torch.randn(3, 6)
    else:
        batches = [torch.randn(2, 3, 8, 8) for _ in range(4)]
        training = kind == "trained"
        program = quantised(Net() if training else Net().eval(), batches, training=training)
        x = torch.randn(2, 3, 8, 8)
    assert "quantize_per_tensor" in str(program.graph)
    wanted = program.module()(x).detach().numpy()
    mod, params = from_pytorch(program)
    typed = relay_ir.infer_type(mod)
    (name,) = [one.name for one in typed["main"].params if one.name not in params]
    found = np.asarray(backends.create_executor("vm", typed).evaluate()(**{name: x.numpy()}, **params))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    machine = backends.VirtualMachine(backends.build(translator.via_graph(typed, params), target="c"))
    np.testing.assert_allclose(np.asarray(machine["main"](x.numpy())), wanted, rtol=1e-5, atol=1e-5)
