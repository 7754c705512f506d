"""Programs built by ``relay_ir.op`` print as programs that TVM's functions of the same names built.

The lines are as TVM 0.18 prints such calls (its own tests, recorded, have calls of every form
here).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import BuildError

x = relay_ir.var("x", shape=(1, 4, 8, 8))
w = relay_ir.var("w", shape=(4, 4, 3, 3))
v = relay_ir.var("v", shape=(1, 4, 8))
k = relay_ir.var("k", shape=(4, 4, 3))
m = relay_ir.var("m", shape=(2, 4))
n = relay_ir.var("n", shape=(3, 4))
i = relay_ir.var("i", shape=(2,), dtype="int32")
b = relay_ir.var("b", shape=(4,))

CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: op.nn.conv2d(x, w), "nn.conv2d(%x, %w, padding=[0, 0, 0, 0])"),
    (lambda: op.nn.conv2d(x, w, padding=1), "nn.conv2d(%x, %w, padding=[1, 1, 1, 1])"),
    (lambda: op.nn.conv2d(x, w, padding=(1, 2)), "nn.conv2d(%x, %w, padding=[1, 2, 1, 2])"),
    (lambda: op.nn.conv2d(x, w, padding=[1, 2, 3, 4]), "nn.conv2d(%x, %w, padding=[1, 2, 3, 4])"),
    (lambda: op.nn.conv2d(data=x, weight=w, strides=2, dilation=2, kernel_size=3, channels=4),
     "nn.conv2d(%x, %w, strides=[2, 2], padding=[0, 0, 0, 0], dilation=[2, 2], channels=4, kernel_size=[3, 3])"),
    (lambda: op.nn.conv2d(x, w, (2, 2), (1, 1)), "nn.conv2d(%x, %w, strides=[2, 2], padding=[1, 1, 1, 1])"),
    (lambda: op.nn.conv1d(v, k, padding=1), "nn.conv1d(%v, %k, padding=[1, 1])"),
    (lambda: op.nn.conv2d_transpose(x, w, (2, 2), (1, 1), output_padding=(1, 1)),
     "nn.conv2d_transpose(%x, %w, strides=[2, 2], output_padding=[1, 1], padding=[1, 1, 1, 1])"),
    (lambda: op.nn.max_pool2d(x, 2, 2), "nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0])"),
    (lambda: op.nn.avg_pool2d(x, pool_size=(3, 3), padding=(1, 1), count_include_pad=True),
     "nn.avg_pool2d(%x, pool_size=[3, 3], padding=[1, 1, 1, 1], count_include_pad=True)"),
    (lambda: op.nn.adaptive_avg_pool1d(v, 2), "nn.adaptive_avg_pool1d(%v, output_size=[2])"),
    (lambda: op.nn.global_avg_pool1d(v), "nn.adaptive_avg_pool1d(%v, output_size=[1])"),
    (lambda: op.nn.dense(m, n), "nn.dense(%m, %n, units=None)"),
    (lambda: op.nn.dense(m, n, 3, out_dtype="float32"), 'nn.dense(%m, %n, units=3, out_dtype="float32")'),
    (lambda: op.nn.matmul(m, n, transpose_b=True), "nn.matmul(%m, %n, units=None, transpose_b=True)"),
    (lambda: op.nn.batch_matmul(v, v), "nn.batch_matmul(%v, %v, transpose_b=True)"),
    (lambda: op.nn.bias_add(x, b), "nn.bias_add(%x, %b)"),
    (lambda: op.nn.bias_add(m, b, -1), "nn.bias_add(%m, %b, axis=-1)"),
    (lambda: op.nn.softmax(m, -1), "nn.softmax(%m)"),
    (lambda: op.nn.leaky_relu(m), "nn.leaky_relu(%m, alpha=0.01f)"),
    (lambda: op.nn.leaky_relu(m, 0.25), "nn.leaky_relu(%m)"),
    (lambda: op.nn.lrn(x), "nn.lrn(%x, alpha=1e-05f)"),
    (lambda: op.nn.pad(m, ((1, 1), (0, 0))), "nn.pad(%m, 0, pad_width=[[1, 1], [0, 0]])"),
    (lambda: op.nn.pad(m, [[1, 1], [0, 0]], 0.5), "nn.pad(%m, 0.5f, pad_width=[[1, 1], [0, 0]])"),
    (lambda: op.nn.upsampling(x, 2, 2), "nn.upsampling(%x, scale_h=2f, scale_w=2f)"),
    (lambda: op.sum(m, 1, True), "sum(%m, axis=[1], keepdims=True)"),
    (lambda: op.mean(m), "mean(%m)"),
    (lambda: op.argmax(m, axis=1), "argmax(%m, axis=[1])"),
    (lambda: op.transpose(m), "transpose(%m, axes=None)"),
    (lambda: op.transpose(m, (1, 0)), "transpose(%m, axes=[1, 0])"),
    (lambda: op.reshape(m, (4, 2)), "reshape(%m, newshape=[4, 2])"),
    (lambda: op.reshape(m, -1), "reshape(%m, newshape=[-1])"),
    (lambda: op.squeeze(v, 0), "squeeze(%v, axis=[0])"),
    (lambda: op.expand_dims(m, 1), "expand_dims(%m, axis=1)"),
    (lambda: op.cast(m, "int8"), 'cast(%m, dtype="int8")'),
    (lambda: op.clip(m, 0.0, 6.0), "clip(%m, a_min=0f, a_max=6f)"),
    (lambda: op.take(m, i, 1), "take(%m, %i, axis=1)"),
    (lambda: op.take(m, i, axis=0, mode="wrap"), 'take(%m, %i, axis=0, mode="wrap")'),
    (lambda: op.strided_slice(m, [0, 0], [1, 2]),
     "strided_slice(%m, begin=[0, 0], end=[1, 2], strides=[1], axes=None)"),
    (lambda: op.broadcast_to(b, (2, 4)), "broadcast_to(%b, shape=[2, 4])"),
    (lambda: op.zeros(3, "float32"), 'zeros(shape=[3], dtype="float32")'),
    (lambda: op.full(relay_ir.const(2.0), (2, 2)), "full(2f, shape=[2, 2])"),
    (lambda: op.repeat(m, 2, 1), "repeat(%m, repeats=2, axis=1)"),
    (lambda: op.topk(m), 'topk(%m, k=1, dtype="int32")'),
    (lambda: op.argsort(m), 'argsort(%m, dtype="int32")'),
    (lambda: op.shape_of(m), 'shape_of(%m, dtype="int32")'),
    (lambda: op.image.resize2d(x, (16, 16)),
     'image.resize2d(%x, size=[16, 16], roi=[0f, 0f, 0f, 0f], rounding_method="")'),
    (lambda: op.concatenate([m, n], 0), "concatenate(%0)"),
    (lambda: op.one_hot(i, 1.0, 0.0, 4, -1, "float32"), 'one_hot(%i, 1f, 0f, depth=4, dtype="float32")'),
    (lambda: op.nn.dropout(m), "%0.0"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "shown"), CALLS, ids=[shown[:60] for _, shown in CALLS])
def test_calls_print_as_tvm_prints_them(build: Callable[[], Any], shown: str) -> None:
    made = build()
    text = str(made)
    last = [line for line in text.split("\n") if line][-1]
    assert last == shown


def test_calls_whose_attributes_stand_in_the_metadata() -> None:
    made = op.vision.non_max_suppression(v, i, i, return_indices=False)
    assert [type(arg).__name__ for arg in made.args] == ["Var", "Var", "Var", "Constant", "Constant"]
    assert (made.args[3].data.item(), made.args[3].data.dtype) == (-1, "int32")
    assert (made.args[4].data.item(), made.args[4].data.dtype) == (0.5, "float32")
    counts = op.vision.get_valid_counts(v, 0)
    assert (counts.args[1].data.dtype, counts.attrs.score_threshold) == ("float32", None)
    steps = op.arange(10, dtype="int32")
    assert [arg.data.item() for arg in steps.args] == [0, 10, 1]
    assert (steps.attrs.start, steps.attrs.stop, steps.attrs.step) == steps.args
    assert steps.attrs.dtype == "int32"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: op.nn.conv2d(x), "nn.conv2d takes 2 inputs"),
        (lambda: op.nn.dense(m, n, 3, "float32", 5), "given 5 arguments; it takes 4: data, weight, units, out_dtype"),
        (lambda: op.nn.dense(m, n, weight=n), "the argument 'weight' is given twice"),
        (lambda: op.nn.softmax(m, n), "'axis': expected an integer, found an expression"),
    ],
)
def test_mistaken_arguments(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(BuildError, match=message):
        build()


@pytest.mark.parametrize(
    "made",
    [
        op.split(m, 2),
        op.split(m, (1, 3), axis=1),
        op.topk(m, 2),
        op.unique(i, return_counts=True),
        op.unique(i),
        op.nn.batch_norm(x, b, b, b, b),
        op.meshgrid(relay_ir.Tuple((b, b))),
        op.random.threefry_generate(relay_ir.var("key", shape=(10,), dtype="uint64"), (4,)),
        op.random.uniform(relay_ir.var("key", shape=(10,), dtype="uint64"), (4,)),
        op.vision.get_valid_counts(relay_ir.var("boxes", shape=(1, 5, 6)), 0),
    ],
    ids=lambda made: str(made.op.name),
)
def test_results_are_taken_by_index_and_unpacked(made: relay_ir.Call) -> None:
    mod = relay_ir.infer_type(relay_ir.IRModule.from_expr(made))
    fields = of_type(mod.types[mod["main"].body], relay_ir.TupleType).fields
    unpacked = list(iter(made))
    assert [mod_type(one) for one in unpacked] == list(fields)
    assert mod_type(made[-1]) == fields[-1]
    with pytest.raises(IndexError):
        made[len(fields)]


def mod_type(expr: relay_ir.TupleGetItem) -> object:
    mod = relay_ir.infer_type(relay_ir.IRModule.from_expr(expr))
    return mod.types[mod["main"].body]


def test_one_result_has_no_fields() -> None:
    for made in (op.nn.softmax(m), op.topk(m, 2, ret_type="values"), relay_ir.Call(relay_ir.var("f"), ())):
        with pytest.raises(TypeError, match="several results"):
            made[0]
