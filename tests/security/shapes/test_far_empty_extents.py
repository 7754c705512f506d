"""Tensors without elements on target c, one extent of which is far too large to count to."""

from __future__ import annotations

import subprocess
import sys

import pytest

FAR = 1 << 60
# The operator's call on x of (FAR, 0), and the extents of its result, as its definition has them.
CALLS: dict[str, tuple[str, tuple[int, ...]]] = {
    "negative": ("negative(%x)", (FAR, 0)),
    "pad": ("nn.pad(%x, 0f, pad_width=[[1, 1], [0, 0]])", (FAR + 2, 0)),
    "repeat": ("repeat(%x, repeats=2, axis=1)", (FAR, 0)),
    "strided_slice": (f"strided_slice(%x, begin=[0, 0], end=[{FAR}, 3])", (FAR, 0)),
    "tile": ("tile(%x, reps=[2, 3])", (2 * FAR, 0)),
}
PROGRAM = """
import numpy as np
from relay2relax import backends, relay_ir, translator
text = '#[version = "0.0.5"] def @main(%x: Tensor[(?, ?), int8]) {{ {call} }}'
typed = relay_ir.infer_type(relay_ir.parse(text))
relax = translator.lower_to_tir(typed, dims={{"x": ("n", "m")}})
main = backends.VirtualMachine(backends.build(relax, target="c"))["main"]
assert main(np.ones((2, 3), "int8")).size > 0
print(main(np.empty(({far}, 0), "int8")).shape)
"""


@pytest.mark.parametrize("name", CALLS)
def test_what_has_no_elements_takes_no_time(name: str) -> None:
    call, shape = CALLS[name]
    command = [sys.executable, "-c", PROGRAM.format(call=call, far=FAR)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.strip() == str(shape), done.stderr


# A reduction of x of (2**62, 0) or (0, 2**62), and its value of nothing, as numpy has it.
REDUCTIONS = {
    "sum(%x)": 0,
    "prod(%x)": 1,
    "max(%x)": -128,
    'cast(any(cast(%x, dtype="bool")), dtype="int8")': 0,
    'cast(all(cast(%x, dtype="bool")), dtype="int8")': 1,
    'einsum((%x,), equation="ab->")': 0,
    "sum(sort(%x))": 0,
}
REDUCED = """
import numpy as np
from relay2relax import backends, relay_ir, translator
text = '#[version = "0.0.5"] def @main(%x: Tensor[(?, ?), int8]) {{ {call} }}'
typed = relay_ir.infer_type(relay_ir.parse(text))
main = backends.VirtualMachine(backends.build(translator.lower_to_tir(typed), target="c"))["main"]
main(np.ones((2, 3), "int8"))
for shape in ((1 << 62, 0), (0, 1 << 62)):
    print(int(np.asarray(main(np.empty(shape, "int8")))))
"""


@pytest.mark.parametrize("call", REDUCTIONS)
def test_reductions_of_nothing_take_no_time(call: str) -> None:
    command = [sys.executable, "-c", REDUCED.format(call=call)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.split() == [str(REDUCTIONS[call])] * 2, done.stderr
