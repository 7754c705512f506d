"""Tensors without elements on target c, one extent of which is far too large to count to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import pytest

FAR = 1 << 60
# The operator's call on x of (FAR, 0), and the extents of its result, as its definition has them.
CALLS: dict[str, tuple[int, ...]] = {
    "negative(%x)": (FAR, 0),
    "nn.pad(%x, 0f, pad_width=[[1, 1], [0, 0]])": (FAR + 2, 0),
    "repeat(%x, repeats=2, axis=1)": (FAR, 0),
    f"strided_slice(%x, begin=[0, 0], end=[{FAR}, 3])": (FAR, 0),
    "tile(%x, reps=[2, 3])": (2 * FAR, 0),
}
PROGRAM = """
import sys
import numpy as np
from relay2relax import backends, relay_ir, translator
for call in sys.argv[2:]:
    text = '#[version = "0.0.5"] def @main(%x: Tensor[(?, ?), int8]) { ' + call + ' }'
    typed = relay_ir.infer_type(relay_ir.parse(text))
    relax = translator.lower_to_tir(typed, dims={"x": ("n", "m")})
    main = backends.VirtualMachine(backends.build(relax, target="c"))["main"]
    assert main(np.ones((2, 3), "int8")).size > 0
    print(call, main(np.empty((int(sys.argv[1]), 0), "int8")).shape, flush=True)
"""


def printed(program: str, arguments: Iterable[str]) -> list[str]:
    """Return the lines that a process prints: fewer where a call does not come back.

    No signal ends a loop of C, so a process has to end.
    """
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        said, _ = process.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
    return said.splitlines()


@pytest.mark.sweep(every=2)
def test_what_has_no_elements_takes_no_time() -> None:
    assert printed(PROGRAM, [str(FAR), *CALLS]) == [f"{call} {shape}" for call, shape in CALLS.items()]


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
import sys
import numpy as np
from relay2relax import backends, relay_ir, translator
for call in sys.argv[1:]:
    text = '#[version = "0.0.5"] def @main(%x: Tensor[(?, ?), int8]) { ' + call + ' }'
    typed = relay_ir.infer_type(relay_ir.parse(text))
    main = backends.VirtualMachine(backends.build(translator.lower_to_tir(typed), target="c"))["main"]
    main(np.ones((2, 3), "int8"))
    for shape in ((1 << 62, 0), (0, 1 << 62)):
        print(call, int(np.asarray(main(np.empty(shape, "int8")))), flush=True)
"""


@pytest.mark.sweep(every=2)
def test_reductions_of_nothing_take_no_time() -> None:
    expected = [f"{call} {value}" for call, value in REDUCTIONS.items() for _ in range(2)]
    assert printed(REDUCED, REDUCTIONS) == expected
