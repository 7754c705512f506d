"""How arguments reach parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax.backends.runtime.arguments import bind_arguments
from relay2relax.core.errors import ExecutionError
from relay2relax.ops.registry.types import TensorType, TupleType
from relay2relax.tir.extent import ANY, mul
from relay2relax.tir.ir.expr import Var

X = ("x", TensorType((2, 3)))
Y = ("y", TensorType((ANY,), "int32"))


def message(*args: Any, parameters: Any = (X, Y), **named: Any) -> str:
    with pytest.raises(ExecutionError) as caught:
        bind_arguments("main", parameters, args, named)
    return caught.value.diagnostics[0].title


def test_positions_then_names() -> None:
    x, y = np.ones((2, 3), "float32"), np.arange(4, dtype="int32")
    for args, named in (((x, y), {}), ((x,), {"y": y}), ((), {"y": y, "x": x})):
        first, second = bind_arguments("main", (X, Y), args, named)
        assert first is x
        assert second is y


def test_conversion_to_the_parameter() -> None:
    first, second = bind_arguments("main", (X, Y), ([[1, 2, 3], [4, 5, 6]], np.array([1.9, -1.9])), {})
    assert of_type(first, np.ndarray).dtype == np.float32
    assert of_type(second, np.ndarray).dtype == np.int32
    assert of_type(second, np.ndarray).tolist() == [1, -1]
    (scalar,) = bind_arguments("main", (("s", TensorType((), "bool")),), (1,), {})
    assert of_type(scalar, np.ndarray).dtype == np.bool_
    assert of_type(scalar, np.ndarray).shape == ()


def test_tuples() -> None:
    ty = TupleType((TensorType((1,)), TupleType((TensorType((), "int64"),))))
    (value,) = bind_arguments("main", (("t", ty),), (([1], [2]),), {})
    first, second = of_type(value, tuple)
    assert first.dtype == np.float32
    assert second[0] == 2
    assert message(([1], 2), parameters=(("t", ty),)) == "main: argument `t`, field 1 is int, expected a tuple of 1"
    assert message(([1],), parameters=(("t", ty),)) == "main: argument `t` has 1 fields, expected 2"


class Foreign:
    """Something that only speaks DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_dlpack_shares_memory() -> None:
    x = np.ones((2, 3), "float32")
    (got,) = bind_arguments("main", (X,), (Foreign(x),), {})
    assert np.shares_memory(got, x)


def test_torch_tensors_share_memory() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.ones(2, 3)
    (got,) = bind_arguments("main", (X,), (tensor,), {})
    tensor[0, 0] = 7
    assert of_type(got, np.ndarray)[0, 0] == 7


def test_what_is_refused() -> None:
    x, y = np.ones((2, 3)), np.ones(4)
    assert message(x) == "main: missing arguments: `y`"
    assert message() == "main: missing arguments: `x`, `y`"
    assert message(x, y, y) == "main takes 2 arguments (x, y), 3 were given by position"
    assert message(x, y, x=x) == "main: argument `x` is given by position and by name"
    assert message(x, z=y) == "main has no parameter `z`; not given yet: y"
    assert message(x.T, y) == "main: argument `x` has shape (3, 2), expected (2, 3)"
    assert message(x, x) == "main: argument `y` has shape (2, 3), expected (?)"
    assert message(np.ones(3), y) == "main: argument `x` has shape (3), expected (2, 3)"
    assert "cannot be read as an array" in message([[1, 2], [3]], y)
    assert "expected numbers" in message(np.array([["a"]]), y)
    assert "several parameters called `x`" in message(parameters=(X, X), x=x)


def test_a_value_for_an_input_that_the_program_lacks_is_left_out_aloud() -> None:
    """As TVM's executors do; that all parameters have values tells it from a slip."""
    x, y = np.ones((2, 3)), np.ones(4)
    with pytest.warns(UserWarning, match="main has no parameter `unused`; its value is not used"):
        first, second = bind_arguments("main", (X, Y), (x,), {"y": y, "unused": x})
    np.testing.assert_array_equal(of_type(first, np.ndarray), x)
    np.testing.assert_array_equal(of_type(second, np.ndarray), y)


def test_symbolic_extents_agree_among_arguments() -> None:
    n = Var("n")
    parameters = (("a", TensorType((n, 2))), ("b", TensorType((mul(n, 3),))))
    bind_arguments("main", parameters, (np.ones((4, 2)), np.ones(12)), {})
    expected = "main: argument `b` has shape (11), expected (n * 3) (with n = 4)"
    assert message(np.ones((4, 2)), np.ones(11), parameters=parameters) == expected
