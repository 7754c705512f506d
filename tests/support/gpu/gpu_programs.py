"""Programs of Relay, one for each kind of kernel."""

from __future__ import annotations

PROGRAMS = {
    "few rows by a warp each, and softmax stage by stage": """
def @main(%x: Tensor[(5, 33), float32], %w: Tensor[(19, 33), float32], %b: Tensor[(19), float32]) {
  %0 = nn.bias_add(nn.dense(%x, %w, units=19), %b);
  nn.softmax(nn.relu(%0))
}""",
    "a product with tails": """
def @main(%x: Tensor[(35, 41), float32], %w: Tensor[(38, 41), float32], %b: Tensor[(38), float32]) {
  nn.relu(nn.bias_add(nn.dense(%x, %w, units=38), %b))
}""",
    "products of a batch, and softmax by rows": """
def @main(%q: Tensor[(2, 33, 8), float32], %k: Tensor[(2, 40, 8), float32], %v: Tensor[(2, 12, 40), float32]) {
  nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_b=True)), %v, transpose_b=True)
}""",
    "one row": """
def @main(%x: Tensor[(1, 2100), float32], %w: Tensor[(20, 2100), float32]) {
  nn.softmax(nn.dense(%x, %w, units=20))
}""",
    "a convolution, pooling, and a sum with a residue": """
def @main(%x: Tensor[(1, 3, 9, 11), float32], %w: Tensor[(8, 3, 3, 3), float32], %s: Tensor[(8, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %1 = nn.relu(multiply(%0, %s));
  (nn.max_pool2d(add(%1, %0), pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]), mean(%1, axis=[2, 3]))
}""",
    "a convolution of each channel": """
def @main(%x: Tensor[(1, 8, 10, 10), float32], %w: Tensor[(8, 1, 3, 3), float32]) {
  nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, groups=8, kernel_size=[3, 3])
}""",
    "a transposed convolution": """
def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(4, 8, 3, 3), float32]) {
  nn.conv2d_transpose(%x, %w, channels=8, kernel_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])
}""",
    "bytes, a border turned around, and a slope": """
def @main(%x: Tensor[(1, 20, 9, 7), int8], %w: Tensor[(12, 20, 3, 3), int8], %a: Tensor[(12), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3], out_dtype="int32");
  %1 = nn.prelu(multiply(cast(%0, dtype="float32"), 0.01f), %a);
  (%0, %1, transpose(strided_slice(%x, begin=[0, 0, 0, 0], end=[1, 20, 9, 5]), axes=[0, 2, 3, 1]))
}""",
    "a normalisation by rows": """
def @main(%x: Tensor[(6, 300), float32], %g: Tensor[(300), float32], %b: Tensor[(300), float32]) {
  nn.layer_norm(%x, %g, %b)
}""",
    "sums of rows, of columns, and of all": """
def @main(%x: Tensor[(70, 50), float32]) {
  (sum(%x, axis=[0]), mean(%x), max(%x, axis=[1]), prod(%x, axis=[1]), all(less(%x, 3f), axis=[1]))
}""",
    "joined and reshaped tensors": """
def @main(%x: Tensor[(2, 3, 70), float32], %y: Tensor[(2, 5, 70), float32]) {
  %0 = concatenate((exp(%x), %y), axis=1);
  %1 = transpose(reshape(%0, newshape=[16, 70]), axes=[1, 0]);
  (%1, sum(%1, axis=[0]), argmax(%0, axis=[1]))
}""",
    "matrices turned by tiles, a batch that is not known": """
def @main(%x: Tensor[(70, 130), float32], %y: Tensor[(?, 20), float32], %w: Tensor[(40, 20), float32]) {
  (transpose(%x, axes=[1, 0]), transpose(%y, axes=[1, 0]), tanh(nn.dense(%y, %w, units=40)))
}""",
    "powers of numbers of both signs": """
def @main(%x: Tensor[(40), float32], %n: Tensor[(4, 1), int64]) {
  (power(%x, 2f), power(%x, 3f), power(%x, cast(%n, dtype="float32")), power(%x, 0.5f))
}""",
    "one number, and a function without vectors": """
def @main(%x: Tensor[(40), float32], %y: Tensor[(), float32]) {
  multiply(sinh(%x), exp(negative(%y)))
}""",
    "sorting, a scan, and halves": """
def @main(%x: Tensor[(4, 37), int32], %y: Tensor[(64, 8), float16]) {
  (sort(%x), cumsum(%x, axis=1), divide(%x, 3), add(%y, exp(%y)), sum(%y, axis=[1]))
}""",
    "elements that are gathered and scattered": """
def @main(%x: Tensor[(9, 12), float32], %i: Tensor[(9, 5), int64], %u: Tensor[(9, 5), float32]) {
  (take(%x, %i, axis=0, mode="clip"), scatter_elements(%x, abs(%i), %u, axis=1))
}""",
    "short rows, and pieces of a small tensor": """
def @main(%x: Tensor[(6, 3, 4), float32], %y: Tensor[(8, 8, 6), float32], %g: Tensor[(6), float32]) {
  (min(%x, axis=[2]), sum(%x, axis=[1]), prod(%x, axis=[0, 2]), nn.layer_norm(%y, %g, %g))
}""",
    "a product of few terms": """
def @main(%x: Tensor[(1, 32, 7, 7), float32], %w: Tensor[(64, 32, 1, 1), float32], %b: Tensor[(64, 1, 1), float32]) {
  nn.relu(add(nn.conv2d(%x, %w, channels=64, kernel_size=[1, 1]), %b))
}""",
    "a product of few columns": """
def @main(%x: Tensor[(1, 48, 2, 2), float32], %w: Tensor[(40, 48, 1, 1), float32]) {
  nn.conv2d(%x, %w, channels=40, kernel_size=[1, 1])
}""",
    "a tensor of a large part and a small one": """
def @main(%x: Tensor[(4), float32], %y: Tensor[(30, 300), float32]) {
  max(concatenate((sum(%y, axis=[1]), exp(%x)), axis=0))
}""",
}
