"""Generated C compiles without a warning and runs clean under the address and undefined-behaviour
sanitizers.

Every tensor is a block of memory of its own size, so that one element read or written too far is
seen.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir, translator
from relay2relax.backends.c.codegen.program import Entry, generate
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.merge_calls import merge_blocks
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.backends.numpy.binding import bind_call
from relay2relax.core.dtype import numpy_dtype
from relay2relax.relax_ir.transform import LegalizeOps
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.ir.expr import Buffer
from relay2relax.tir.ir.stmt import PrimFunc

pytestmark = pytest.mark.compiler
STRICT = ("-std=gnu11", "-O1", "-g", "-march=native", "-fwrapv", "-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")

PROGRAMS = {
    "images": """
def @main(%x: Tensor[(1, 3, 19, 17), float32], %w: Tensor[(20, 3, 3, 3), float32], %g: Tensor[(20), float32],
          %b: Tensor[(20), float32], %m: Tensor[(20), float32], %v: Tensor[(20), float32],
          %d: Tensor[(20, 1, 3, 3), float32], %p: Tensor[(33, 20, 1, 1), float32], %t: Tensor[(33, 3, 4, 4), float32],
          %f: Tensor[(7, 33), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], strides=[2, 2]);
  %1 = nn.batch_norm(%0, %g, %b, %m, %v);
  %2 = nn.relu(%1.0);
  %3 = nn.conv2d(%2, %d, padding=[1, 1, 1, 1], groups=20, channels=20, kernel_size=[3, 3]);
  %4 = add(nn.conv2d(clip(%3, a_min=0f, a_max=6f), %p), nn.conv2d(%2, %p));
  %5 = nn.max_pool2d(%4, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]);
  %6 = nn.conv2d_transpose(%5, %t, channels=3, kernel_size=[4, 4], strides=[2, 2], padding=[1, 1, 1, 1]);
  %7 = nn.batch_flatten(nn.global_avg_pool2d(%5));
  (nn.softmax(nn.dense(%7, %f, units=7)), tanh(%6), nn.avg_pool2d(%5, pool_size=[2, 2]))
}""",
    "attention": """
def @main(%x: Tensor[(1, 13, 24), float32], %q: Tensor[(24, 24), float32], %k: Tensor[(24, 24), float32],
          %v: Tensor[(24, 24), float32], %g: Tensor[(24), float32], %b: Tensor[(24), float32]) {
  %0 = nn.layer_norm(%x, %g, %b);
  %1 = transpose(reshape(nn.dense(%0, %q, units=24), newshape=[13, 3, 8]), axes=[1, 0, 2]);
  %2 = transpose(reshape(nn.dense(%0, %k, units=24), newshape=[13, 3, 8]), axes=[1, 0, 2]);
  %3 = transpose(reshape(nn.dense(%0, %v, units=24), newshape=[13, 3, 8]), axes=[1, 2, 0]);
  %4 = nn.softmax(divide(nn.batch_matmul(%1, %2, transpose_b=True), 2.8f));
  %5 = reshape(transpose(nn.batch_matmul(%4, %3, transpose_b=True), axes=[1, 0, 2]), newshape=[1, 13, 24]);
  add(%x, multiply(%5, add(erf(%5), 1f)))
}""",
    "recurrence": """
def @main(%x: Tensor[(5, 1, 12), float32], %s: Tensor[(1, 20), float32], %w: Tensor[(40, 32), float32]) {
  %0 = nn.dense(concatenate((take(%x, 0i64, axis=0), %s), axis=1), %w, units=40);
  %1 = split(%0, indices_or_sections=2, axis=1);
  %2 = multiply(sigmoid(%1.0), tanh(%1.1));
  %3 = nn.dense(concatenate((take(%x, 1i64, axis=0), %2), axis=1), %w, units=40);
  %4 = split(%3, indices_or_sections=2, axis=1);
  %5 = multiply(sigmoid(%4.0), tanh(%4.1));
  %6 = nn.dense(concatenate((take(%x, 2i64, axis=0), %5), axis=1), %w, units=40);
  %7 = split(%6, indices_or_sections=2, axis=1);
  %8 = multiply(sigmoid(%7.0), tanh(%7.1));
  %9 = nn.dense(concatenate((take(%x, 3i64, axis=0), %8), axis=1), %w, units=40);
  %10 = split(%9, indices_or_sections=2, axis=1);
  stack((%2, %5, %8, multiply(sigmoid(%10.0), tanh(%10.1))), axis=0)
}""",
    "dynamic": """
def @main(%x: Tensor[(?, 6, 7), float32], %w: Tensor[(19, 42), float32], %b: Tensor[(19), float32]) {
  %0 = nn.relu(nn.bias_add(nn.dense(nn.batch_flatten(%x), %w, units=19), %b));
  (nn.softmax(%0), mean(%0, axis=[1]), concatenate((%0, %0), axis=0))
}""",
    "integers": """
def @main(%x: Tensor[(6, 9), int8], %i: Tensor[(4), int64], %f: Tensor[(6, 9), float32]) {
  %0 = cast(%x, dtype="int32");
  %1 = floor_divide(%0, 3);
  %2 = take(%f, %i, axis=0, mode="clip");
  %3 = where(less(%f, 0f), %f, cast(%1, dtype="float32"));
  (argmax(%3, axis=[1]), cumsum(%0, axis=1), %2, topk(%f, k=3, axis=1, ret_type="values"), left_shift(%0, 2))
}""",
}


def harness(entry: Entry, shapes: list[tuple[int, ...]], extents: list[int], arena: int) -> str:
    """Return a ``main`` that calls an entry on blocks of memory of the exact sizes."""
    sizes = {b: int(np.prod([integer(e, {}) for e in b.shape])) for b in (*entry.constants, *entry.sources)}

    def block(buffer: Buffer, count: int) -> str:
        return f"block({count}, {numpy_dtype(buffer.dtype).itemsize}, {int('float' in buffer.dtype)})"

    lines = ["#include <stdint.h>", "#include <stdlib.h>", "#include <string.h>"]
    signature = "(void* const* a, const int64_t* s, void* const* k, double* t);"
    lines += [f"int64_t {name}{signature}" for name in (entry.symbol, entry.ahead) if name]
    lines += [
        "static void* block(size_t count, size_t size, int is_float) {",
        "  char* memory = aligned_alloc(1, count ? count * size : 1);",
        "  memset(memory, 0, count * size);",
        "  for (size_t i = 0; is_float && i < count; ++i) ((float*)memory)[i] = (float)(i % 17) / 16.0f - 0.5f;",
        "  return memory;",
        "}",
        "int main(void) {",
        f"  void* prepared = aligned_alloc(64, {integer(entry.prepared.size, {}) + 64});",
        f"  void* scratch = aligned_alloc(64, {integer(entry.scratch.size, {}) + 64});",
        f"  void* arena = aligned_alloc(64, {arena + 64});",
    ]
    names: dict[object, str] = {}
    for number, (buffer, size) in enumerate(sizes.items()):
        names[buffer] = f"c{number}"
        lines.append(f"  void* c{number} = {block(buffer, size)};")
    kept = [*(names[b] for b in entry.constants), "prepared", "scratch"]
    sources = [*(names[b] for b in entry.sources), "prepared", "scratch"]
    params = [block(b, int(np.prod(shape))) for b, shape in zip(entry.func.buffers, shapes, strict=True)]
    lines += [
        f"  void* k[] = {{{', '.join(kept)}}}; void* ahead[] = {{{', '.join(sources)}}}; (void)ahead;",
        f"  void* a[] = {{{', '.join(params)}, arena}};",
        f"  const int64_t s[] = {{{', '.join(map(str, [*extents, 0]))}}};",
        f"  {entry.ahead}(0, 0, ahead, 0);" if entry.ahead else "",
        f"  {entry.symbol}(a, s, k, 0);",
        f"  for (int i = 0; i < {len(params)}; ++i) free(a[i]);",
        *(f"  free({name});" for name in ("prepared", "scratch", "arena", *names.values())),
        "  return 0;",
        "}",
    ]
    return "\n".join(lines)


@pytest.mark.parametrize("name", [*PROGRAMS][::-1])  # a sample takes the first, which is small
@pytest.mark.parametrize("bound", [False, True], ids=["arguments", "constants"])
@pytest.mark.sweep(every=12)
def test_clean(name: str, bound: bool, tmp_path: Path) -> None:
    compiler = find_compiler()
    module = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"]' + PROGRAMS[name]))
    types = {p.name: of_type(module.types[p], relay_ir.TensorType) for p in module["main"].params}
    shapes = {name: [5 if not isinstance(e, int) else e for e in type_.shape] for name, type_ in types.items()}
    weights = {}
    if bound:
        kept = ("x", "s", "i", "f")
        weights = {n: np.full(shape, 0.5, np.float32) for n, shape in shapes.items() if n not in kept}
    merged = merge_blocks(LegalizeOps()(translator.lower_to_tir(module, weights)))
    (func,) = (f for f in merged.module.functions.values() if isinstance(f, PrimFunc))
    machine = Machine(compiler.machine.vector_bytes, compiler.machine.registers, 1)
    units, entries = generate([func], machine, merged.constants)
    entry = entries[func.name]
    values = dict.fromkeys(entry.variables, 5)
    actual = [tuple(integer(e, values) for e in b.shape) for b in func.buffers]
    bind_call(func, [np.empty(s, numpy_dtype(b.dtype)) for s, b in zip(actual, func.buffers, strict=True)])
    texts = [
        *(unit.text for unit in units),
        harness(entry, actual, [values[v] for v in entry.variables], integer(entry.arena.size, values)),
    ]
    sources = [tmp_path / f"unit{number}.c" for number in range(len(texts))]
    for path, text in zip(sources, texts, strict=True):
        path.write_text(text)
    program = tmp_path / "program"
    flags = (*STRICT, *SANITIZERS)
    probe = tmp_path / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    if subprocess.run([*compiler.command, *flags, probe, "-o", program], capture_output=True, check=False).returncode:
        pytest.skip("the compiler has no sanitizers")
    arguments = [*compiler.command, *flags, "-pthread", *map(str, sources), "-o", str(program), "-lm"]
    built = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:3000]
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run([str(program)], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[:3000]
