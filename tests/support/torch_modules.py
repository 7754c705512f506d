"""Small PyTorch modules, for TVM's PyTorch importer: one function or layer each, and some that
combine them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

_UNARY = """
abs acos asin atan asinh atanh ceil cos cosh erf exp floor log log1p log2 log10 neg reciprocal relu round rsqrt sigmoid
sign sin sinh sqrt square tan tanh trunc isnan isinf isfinite
"""
_ACTIVATIONS = """
celu elu gelu hardsigmoid hardswish hardtanh leaky_relu logsigmoid relu6 selu silu softplus softsign tanhshrink mish
"""
_BINARY = "add sub mul div maximum minimum atan2 eq ne lt le gt ge fmod remainder floor_divide logaddexp"
_OF_INTEGERS = "add mul maximum eq lt remainder floor_divide bitwise_and bitwise_or bitwise_xor"


def torch_modules() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield (name, module, arguments); weights and arguments are alike in every run."""
    import torch

    torch.manual_seed(0)
    for name, function, arguments in (*_functions(torch), *_layers(torch), *_networks(torch)):
        module = function if isinstance(function, torch.nn.Module) else _module(torch, function, len(arguments))
        yield name, module.eval(), arguments


def direct_modules() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield (name, module, arguments) of what the importer reads in another way where nothing is
    decomposed before.
    """
    import torch

    torch.manual_seed(0)
    x, row = torch.randn(2, 3, 4), torch.randn(3)
    cases: tuple[tuple[str, Callable[..., Any], tuple[Any, ...]], ...] = (
        ("logaddexp", torch.logaddexp, (x, x + 1)),
        ("meshgrid", lambda a, b: torch.meshgrid(a, b, indexing="ij"), (row, torch.randn(4))),
        ("eye", lambda a: a + torch.eye(3, 4, dtype=torch.float32), (x,)),
        ("nothing", lambda a: (a + a, None), (x,)),
    )
    for name, function, arguments in cases:
        yield name, _module(torch, function, len(arguments)).eval(), arguments


def _module(torch: Any, function: Callable[..., Any], count: int) -> Any:
    """Return ``function`` of ``count`` arguments as a module; a tracer wants them by name."""

    class One(torch.nn.Module):  # type: ignore[misc]
        def forward(self, a: Any) -> Any:
            return function(a)

    class Two(torch.nn.Module):  # type: ignore[misc]
        def forward(self, a: Any, b: Any) -> Any:
            return function(a, b)

    class Three(torch.nn.Module):  # type: ignore[misc]
        def forward(self, a: Any, b: Any, c: Any) -> Any:
            return function(a, b, c)

    class Four(torch.nn.Module):  # type: ignore[misc]
        def forward(self, a: Any, b: Any, c: Any, d: Any) -> Any:
            return function(a, b, c, d)

    return (One, Two, Three, Four)[count - 1]()


def _functions(torch: Any) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    f = torch.nn.functional
    x, y = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    positive, row, matrix = torch.rand(2, 3, 4) + 0.1, torch.randn(4), torch.randn(3, 3)
    integers, small = torch.randint(-9, 9, (2, 3, 4)), torch.randint(0, 3, (2, 3))
    image, flags = torch.randn(1, 4, 6, 8), torch.randn(2, 3, 4) > 0

    for name in _UNARY.split():
        bounded = name in ("acos", "asin", "atanh", "log", "log1p", "log2", "log10", "rsqrt", "sqrt", "reciprocal")
        given = positive.clamp(max=0.9) if bounded else x
        yield name, getattr(torch, name), (given,)
    yield "acosh", lambda a: torch.acosh(a), (positive + 1,)
    yield "expm1", lambda a: torch.expm1(a), (x,)
    for name in _ACTIVATIONS.split():
        yield f"functional.{name}", getattr(f, name), (x * 3,)
    yield "gelu of tanh", lambda a: f.gelu(a, approximate="tanh"), (x,)
    yield "hardshrink", lambda a: f.hardshrink(a), (x,)
    yield "softshrink", lambda a: f.softshrink(a), (x,)
    yield "threshold", lambda a: f.threshold(a, 0.1, 20.0), (x,)
    yield "glu", lambda a: f.glu(a), (x,)
    yield "softmax", lambda a: f.softmax(a, 1), (x,)
    yield "log_softmax", lambda a: f.log_softmax(a, -1), (x,)
    yield "prelu", lambda a, b: f.prelu(a, b), (image, torch.rand(4))
    for name in _BINARY.split():
        yield name, getattr(torch, name), (x, row)
    for name in _OF_INTEGERS.split():
        yield f"{name} of integers", getattr(torch, name), (integers, small[:, :, None] + 1)
    yield "pow", lambda a, b: torch.pow(a, b), (positive, row)
    yield "pow of a number", lambda a: a**2.5, (positive,)
    yield "numbers", lambda a: (2 - a * 3) / 4 + 1, (x,)
    yield "rsub", lambda a, b: torch.rsub(a, b), (x, y)
    yield "addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.5), (x, y, row)
    yield "addcdiv", lambda a, b, c: torch.addcdiv(a, b, c, value=0.5), (x, y, positive)
    yield "lerp", lambda a, b: torch.lerp(a, b, 0.3), (x, y)
    yield "clamp", lambda a: torch.clamp(a, -0.5, 0.5), (x,)
    yield "clamp_min", lambda a: torch.clamp(a, min=0.2), (x,)
    yield "logical operators", lambda a, b: (a & b, a | b, ~a, a ^ b), (flags, x > 0.5)
    yield "logical_not", lambda a: torch.logical_not(a), (flags,)
    yield "where", lambda a, b, c: torch.where(a, b, c), (flags, x, y)
    yield "masked_fill", lambda a, b: a.masked_fill(b, -1.0), (x, flags)
    for name in ("sum", "mean", "var", "std"):
        yield f"{name} of axes", lambda a, name=name: getattr(torch, name)(a, dim=(0, 2)), (x,)
        yield f"{name} of an axis", lambda a, name=name: getattr(torch, name)(a, dim=1, keepdim=True), (x,)
    yield "sum of all", lambda a: a.sum(), (x,)
    yield "mean of all", lambda a: a.mean(), (x,)
    yield "var of all", lambda a: a.var(unbiased=False), (x,)
    yield "argmax", lambda a: a.argmax(1), (x,)
    yield "argmin", lambda a: a.argmin(-1, keepdim=True), (x,)
    yield "max of an axis", lambda a: torch.max(a, 1), (x,)
    yield "median", lambda a: torch.median(a, 1), (x,)
    yield "median of all", lambda a: torch.median(a), (x,)
    yield "any and all", lambda a: (a.any(1), a.all(2)), (flags,)
    yield "norm", lambda a: torch.linalg.vector_norm(a, 2, dim=1), (x,)
    yield "cumsum", lambda a: torch.cumsum(a, 1), (x,)
    yield "cumprod", lambda a: torch.cumprod(a, 2), (x,)
    yield "sort", lambda a: torch.sort(a, 1), (x,)
    yield "argsort", lambda a: torch.argsort(a, 2, descending=True), (x,)
    yield "topk", lambda a: torch.topk(a, 2), (x,)
    yield "bucketize", lambda a, b: torch.bucketize(a, b), (x, torch.tensor([-1.0, 0.0, 1.0]))
    yield "matmul", lambda a, b: a @ b, (x, torch.randn(4, 5))
    yield "bmm", lambda a, b: torch.bmm(a, b), (x, torch.randn(2, 4, 5))
    yield "mv", lambda a, b: torch.mv(a, b), (matrix, torch.randn(3))
    yield "baddbmm", lambda a, b, c: torch.baddbmm(a, b, c), (torch.randn(2, 3, 5), x, torch.randn(2, 4, 5))
    yield "addmm", lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=2.0), (torch.randn(3), matrix, matrix)
    yield "einsum", lambda a, b: torch.einsum("bij,kj->bik", a, b), (x, torch.randn(5, 4))
    yield "outer", lambda a, b: torch.outer(a, b), (torch.randn(3), torch.randn(4))
    yield "linear", lambda a, b, c: f.linear(a, b, c), (x, torch.randn(5, 4), torch.randn(5))
    attention = tuple(torch.randn(1, 2, 5, 8) for _ in range(3))
    yield "attention", lambda q, k, v: f.scaled_dot_product_attention(q, k, v), attention
    yield "causal attention", lambda q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True), attention
    mask = torch.randn(1, 1, 5, 5)
    yield "masked attention", lambda q, k, v, m: f.scaled_dot_product_attention(q, k, v, m), (*attention, mask)
    yield "reshape", lambda a: a.reshape(4, 6), (x,)
    yield "view and flatten", lambda a: (a.view(6, -1), a.flatten(1)), (x,)
    yield "permute", lambda a: a.permute(2, 0, 1), (x,)
    yield "transpose", lambda a: a.transpose(0, 2), (x,)
    yield "squeeze", lambda a: a.unsqueeze(1).squeeze(1), (x,)
    yield "expand", lambda a: a.unsqueeze(0).expand(3, -1), (row,)
    yield "repeat", lambda a: a.repeat(2, 1, 3), (x,)
    yield "repeat_interleave", lambda a: a.repeat_interleave(2, 1), (x,)
    yield "tile", lambda a: torch.tile(a, (2, 1)), (x,)
    yield "flip", lambda a: torch.flip(a, (0, 2)), (x,)
    yield "roll", lambda a: torch.roll(a, 1, 1), (x,)
    yield "cat", lambda a, b: torch.cat([a, b], 1), (x, y)
    yield "stack", lambda a, b: torch.stack([a, b], 1), (x, y)
    yield "split", lambda a: torch.split(a, 2, 2), (x,)
    yield "chunk", lambda a: torch.chunk(a, 2, 2), (x,)
    yield "unbind", lambda a: torch.unbind(a, 1), (x,)
    yield "narrow", lambda a: a.narrow(2, 1, 2), (x,)
    yield "slice", lambda a: a[:, 1:, ::2], (x,)
    yield "select", lambda a: a[0, :, 1], (x,)
    yield "None in an index", lambda a: a[:, None, 1], (x,)
    yield "gather", lambda a, b: torch.gather(a, 1, b), (x, torch.randint(0, 3, (2, 2, 4)))
    yield "scatter", lambda a, b, c: torch.scatter(a, 1, b, c), (x, torch.tensor([[[0, 1, 2, 0]]]), y[:1, :1])
    yield "index_select", lambda a, b: torch.index_select(a, 2, b), (x, torch.tensor([3, 0]))
    yield "index by tensors", lambda a, b, c: a[b, c], (x, torch.tensor([0, 1]), torch.tensor([2, 0]))
    yield "index_put", lambda a, b, c, d: a.index_put((b, c), d), (
        matrix, torch.tensor([0, 2]), torch.tensor([1, 1]), torch.tensor([5.0, 6.0]),
    )  # fmt: skip
    yield "slice_scatter", lambda a, b: torch.slice_scatter(a, b, 1, 1, 3), (x, torch.randn(2, 2, 4))
    yield "select_scatter", lambda a, b: torch.select_scatter(a, b, 1, 0), (x, torch.randn(2, 4))
    yield "take", lambda a, b: torch.take(a, b), (x, torch.tensor([3, 7, 11]))
    yield "embedding", lambda a, b: f.embedding(a, b), (torch.tensor([[0, 2], [1, 1]]), torch.randn(3, 4))
    yield "one_hot", lambda a: f.one_hot(a, 5), (small,)
    yield "tril and triu", lambda a: (torch.tril(a, 1), torch.triu(a)), (matrix,)
    yield "eye", lambda a: a + torch.eye(3), (matrix,)
    yield "arange", lambda a: a + torch.arange(4), (x,)
    yield "full and like", lambda a: (torch.full((2, 2), 7.0), torch.ones_like(a), torch.zeros_like(a)), (row,)
    yield "full_like", lambda a: torch.full_like(a, 3.5), (x,)
    yield "new_zeros", lambda a: a.new_zeros(2, 2) + a.new_ones(2, 2), (x,)
    yield "meshgrid", lambda a, b: torch.meshgrid(a, b, indexing="ij"), (row, torch.randn(3))
    yield "casts", lambda a: (a.to(torch.int32), a.half(), a.double(), a > 0), (x,)
    yield "clone", lambda a: a.clone().contiguous(), (x,)
    yield "pad", lambda a: f.pad(a, (1, 2, 0, 1)), (x,)
    yield "reflecting pad", lambda a: f.pad(a, (1, 2), mode="reflect"), (x,)
    yield "replicating pad", lambda a: f.pad(a, (1, 2), mode="replicate"), (x,)
    yield "pixel_shuffle", lambda a: f.pixel_shuffle(a, 2), (image,)
    yield "pixel_unshuffle", lambda a: f.pixel_unshuffle(a, 2), (image,)
    yield "interpolate", lambda a: f.interpolate(a, scale_factor=2, mode="nearest"), (image,)
    yield "bilinear", lambda a: f.interpolate(a, size=(9, 5), mode="bilinear"), (image,)
    yield "max_pool", lambda a: f.max_pool2d(a, 3, 2, 1), (image,)
    yield "avg_pool", lambda a: f.avg_pool2d(a, 2), (image,)
    yield "avg_pool with padding", lambda a: f.avg_pool2d(a, 3, 2, 1, count_include_pad=False), (image,)
    yield "pools of lines", lambda a: (f.max_pool1d(a, 2), f.avg_pool1d(a, 2)), (x,)
    yield "adaptive pool", lambda a: f.adaptive_avg_pool2d(a, (2, 3)), (image,)
    yield "adaptive pool to one", lambda a: f.adaptive_avg_pool2d(a, 1), (image,)
    volume = torch.linspace(-1, 1, 240).reshape(1, 2, 4, 6, 5)
    yield "adaptive pool of volumes", lambda a: f.adaptive_avg_pool3d(a, (2, 3, 2)), (volume,)
    yield "trilinear", lambda a: f.interpolate(a, size=(3, 4, 5), mode="trilinear"), (volume,)
    yield "shift", lambda a: a >> 1, (integers,)
    yield "adaptive pool of lines", lambda a: f.adaptive_avg_pool1d(a, 2), (x,)
    yield "cross_entropy", lambda a, b: f.cross_entropy(a, b), (torch.randn(3, 5), torch.tensor([0, 4, 2]))
    yield "mse_loss", lambda a, b: f.mse_loss(a, b), (x, y)
    yield "hamming_window", lambda a: a * torch.hamming_window(4), (x,)
    yield "unflatten", lambda a: a.unflatten(2, (2, 2)), (x,)
    yield "numel and size", lambda a: a * a.size(1) + a.numel(), (x,)


def _layers(torch: Any) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    nn = torch.nn
    line, image, volume = torch.randn(2, 4, 10), torch.randn(1, 4, 8, 8), torch.randn(1, 2, 4, 6, 6)
    yield "Conv1d", nn.Conv1d(4, 6, 3, padding=1), (line,)
    yield "Conv2d", nn.Conv2d(4, 6, 3, stride=2, padding=1), (image,)
    yield "Conv2d of groups", nn.Conv2d(4, 8, 3, groups=2, bias=False), (image,)
    yield "Conv2d of channels", nn.Conv2d(4, 4, 3, groups=4, dilation=2), (image,)
    yield "Conv3d", nn.Conv3d(2, 3, 3), (volume,)
    yield "ConvTranspose1d", nn.ConvTranspose1d(4, 3, 3, stride=2), (line,)
    yield "ConvTranspose2d", nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1), (image,)
    yield "Linear", nn.Linear(10, 7), (line,)
    yield "Bilinear free", nn.Sequential(nn.Linear(10, 4), nn.ReLU(), nn.Linear(4, 2)), (line,)
    yield "BatchNorm1d", _filled(torch, nn.BatchNorm1d(4)), (line,)
    yield "BatchNorm2d", _filled(torch, nn.BatchNorm2d(4)), (image,)
    yield "LayerNorm", _filled(torch, nn.LayerNorm(10)), (line,)
    yield "LayerNorm of images", _filled(torch, nn.LayerNorm((8, 8))), (image,)
    yield "GroupNorm", _filled(torch, nn.GroupNorm(2, 4)), (image,)
    yield "InstanceNorm2d", _filled(torch, nn.InstanceNorm2d(4, affine=True)), (image,)
    yield "RMSNorm", _filled(torch, nn.RMSNorm(10)), (line,)
    yield "Embedding", nn.Embedding(5, 3), (torch.tensor([[0, 4], [2, 2]]),)
    yield "Dropout", nn.Dropout(), (line,)
    yield "Softmax2d", nn.Softmax2d(), (image,)
    yield "PReLU", nn.PReLU(4), (image,)
    yield "MaxPool3d", nn.MaxPool3d(2), (volume,)
    yield "AvgPool3d", nn.AvgPool3d(2), (volume,)
    yield "ChannelShuffle", nn.ChannelShuffle(2), (image,)
    yield "LSTM", nn.LSTM(10, 5, batch_first=True), (line,)
    yield "GRU", nn.GRU(10, 5, batch_first=True), (line,)
    yield (
        "MultiheadAttention",
        _self_attention(torch, nn.MultiheadAttention(8, 2, batch_first=True)),
        (torch.randn(1, 5, 8),),
    )


def _self_attention(torch: Any, layer: Any) -> Any:
    class SelfAttention(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return self.layer(x, x, x, need_weights=False)[0]

    return SelfAttention()


def _filled(torch: Any, module: Any) -> Any:
    """Return ``module`` with weights and statistics that are neither 0 nor 1."""
    for one in (*module.parameters(), *module.buffers()):
        if one.dtype.is_floating_point:
            one.data = torch.rand_like(one) + 0.5
    return module


def _networks(torch: Any) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), _filled(torch, nn.BatchNorm2d(4)), nn.ReLU())
            self.second = nn.Conv2d(4, 4, 1)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.second(self.first(x)) + x)

    class Cell(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.gates = nn.Linear(3 + 5, 4 * 5)

        def forward(self, x: Any, h: Any, c: Any) -> Any:
            i, f, g, o = self.gates(torch.cat([x, h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            return torch.sigmoid(o) * torch.tanh(c), c

    class Transformer(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.last = _filled(torch, nn.LayerNorm(8)), _filled(torch, nn.LayerNorm(8))
            self.projection, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
            self.feed = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

        def forward(self, x: Any) -> Any:
            q, k, v = self.projection(self.norm(x)).reshape(1, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
            found = nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out(found.transpose(1, 2).reshape(1, 5, 8))
            return x + self.feed(self.last(x))

    yield "residual block", Block(), (torch.randn(1, 4, 6, 6),)
    yield "cell of an LSTM", Cell(), (torch.randn(2, 3), torch.randn(2, 5), torch.randn(2, 5))
    yield "transformer layer", Transformer(), (torch.randn(1, 5, 8),)
    yield (
        "perceptron",
        nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4), nn.LogSoftmax(1)),
        (torch.randn(3, 8),),
    )
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    yield "encoder layer", encoder, (torch.randn(1, 5, 8),)
