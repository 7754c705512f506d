"""TorchScript that writes into tensors that several names see: what PyTorch gives, or a refusal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from golden_folder import load_module

from relay2relax import backends
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.frontend import from_pytorch

torch = pytest.importorskip("torch")

# TorchScript reads its sources. Each function has a tensor of 4 by 3.
FOLLOWED = {
    "a slice": "x[1:3] = 7.0\n    return x * 2",
    "a slice of a slice": "x[:3][1:, 0] = x[0, 0] + 1\n    return x",
    "a step and the end": "x[::2, -1] += 5.0\n    return x",
    "views beside": "v = x[0]\n    w = x[0:2].t()\n    x[0:1].add_(1.0)\n    return v, w, x",
    "what was made of it stays": "v = x[0] * 1\n    x[0].mul_(3.0)\n    return v, x",
    "the whole seen in a part": "v = x[1]\n    x.mul_(2.0)\n    return v",
    "a part seen in the whole": "v = x.view(3, 4)\n    v[0] = 1.0\n    return x + v.view(4, 3)",
    "turned": "x.t()[0] = 9.0\n    x.permute(1, 0)[1].neg_()\n    return x",
    "one axis more": "x.unsqueeze(0)[0, 1].fill_(2.0)\n    x.unsqueeze(1).squeeze(1)[2].fill_(3.0)\n    return x",
    "a narrow part": "x.narrow(1, 1, 2).zero_()\n    return x",
    "twice": "v = x[0]\n    v.add_(1.0)\n    x[0, 1:].add_(1.0)\n    v.add_(1.0)\n    return x, v",
    "an alias": "y = x\n    y.add_(1.0)\n    return x + y",
    "another dtype is another tensor": "y = x.to(torch.float64)\n    y.add_(1.0)\n    return x, y",
    "the same dtype is the tensor": "y = x.to(torch.float32)\n    y.add_(1.0)\n    return x, y",
    "a branch": "if bool(x.sum() > 0.0):\n        x += 1.0\n    return x",
    "both arms": "if bool(x.sum() > 0.0):\n        x += 1.0\n    else:\n        x *= 3.0\n    return x",
    "a branch in a branch": (
        "if bool(x.sum() > 0.0):\n        if bool(x[0, 0] > 0.5):\n            x += 1.0\n        else:\n"
        "            x -= 1.0\n    return x"
    ),
    "a loop": "y = x\n    for _ in range(int(n)):\n        y += x.size(0)\n    return y",
    "a loop with a branch": (
        "y = x\n    for _ in range(x.size(0)):\n        z = y * 2\n        if bool(z.sum() > 9.0):\n"
        "            y -= z\n        else:\n            y += z\n    return y"
    ),
    "a loop in a loop": (
        "y = x\n    for i in range(2):\n        z = y * float(i)\n        for j in range(3):\n"
        "            y += z * float(j)\n    return y"
    ),
    "rows": "for i in range(x.size(0)):\n        x[i] = x[i] * i\n    return x",
    "a view before a branch": (
        "v = x[0]\n    x[0] = x[0] + 1\n    if bool(x.sum() > 0.0):\n        return v * 2\n    return v"
    ),
}  # fmt: skip
# What may be given is PyTorch's, or nothing.
HAZARDS = {
    "read after a branch": "y = x\n    if bool(x.sum() > 0):\n        y = x + 0\n        x += 1\n    return x, y",
    "one of two": "y = x * 1\n    z = x if bool(x.sum() > 0.0) else y\n    z += 1.0\n    return x, y, z",
    "the arm of a branch": "y = x * 2\n    if bool(x.sum() > 0):\n        y = x\n    y += 1\n    return x",
    "read in the next turn": (
        "y = x * 1\n    z = y\n    for _ in range(int(n)):\n        z = z + y\n        y += 1.0\n    return z"
    ),
    "carried and read": "y = x\n    for _ in range(int(n)):\n        y += x\n    return y + x",
    "what a loop leaves": "y = x\n    for _ in range(int(n)):\n        y = y * 2\n    y += 1\n    return x + y",
    "in a list": "l = [x, x * 2]\n    x += 1.0\n    return l[0] + l[1]",
    "out of a list": "l = [x, x * 2]\n    l[0].add_(1.0)\n    return x",
    "parts": "a, b = x.split(2)\n    a.add_(1.0)\n    return x, b",
    "spread": "y = x[0].expand(4, 3)\n    x[0] = 1.0\n    return y",
    "reshaped": "y = x.reshape(-1)\n    y[0] = 5.0\n    return x, y",
    "turned and reshaped": "y = x.t().reshape(-1)\n    y[0] = 5.0\n    return x, y",
    "one after the other": "y = x.contiguous()\n    y[0] = 5.0\n    return x, y",
    "a view in a loop": "v = x[0]\n    for _ in range(int(n)):\n        x = x + v\n        v += 1.0\n    return x, v",
    "a copy": "y = x.to(torch.float32, copy=True)\n    y.add_(1.0)\n    return x, y",
    "dropped out": "y = torch.dropout(x, 0.5, False)\n    y.add_(1.0)\n    return x",
    "a branch and a view": "v = x[0]\n    if bool(x.sum() > 0.0):\n        x += 1.0\n    return v",
}  # fmt: skip
SIGNATURE = "import torch\n\n\ndef f(x: torch.Tensor, n: torch.Tensor):\n    "


def differs(body: str, folder: Path) -> bool | None:
    """Return whether our results are not PyTorch's, None where the program is refused."""
    path = folder / f"written_{abs(hash(body))}.py"
    path.write_text(f"{SIGNATURE}{body}\n")
    script = torch.jit.script(load_module(path.stem, path).f)
    x, n = torch.arange(12, dtype=torch.float32).reshape(4, 3) / 7, torch.tensor(3)
    found = []
    for given in (x, x - 2):
        try:
            mod, _ = from_pytorch(script, [("x", [4, 3]), ("n", ([], "int64"))])
        except UnsupportedError:
            return None
        wanted = script(given.clone(), n)
        values = {"x": given.numpy(), "n": n.numpy()}
        free = {one.name: values[one.name] for one in mod["main"].params}
        ours = backends.create_executor("vm", mod).evaluate()(**free)
        every = ours if isinstance(ours, (list, tuple)) else [ours]
        theirs = [one.numpy() for one in (wanted if isinstance(wanted, tuple) else (wanted,))]
        assert len(every) == len(theirs)
        found += [bool(np.allclose(np.asarray(one), other)) for one, other in zip(every, theirs, strict=True)]
    return not all(found)


@pytest.mark.parametrize("name", FOLLOWED)
def test_writes_are_seen_where_pytorch_has_them_seen(name: str, tmp_path: Path) -> None:
    assert differs(FOLLOWED[name], tmp_path) is False


@pytest.mark.parametrize("name", HAZARDS)
def test_what_is_not_followed_is_refused(name: str, tmp_path: Path) -> None:
    assert not differs(HAZARDS[name], tmp_path)
