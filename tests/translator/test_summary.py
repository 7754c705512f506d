"""Summaries of models: arithmetic as PyTorch and published tables count it, memory by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from relay2relax import relax_ir, relay_ir, translator
from relay2relax.cli.summary import summary_text
from relay2relax.tir.extent import Extent
from relay2relax.translator.summary import summarize

if TYPE_CHECKING:
    from model_cases import ModelCase

LAYERS = {
    "nn.conv2d(%x, %w, strides=[2, 2], padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])": (
        (2, 4, 9, 9),
        (8, 4, 3, 3),
    ),
    "nn.conv2d(%x, %w, groups=4, channels=4, kernel_size=[3, 3], dilation=[2, 2])": ((1, 4, 9, 9), (4, 1, 3, 3)),
    "nn.dense(%x, %w, units=5)": ((3, 7), (5, 7)),
    "nn.batch_matmul(%x, %w, transpose_b=False)": ((2, 3, 4), (2, 4, 5)),
    "nn.conv1d(%x, %w, channels=6, kernel_size=[3])": ((2, 4, 11), (6, 4, 3)),
}


def module(body: str, *shapes: tuple[int | str, ...]) -> relay_ir.IRModule:
    params = ", ".join(
        f"%{name}: Tensor[({', '.join(map(str, shape))}), float32]" for name, shape in zip("xw", shapes, strict=False)
    )
    return relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}'))


@pytest.mark.parametrize("body", LAYERS)
def test_multiply_adds_are_half_of_what_torch_counts(body: str) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    first, second = LAYERS[body]
    functional = torch.nn.functional
    runs = {
        "nn.conv2d(%x, %w, s": lambda x, w: functional.conv2d(x, w, stride=2, padding=1),
        "nn.conv2d(%x, %w, g": lambda x, w: functional.conv2d(x, w, groups=4, dilation=2),
        "nn.dense": functional.linear,
        "nn.batch_matmul": torch.bmm,
        "nn.conv1d": functional.conv1d,
    }
    (run,) = (one for start, one in runs.items() if body.startswith(start))
    with FlopCounterMode(display=False) as counter:
        run(torch.zeros(first), torch.zeros(second))
    found = summarize(module(body, first, second)).total
    assert found.multiply_adds == counter.get_total_flops() // 2
    assert found.operations == counter.get_total_flops()


# Multiply-adds that https://github.com/sovrasov/flops-counter.pytorch and torchvision's tables of
# weights give for these architectures: 1.81 and 0.30 GFLOPS.
@pytest.mark.parametrize(("name", "giga"), [("resnet18_imagenet", 1.81), ("mobilenetv2", 0.30)])
def test_published_numbers(get_model_case: Callable[[str], ModelCase], name: str, giga: float) -> None:
    mod = relay_ir.load(get_model_case(name).folder / "model.relay")
    total = summarize(mod).total
    assert isinstance(total.multiply_adds, int)
    assert round(total.multiply_adds / 1e9, 2) == giga


def test_extents_that_are_open_stay_in_the_numbers() -> None:
    mod = module("nn.dense(%x, %w, units=5)", ("?", 7), (5, 7))
    open_ = summarize(mod, dims={"x": ("n", None)})
    assert open_.to_json()["total"] == {
        "calls": 1,
        "multiply_adds": "n * 35",
        "operations": "n * 70",
        "bytes": "n * 48 + 140",
    }
    assert open_.symbols == ("n",)
    assert open_.peak_bytes is None
    assert summarize(mod, dims={"x": (3, None)}).total.multiply_adds == 105


def test_inputs_parameters_and_peak() -> None:
    """x of 84 bytes and w of 140 stay; the product has 60 bytes, and so has what is made of it."""
    found = summarize(module("nn.relu(nn.relu(nn.dense(%x, %w, units=5)))", (3, 7), (5, 7)))
    assert found.inputs == (("x", "float32[3, 7]"),)
    assert found.outputs == ("float32[3, 5]",)
    held = found.parameters["float32"]
    assert (held.tensors, held.elements, held.bytes) == (1, 35, 140)
    assert found.peak_bytes == 84 + 140 + 60 + 60
    assert {name: cost.calls for name, cost in found.operators.items()} == {"nn.relu": 2, "nn.dense": 1}
    assert found.total.bytes == 84 + 140 + 60 + 4 * 60


def test_a_script_says_the_same() -> None:
    mod = module("nn.dense(%x, %w, units=5)", (3, 7), (5, 7))
    script = translator.via_graph(mod, {"w": np.ones((5, 7), np.float32)})
    found = summarize(relax_ir.parse(script.script()))
    assert found.total.multiply_adds == 105
    assert "relax.matmul" in found.operators
    assert found.parameters["float32"].elements == 35


def test_what_becomes_tensorir_and_control_flow_are_told() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(?), float32], %y: Tensor[(?), float32], %c: bool) {
  add(%x, if (%c) { %y } else { nn.relu(%y) })
}
"""
    found = summarize(relay_ir.infer_type(relay_ir.parse(text)))
    assert found.control == {"if": 1}
    assert found.peak_bytes is None
    assert [one.operator for one in found.as_tensorir] == ["add"]


@pytest.mark.parametrize(("compiler", "expected"), [("dnnl", {"f": "dnnl"}), ("default", {})])
def test_functions_for_external_compilers_are_told(compiler: str, expected: dict[str, str]) -> None:
    """TVM calls itself ``default``: a function for that is an ordinary one."""
    mod = relay_ir.parse(f"""#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {{ @f(%x) }}
def @f(%x: Tensor[(2), float32], Compiler="{compiler}", global_symbol="f", Primitive=1) {{ nn.relu(%x) }}
""")
    assert summarize(mod).partitions == expected
    assert summarize(relax_ir.parse(translator.translate(mod).script())).partitions == expected


@pytest.mark.parametrize("via", ["graph", "tir"])
def test_rows_of_a_script_add_up_to_its_total(via: translator.Via) -> None:
    """A product of 3 x 7 with 7 x 5, of two operations each time, and a maximum of each of 15."""
    mod = module("nn.relu(nn.dense(%x, %w, units=5))", (3, 7), (5, 7))
    found = summarize(relax_ir.parse(translator.translate(mod, via).script()))
    rows = found.operators.values()
    assert sum(as_number(one.multiply_adds) for one in rows) == as_number(found.total.multiply_adds) == 105
    assert sum(as_number(one.operations) for one in rows) == as_number(found.total.operations) == 2 * 105 + 15
    assert sum(as_number(one.bytes) for one in rows) == as_number(found.total.bytes)
    assert found.operators["relax.matmul" if via == "graph" else "relax.call_tir"].multiply_adds == 105
    said = summary_text(found)
    assert ("2 calls that no reason is given for" in said) == (via == "tir")
    assert ("nothing: Relax has all operators" in said) == (via == "graph")


def as_number(extent: Extent) -> int:
    assert isinstance(extent, int)
    return extent
