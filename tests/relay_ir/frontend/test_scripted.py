"""Branches, loops and lists of TorchScript, and operators that PyTorch takes apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_folder import load_module

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.frontend import from_pytorch

torch = pytest.importorskip("torch")
F = torch.nn.functional

# TorchScript reads its sources, and knows no annotations that are text.
SOURCE = """
import torch
from typing import List


def branch(x: torch.Tensor):
    if bool(x.sum() > 0.0):
        return x + 1.0
    return x * 3.0


def branches(x: torch.Tensor):
    if bool(x.sum() > 0.0):
        if bool(x.mean() > 0.5):
            y, z = x + 1.0, x
        else:
            y, z = x - 1.0, x * 2
    else:
        y, z = x * 10.0, x
    return y, z


def counted(x: torch.Tensor):
    for i in range(5):
        x = x + i
    return x


def until(x: torch.Tensor):
    turns = 0
    x = x.abs() + 1.0
    while bool(x.sum() < 50.0):
        x = x * 1.5
        turns += 1
    return x, turns


def turns_of_data(x: torch.Tensor, n: torch.Tensor):
    y = torch.zeros_like(x)
    for _ in range(int(n)):
        y = y * 0.5 + x
    return y


def growing(x: torch.Tensor):
    outs: List[torch.Tensor] = []
    state = torch.zeros(4)
    for i in range(x.size(0)):
        state = torch.tanh(x[i] + state)
        outs.append(state)
    return torch.stack(outs), state


def lists(x: torch.Tensor):
    parts = [x, x * 2]
    parts.insert(0, x - 1)
    parts += [x * 4]
    total = parts[-1]
    for one in parts[1:3]:
        total = total + one
    if len(parts) != 4:
        raise ValueError("never")
    return total, parts[0]


def nested(x: torch.Tensor):
    total = torch.zeros(4)
    for i in range(3):
        if bool(x.sum() > float(i)):
            for j in range(2):
                total = total + x[i] * j
    return total


def shared(x: torch.Tensor, n: torch.Tensor):
    y = x
    for _ in range(int(n)):
        y += 1.0
    return y + x


def guarded(x: torch.Tensor):
    if bool(x.sum() < 0.0):
        raise ValueError("no data")
    return x.sqrt()


def grows_by_data(x: torch.Tensor, n: torch.Tensor):
    for _ in range(int(n)):
        x = torch.cat([x, x])
    return x
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("front") / "scripted_functions.py"
    path.write_text(SOURCE)
    return load_module(path.stem, path)


def agree(module: Any, inputs: list[Any], path: Path | None = None) -> None:
    """Assert that numpy and C give what PyTorch gives."""
    with torch.no_grad():
        found = module(*(one.clone() for one in inputs))
    wanted = [np.asarray(one) for one in (found if isinstance(found, tuple) else (found,))]
    infos = [(f"x{place}", (list(one.shape), str(one.dtype)[6:])) for place, one in enumerate(inputs)]
    mod, params = from_pytorch(module, infos)
    typed = relay_ir.infer_type(mod)
    given = {f"x{place}": one.numpy() for place, one in enumerate(inputs)}
    free = [one.name for one in typed["main"].params if one.name not in params]
    values = [given[name] for name in free]
    machine = backends.VirtualMachine(backends.build(translator.via_graph(typed, params), target="c"))
    results = [
        backends.create_executor("vm", typed).evaluate()(**dict(zip(free, values, strict=True)), **params),
        machine["main"](*values),
    ]
    for one in results:
        every = one if isinstance(one, (tuple, list)) else (one,)
        assert len(every) == len(wanted)
        for ours, theirs in zip(every, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-5, atol=1e-6)


X = torch.arange(12, dtype=torch.float32).reshape(3, 4) / 7 - 0.4
N = torch.tensor(3)
FUNCTIONS: dict[str, list[list[Any]]] = {
    "branch": [[X], [-X]], "branches": [[X], [X + 1], [-X]], "counted": [[X]], "until": [[X], [X + 40]],
    "turns_of_data": [[X, N], [X, N * 0]], "growing": [[X]], "lists": [[X]], "nested": [[X]],
}  # fmt: skip


@pytest.mark.compiler
@pytest.mark.parametrize("name", FUNCTIONS)
def test_control_flow_is_pytorchs(scripts: Any, name: str) -> None:
    for inputs in FUNCTIONS[name]:
        agree(torch.jit.script(getattr(scripts, name)), inputs)


@pytest.mark.parametrize(
    ("name", "said"), [("shared", "of which there are views"), ("grows_by_data", "changes its type")]
)
def test_what_has_no_form_is_refused(scripts: Any, name: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        from_pytorch(torch.jit.script(getattr(scripts, name)), [("x", [3, 4]), ("n", ([], "int64"))])


ENDLESS = {
    "squares": ("y = x.dim() + 5\n" + "    y = y * y\n" * 40 + "    return x + y", "beyond 64 bits"),
    "a power": ("y = x.dim() ** 100000000\n    return x + y", "beyond 64 bits"),
    "twice as long": ("y = [x]\n" + "    y = y + y\n" * 40 + "    return y[0]", "more than 65536 elements"),
    "repeated": ("y = [x] * 1000000000\n    return y[0]", "more than 65536 elements"),
    "loops in loops": (
        "outs = [x]\n    for i in range(16000):\n        for j in range(16000):\n"
        "            outs[0] = x\n    return outs[0]", "written out",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDLESS)
def test_what_a_file_may_let_grow_without_end_is_refused(name: str, tmp_path: Path) -> None:
    body, said = ENDLESS[name]
    path = tmp_path / "growing.py"
    path.write_text(f"import torch\nfrom typing import List\n\n\ndef f(x: torch.Tensor):\n    {body}\n")
    module = load_module(path.stem, path)
    with pytest.raises(UnsupportedError, match=said):
        from_pytorch(torch.jit.script(module.f), [("x", [3, 4])])


APART: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "std": (lambda x: torch.std(x, 1), [X]),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), [X]),
    "addmm": (lambda x, y: torch.addmm(x, y, x), [X[:, :3], X[:, 1:]]),
    "unfold": (lambda x: F.unfold(x.reshape(1, 1, 3, 4), 2), [X]),
    "instance norm": (torch.nn.InstanceNorm1d(3).eval(), [X.reshape(1, 3, 4)]),
    "zeros in place": (lambda x: (x * 1).zero_() + x, [X]),
    "logic in place": (lambda x: x.clone().__ior__(x > 0), [X > 0.3]),
    "an empty vector": (lambda x: torch.cat([torch.zeros(0), x]), [X]),
    "a number among tensors": (lambda x: torch.meshgrid(x[0], torch.tensor(6.0), indexing="ij")[0], [X]),
    "GRU": (torch.nn.GRU(4, 3), [X.reshape(3, 1, 4)]),
    "attention": (torch.nn.MultiheadAttention(4, 2, batch_first=True).eval(), [X.reshape(1, 3, 4)] * 3),
}


SELECTED: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "masked": (lambda x: x.masked_select(x > 0.2), [X]),
    "masked by a row": (lambda x, y: torch.masked_select(x, y), [X, X[0] > 0.2]),
    "where": (lambda x: torch.where(x > 0.2), [X]),
    "unique": (lambda x: torch.unique(x % 3, True, True, True), [(X * 7).to(torch.int64)]),
    "distinct": (lambda x: torch.unique(x.round()), [X]),
    "counts": (lambda x: torch.bincount(x, minlength=6), [torch.tensor([1, 4, 1, 0])]),
    "weighted counts": (torch.bincount, [torch.tensor([1, 4, 1, 0]), X[1]]),
    "so many": (lambda x, n: x[:n, n - 2 :], [X, N]),
    "spectrum": (lambda x, w: torch.stft(x, 8, 3, 5, w, return_complex=False), [X.reshape(1, 12), X[0].repeat(2)[:5]]),
    "whole spectrum": (
        lambda x: torch.stft(x, 6, center=False, normalized=True, onesided=False, return_complex=False), [X.reshape(12)]
    ),
}  # fmt: skip


@pytest.mark.compiler
@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("name", SELECTED)
def test_how_much_comes_out_may_depend_on_the_data(name: str) -> None:
    function, inputs = SELECTED[name]
    agree(torch.jit.trace(function, tuple(inputs)), inputs)


def suppressed(boxes: Any, scores: Any, threshold: float) -> Any:
    """Return what torchvision documents of ``nms``: the best box, and those that overlap no better
    one by more than a threshold.
    """
    kept: list[int] = []
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    for place in scores.argsort(descending=True).tolist():
        low = torch.maximum(boxes[place, :2], boxes[kept, :2])
        high = torch.minimum(boxes[place, 2:], boxes[kept, 2:])
        both = (high - low).clamp(min=0).prod(1)
        if not bool((both / (area[place] + area[kept] - both) > threshold).any()):
            kept.append(place)
    return torch.tensor(kept)


def test_boxes_are_suppressed_as_torchvision_has_it() -> None:
    library = torch.library.Library("torchvision", "FRAGMENT")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.impl("nms", suppressed, "CPU")
    torch.manual_seed(3)
    boxes, scores = torch.rand(40, 4) * 0.5, torch.rand(40)
    boxes[:, 2:] += boxes[:, :2]
    agree(torch.jit.trace(lambda x, y: torch.ops.torchvision.nms(x, y, 0.3), (boxes, scores)), [boxes, scores])


def test_drawn_numbers_have_the_shape_and_are_said_to_be_others() -> None:
    traced = torch.jit.trace(lambda x: (torch.randn(400, 5), torch.multinomial(x, 30, True)), X[0].abs())
    with pytest.warns(UserWarning, match=r"not those that PyTorch draws: aten::randn_0 .*aten::multinomial_0"):
        mod, _ = from_pytorch(traced, [("x", [4])])
    normal, chosen = backends.create_executor("vm", mod).evaluate()(x=np.array([0, 1, 3, 0], np.float32))
    assert np.asarray(normal).shape == (400, 5)
    assert abs(np.asarray(normal).mean()) < 0.1
    assert abs(np.asarray(normal).std() - 1) < 0.1
    assert set(np.asarray(chosen).tolist()) == {1, 2}


def test_an_arm_that_raises_is_left_out_with_a_warning(scripts: Any) -> None:
    with pytest.warns(UserWarning, match=r"raise an error are left out.*: prim::If"):
        from_pytorch(torch.jit.script(scripts.guarded), [("x", [3, 4])])


@pytest.mark.compiler
@pytest.mark.parametrize("name", APART)
def test_operators_are_taken_apart_by_pytorch(name: str) -> None:
    function, inputs = APART[name]
    with torch.no_grad():
        agree(torch.jit.trace(function, tuple(inputs)), inputs)
