"""Functions that are one kernel: their short way gives what the machine gives, and takes only what
it has seen.
"""

from __future__ import annotations

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.vm.direct import DirectCall
from relay2relax.core.errors import ExecutionError

pytestmark = pytest.mark.compiler
TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), float32], %y: Tensor[(4), float32]) {
  %0 = add(%x, %y);
  (sum(%0, axis=[1]), %0)
}
"""


def test_results_in_order_and_of_their_own() -> None:
    module = relay_ir.infer_type(relay_ir.parse(TEXT))
    main = backends.VirtualMachine(backends.build(translator.lower_to_tir(module), target="c"))["main"]
    assert isinstance(main, DirectCall)
    y = np.arange(4, dtype=np.float32)
    kept = []
    for rows in (3, 5, 3, 3):
        x = np.full((rows, 4), rows, np.float32)
        total, shifted = of_type(main(x, y), tuple)
        np.testing.assert_array_equal(shifted, x + y)
        np.testing.assert_array_equal(total, (x + y).sum(1))
        kept.append((total, shifted))
    assert len({array.ctypes.data for pair in kept for array in pair}) == 8
    assert not any(np.shares_memory(x, array) for array in kept[-1])


def test_other_arguments_go_through_the_machine() -> None:
    module = relay_ir.infer_type(relay_ir.parse(TEXT))
    main = backends.VirtualMachine(backends.build(translator.lower_to_tir(module), target="c"))["main"]
    x, y = np.ones((2, 4), np.float32), np.ones(4, np.float32)
    main(x, y)
    np.testing.assert_array_equal(main([[1, 1, 1, 1], [1, 1, 1, 1]], y)[0], [8, 8])
    np.testing.assert_array_equal(main(x=x, y=y)[0], [8, 8])
    np.testing.assert_array_equal(main(x.astype(np.float64), y)[0], [8, 8])
    with pytest.raises(ExecutionError):
        main(np.ones((2, 5), np.float32), y)
    with pytest.raises(ExecutionError):
        main(x)
