"""The models of TVM's test of MSC's translation, in words of our own: what each computes.

By the ids of the recorded cases: the module, or function, and its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Info = tuple[list[int], str]

IMAGE: Info = ([1, 3, 10, 10], "float32")
SQUARE: Info = ([10, 10], "float32")
WIDE: Info = ([256, 256], "float32")
FOUR: Info = ([1, 2, 3, 4], "float32")
SCORES: list[Info] = [([3, 2], "float32"), ([3], "int64")]
BATCHES: list[Info] = [([4, 128, 256], "float32"), ([4, 256, 512], "float32")]


@dataclass(frozen=True)
class Model:
    """A model by its recorded case: what computes it, shapes and dtypes of its inputs."""

    case: str
    name: str
    compute: Callable[..., Any]
    inputs: Sequence[Info]

    def module(self) -> Any:
        """Return its TorchScript, traced over numbers from 0 to 1 and classes 0 and 1."""
        made = self.compute() if isinstance(self.compute, type) else self.compute
        found = made.eval() if isinstance(made, nn.Module) else made
        with torch.no_grad():
            return torch.jit.trace(found, tuple(self.arguments()), check_trace=False)

    def arguments(self) -> list[Any]:
        """Return example inputs."""
        torch.manual_seed(0)
        return [
            torch.rand(shape) if dtype == "float32" else torch.randint(0, 2, shape, dtype=torch.int64)
            for shape, dtype in self.inputs
        ]

    @property
    def infos(self) -> list[tuple[str, Info]]:
        """The inputs as ``from_pytorch`` takes them."""
        return [(f"input{place}", info) for place, info in enumerate(self.inputs)]


class Scaled(nn.Module):  # type: ignore[misc]
    """Layer normalisation whose extent is read off its weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(10))
        self.bias = nn.Parameter(torch.zeros(10))

    def forward(self, x: Any) -> Any:
        return nn.functional.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Weighted(nn.Module):  # type: ignore[misc]
    """A loss with weights of the classes."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.loss = nn.CrossEntropyLoss(weight=self.weight)

    def forward(self, x: Any, y: Any) -> Any:
        return self.loss(x, y)


def _ones_beside(x: Any) -> Any:
    return torch.cat((x, torch.ones(1, 3, 10, 10), torch.ones(1, 3, 10, 10)), 1)


def models() -> list[Model]:
    """Return the models."""
    two = [IMAGE, IMAGE]
    return [
        Model("086c6674d938", "flatten", nn.Flatten(2, -1), [IMAGE]),
        Model("0aa9915fde0d", "layer_norm", nn.LayerNorm(10), [([1, 10, 10], "float32")]),
        Model("0bf538dca3bf", "div", lambda x, y: x / y, two),
        Model("0eda6c811caf", "to the same", lambda x: x.to(torch.float32), [WIDE]),
        Model("125a17c2aa54", "sub", lambda x, y: x - y, two),
        Model("161b89c8c514", "cos", torch.cos, [IMAGE]),
        Model("1ce403b35857", "gelu", nn.functional.gelu, [IMAGE]),
        Model("1e44c76d25f6", "linear", nn.Linear(10, 7), [IMAGE]),
        Model("24f23abfa528", "clamp", lambda x: torch.clamp(x, 0.1, 0.5), [IMAGE]),
        Model("32e0ec1eb950", "relu6", nn.ReLU6(), [SQUARE]),
        Model("33641ed9e460", "cross entropy with weights", Weighted(), SCORES),
        Model("3386b8ddc724", "avg_pool2d", nn.AvgPool2d([1, 1]), [IMAGE]),
        Model("38be27c14823", "max_pool2d", nn.MaxPool2d([1, 1]), [IMAGE]),
        Model("3950f0368a97", "pow of a number", lambda x: x**1.0, [IMAGE]),
        Model("3cc662418f1d", "mul", lambda x, y: x * y, two),
        Model("41bf998466f5", "triu", lambda x: torch.triu(x, 1), [SQUARE]),
        Model("47ee205ed24a", "sub of a number", lambda x: x - 1.0, [IMAGE]),
        Model("4cbe4a30a87d", "unsqueeze at the end", lambda x: x.unsqueeze(-1), [IMAGE]),
        Model("55e80520ba54", "expand", lambda x: x.expand(4, 2, 3, 4), [FOUR]),
        Model("58539b55bf06", "avg_pool2d, strided", nn.AvgPool2d([4, 4], 2, 2, ceil_mode=True), [IMAGE]),
        Model("59dbb188d6d2", "mul by a number", lambda x: x * 1.0, [IMAGE]),
        Model("5abf8e9abd3a", "addmm", torch.addmm, [SQUARE] * 3),
        Model("5ad4f6993be3", "silu", nn.SiLU(), [IMAGE]),
        Model("5f150d1d1393", "half", lambda x: x.half(), [FOUR]),
        Model("6577cc5cc946", "sqrt", torch.sqrt, [IMAGE]),
        Model("667b1ef45be7", "tanh", torch.tanh, [IMAGE]),
        Model("67de2423aa1f", "split with sizes", lambda x: torch.split(x, [1, 2], 1), [IMAGE]),
        Model("69f7f3449f6a", "conv2d", nn.Conv2d(3, 6, 7), [IMAGE]),
        Model("6f8265e5e0fd", "neg", torch.neg, [WIDE]),
        Model("701116f7c395", "mean", lambda x: torch.mean(x, -1), [WIDE]),
        Model("72c5c2141cca", "lt", lambda x, y: x < y, two),
        Model("7321d76f8343", "conv1d", nn.Conv1d(3, 6, 7), [([1, 3, 10], "float32")]),
        Model("7675303907f7", "rsqrt", torch.rsqrt, [WIDE]),
        Model("7808066bddd0", "mean, kept", lambda x: x.mean(-1, keepdim=True), [WIDE]),
        Model("7a5315af2ae2", "linear without bias", nn.Linear(10, 7, bias=False), [IMAGE]),
        Model("7dcade6e82d6", "unbind 1", lambda x: torch.unbind(x, 1), [([3, 3, 10, 10], "float32")]),
        Model("7fe0a6eb1aa6", "unbind", torch.unbind, [([3, 3, 10, 10], "float32")]),
        Model("82265ccb67ff", "cumsum", lambda x: torch.cumsum(x, 1, dtype=torch.int32), [FOUR]),
        Model("835f086c10af", "new axes", lambda x: x[:, None, None, :, None], [([8, 16], "float32")]),
        Model("85f7a5bbc319", "cat with ones", _ones_beside, [IMAGE]),
        Model("872f374ca50f", "exp", torch.exp, [IMAGE]),
        Model("8894d79c6858", "div by a number", lambda x: x / 1.0, [IMAGE]),
        Model("8add00e8283e", "empty", lambda x: torch.empty((10, 10), dtype=torch.float32), [SQUARE]),
        Model("8c96a8360357", "bmm", torch.bmm, BATCHES),
        Model("8cb955d80271", "arange", lambda x: torch.arange(0, 20, dtype=torch.int32), [SQUARE]),
        Model("8d7c6eaa46a3", "a number", lambda x: torch.tensor(3, dtype=torch.float32), [SQUARE]),
        Model("90ff04594154", "sum", lambda x: torch.sum(x, (2, 1)), [FOUR]),
        Model("929f286132d6", "unsqueeze", lambda x: x.unsqueeze(1), [IMAGE]),
        Model("94d17921c9c8", "argmax", lambda x: torch.argmax(x, dim=-1), [WIDE]),
        Model("9900ef63bc71", "round", torch.round, [IMAGE]),
        Model("9d4554f10609", "fill in place", lambda x: x.fill_(1.5), [SQUARE]),
        Model("a12a5bbbb1b7", "a tuple", lambda x, y: (x, y), [WIDE, WIDE]),
        Model("a272ac04e15f", "reshape", lambda x: x.reshape(2, 12), [FOUR]),
        Model("a39210e257a8", "cat", lambda x, y, z: torch.cat((x, y, z), 1), [IMAGE] * 3),
        Model("aac684c00a29", "argmax, kept", lambda x: torch.argmax(x, dim=-1, keepdim=True), [WIDE]),
        Model("ac50bc1d930d", "slices", lambda x: x[0, 1::2, :, :3], [IMAGE]),
        Model("af8525db14d5", "embedding", nn.Embedding(10, 3), [([4, 5], "int64")]),
        Model("b512783bd60c", "baddbmm", torch.baddbmm, [([4, 128, 512], "float32"), *BATCHES]),
        Model("bc30ef372eeb", "view", lambda x: x.view(2, 12), [FOUR]),
        Model("c2979212d2a4", "interpolate", lambda x: nn.functional.interpolate(x, (5, 5)), [IMAGE]),
        Model("c2b07e9e80fe", "max_pool2d, dilated", nn.MaxPool2d([2, 2], dilation=[2, 3]), [IMAGE]),
        Model("c8c4b3a1938c", "split", lambda x: torch.split(x, 1, 1), [IMAGE]),
        Model("ca3ce2253822", "permute", lambda x: x.permute(0, 3, 2, 1), [FOUR]),
        Model("cd1942023cf1", "layer_norm by its weight", Scaled(), [([1, 10, 10], "float32")]),
        Model("cf71aaaddcfe", "matmul", torch.matmul, [SQUARE, SQUARE]),
        Model("d3f83d0a7430", "softmax", nn.Softmax(1), [IMAGE]),
        Model("d55d3ef2ebcc", "floor_divide by a number", lambda x: x // 1.0, [IMAGE]),
        Model("d89a48e1e630", "add a number", lambda x: x + 1.0, [IMAGE]),
        Model("dfb53dc01b46", "max", torch.max, [WIDE, WIDE]),
        Model("e1ccadce6833", "a tuple of one", lambda x: (x,), [WIDE]),
        Model("e4496d135e3d", "tril", lambda x: torch.tril(x, 1), [SQUARE]),
        Model("e59251dbd35f", "cross entropy, summed", nn.CrossEntropyLoss(ignore_index=1, reduction="sum"), SCORES),
        Model("e6d4ecebdc51", "conv1d without bias", nn.Conv1d(3, 6, 7, bias=False), [([1, 3, 10], "float32")]),
        Model("ea041b9de0b0", "cross entropy", nn.CrossEntropyLoss(), SCORES),
        Model("ef911b9f413e", "group_norm", nn.GroupNorm(3, 3), [IMAGE]),
        Model("f5b304ed8c1b", "floor_divide", lambda x, y: x // y, two),
        Model("f5b81f09a4ab", "conv2d without bias", nn.Conv2d(3, 6, 7, bias=False), [IMAGE]),
        Model("f73d4cdbcda7", "pow", lambda x, y: x**y, two),
        Model("f9840c0a8b67", "sin", torch.sin, [IMAGE]),
    ]
