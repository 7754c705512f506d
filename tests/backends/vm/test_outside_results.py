"""What functions that nobody vouches for, and callers, give to programs is checked before it is
computed with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relax_ir
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors import ExecutionError, Relay2RelaxError

TARGETS = ["numpy", pytest.param("c", marks=pytest.mark.compiler)]
each_target = pytest.mark.parametrize("target", TARGETS)


def machine(script: str, target: str = "numpy") -> backends.VirtualMachine:
    return backends.VirtualMachine(backends.build(relax_ir.parse(script), target=target))


def ones(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.ones(shape, numpy_dtype(dtype))


PACKED = """
@R.function
def main(x: R.Tensor(("n", 3), dtype="float32")):
    n = T.int64()
    with R.dataflow():
        y: R.Tensor((n, 3), dtype="float32") = R.call_pure_packed(
            "test.result", x, sinfo_args=R.Tensor((n, 3), dtype="float32"))
        z = R.add(y, x)
        R.output(z)
    return z
"""


@each_target
@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (ones(2), r"expected a tensor of 2 dimensions, found shape \(2,\)"),
        (ones(3, 3), r"dimension 0 is 3, expected 2; the shape is \(3, 3\)"),
        (ones(2, 4), r"dimension 1 is 4, expected 3"),
        (ones(2, 3, dtype="float64"), "expected dtype float32, found float64"),
        (None, "expected a tensor, found NoneType"),
        ((ones(2, 3),), "expected a tensor, found tuple"),
        (1.5, "expected a tensor, found float"),
    ],
)
def test_results_of_packed_functions(result: Any, problem: str, target: str) -> None:
    backends.register_func("test.result", override=True)(lambda x: result)
    with pytest.raises(ExecutionError, match=problem + r"(.|\n)*fn=main, loc=result of test\.result, annotation=R\."):
        machine(PACKED, target)["main"](ones(2, 3))


@each_target
def test_results_of_other_libraries(target: str) -> None:
    torch = pytest.importorskip("torch")
    backends.register_func("test.result", override=True)(lambda x: torch.from_dlpack(x) * 2)
    assert machine(PACKED, target)["main"](ones(2, 3)).tolist() == [[3.0] * 3] * 2


def test_all_missing_functions_are_named() -> None:
    with pytest.raises(
        ExecutionError,
        match=r"no function 'test\.no\.one' is registered.*; there are no functions 'test\.no\.two' either",
    ):
        machine("""
@R.function(pure=False)
def main(x: R.Tensor((2,), dtype="float32")):
    a = R.call_packed("test.no.one", x, sinfo_args=R.Tensor((2,), dtype="float32"))
    b = R.call_dps_packed("test.no.two", (a,), out_sinfo=R.Tensor((2,), dtype="float32"))
    return b
""")


KERNEL = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add_one(A: T.Buffer((T.int64(8),), "float32"), B: T.Buffer((T.int64(8),), "float32")):
        for i in range(T.int64(8)):
            with T.block("B"):
                v = T.axis.spatial(T.int64(8), i)
                B[v] = A[v] + T.float32(1)

    @R.function
    def main(x: {annotation}) -> R.Tensor((8,), dtype="float32"):
        cls = Module
        y = R.call_tir(cls.add_one, (x,), out_sinfo=R.Tensor((8,), dtype="float32"))
        return y
"""


@each_target
@pytest.mark.parametrize(
    ("annotation", "value", "problem"),
    [
        ('R.Tensor(dtype="float32", ndim=1)', ones(3), "dimension 0 of argument 'A' has extent 3, expected 8"),
        ('R.Tensor(dtype="float32", ndim=1)', ones(9), "dimension 0 of argument 'A' has extent 9, expected 8"),
        ("R.Tensor(ndim=1)", ones(8, dtype="float64"), "argument 'A' has dtype float64, expected float32"),
        ("R.Tensor()", ones(2, 2), "argument 'A' has 2 dimensions, expected 1"),
        ("R.Object", None, "argument 'A' has type NoneType, expected a tensor"),
    ],
)
def test_arguments_of_programs_that_annotations_leave_open(
    annotation: str, value: Any, problem: str, target: str
) -> None:
    main = machine(KERNEL.format(annotation=annotation), target)["main"]
    for _ in range(2):
        assert main(ones(8)).tolist() == [2.0] * 8
        with pytest.raises(ExecutionError, match=f"add_one: {problem}"):
            main(value)


@each_target
@pytest.mark.parametrize("dims", ['("n",)', None])
def test_operands_that_do_not_broadcast(dims: str | None, target: str) -> None:
    of = "ndim=1" if dims is None else ""
    shapes = [f'("{name}",), ' if dims else "" for name in "nm"]
    main = machine(
        f"""
@R.function
def main(x: R.Tensor({shapes[0]}dtype="float32", {of}), y: R.Tensor({shapes[1]}dtype="float32", {of})):
    return R.add(x, y)
""",
        target,
    )["main"]
    for a, b in ((2, 2), (2, 1), (1, 3)):
        assert main(ones(a), ones(b)).tolist() == [2.0] * max(a, b)
    for a, b in ((2, 5), (5, 2)):
        with pytest.raises(Exception, match=r"add.*(the shapes do not fit|cannot be computed)"):
            main(ones(a), ones(b))


@each_target
def test_operands_with_extents_that_have_to_be_equal(target: str) -> None:
    main = machine(
        """
@R.function
def main(x: R.Tensor((2, "n"), dtype="float32"), y: R.Tensor(("m", 4), dtype="float32"), c: R.Tensor((), "bool")):
    if c:
        z = R.matmul(x, y)
    else:
        z = R.zeros(R.shape([2, 4]), dtype="float32")
    return z
""",
        target,
    )["main"]
    assert main(ones(2, 3), ones(3, 4), True)[0].tolist() == [3.0] * 4
    # What the branch that is not taken asks is not asked.
    assert main(ones(2, 3), ones(5, 4), False)[0].tolist() == [0.0] * 4
    with pytest.raises(Exception, match=r"matmul: the shapes do not fit|cannot be multiplied"):
        main(ones(2, 3), ones(5, 4), True)


@each_target
def test_parameters_of_programs_that_share_an_extent(target: str) -> None:
    main = machine(
        """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add(a: T.handle, b: T.handle, c: T.handle):
        k = T.int64()
        A, B = T.match_buffer(a, (k,), "float32"), T.match_buffer(b, (k,), "float32")
        C = T.match_buffer(c, (k,), "float32")
        for i in range(k):
            with T.block("C"):
                v = T.axis.spatial(k, i)
                C[v] = A[v] + B[v]

    @R.function
    def main(x: R.Tensor(("n",), dtype="float32"), y: R.Tensor(("m",), dtype="float32")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            z = R.call_tir(cls.add, (x, y), out_sinfo=R.Tensor((n,), dtype="float32"))
            w = R.call_tir(cls.add, (z, y), out_sinfo=R.Tensor((n,), dtype="float32"))
            R.output(w)
        return w
""",
        target,
    )["main"]
    assert main(ones(2), ones(2)).tolist() == [3.0, 3.0]
    with pytest.raises(
        ExecutionError, match=r"add: (the shapes do not fit for|dimension 0 of argument 'B' has extent 5)"
    ):
        main(ones(2), ones(5))


@each_target
def test_annotations_that_say_more_than_is_known(target: str) -> None:
    main = machine(
        """
@R.function
def main(x: R.Tensor((2,), dtype="float32"), y: R.Object, w: R.Object) -> R.Tensor((2,), dtype="float32"):
    z: R.Tensor((2,), dtype="float32") = y
    v = R.add(x, z)
    return w
""",
        target,
    )["main"]
    x = ones(2)
    assert main(x, x, x).tolist() == [1.0, 1.0]
    with pytest.raises(ExecutionError, match="loc=value of z"):
        main(x, ones(5), x)
    with pytest.raises(ExecutionError, match="loc=return"):
        main(x, x, ones(5))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "int8", "bool"])
def test_destinations_in_torch(dtype: str) -> None:
    torch = pytest.importorskip("torch")

    @backends.register_func("test.copy", override=True)
    def copy(x: Any, out: Any) -> None:
        torch.from_dlpack(out).copy_(torch.from_dlpack(x))

    main = machine(f"""
@R.function
def main(x: R.Tensor(("n", 3), dtype="{dtype}")):
    n = T.int64()
    with R.dataflow():
        y = R.call_dps_packed("test.copy", (x,), out_sinfo=R.Tensor((n, 3), dtype="{dtype}"))
        R.output(y)
    return y
""")["main"]
    data = np.array([[0, 1, 1], [1, 0, 1]], numpy_dtype(dtype))
    data.flags.writeable = False
    turned = torch.tensor([[0, 1], [1, 0], [1, 1]]).to(getattr(torch, dtype)).T
    for given in (data, turned, np.repeat(data, 2, axis=0)[::2], data[:0]):
        result = main(given)
        assert result.dtype == numpy_dtype(dtype)
        assert (result == data[: len(given)]).all()


@each_target
def test_fields_of_tuples_are_converted_and_named(target: str) -> None:
    main = machine(
        """
@R.function
def main(t: R.Tuple(R.Tensor(("n", 2), "float32"), R.Tuple(R.Tensor(("n",), "int64"), R.Shape(["n", "m"])))):
    return t[1]
""",
        target,
    )["main"]
    data, shape = main((ones(3, 2), ([1, 2, 3], (3, 4))))
    assert (data.dtype, data.tolist(), tuple(shape)) == (np.int64, [1, 2, 3], (3, 4))
    for given, problem in [
        ((ones(3, 2), ([1, 2], (3, 4))), r"dimension 0 is 2, expected 3(.|\n)*param=t\[1\]\[0\], annotation=R.Tensor"),
        (
            (ones(3, 2), ([1, 2, 3], (2, 4))),
            r"dimension 0 is 2, expected 3(.|\n)*param=t\[1\]\[1\], annotation=R.Shape",
        ),
        ((ones(3, 2), ([1, 2, 3], (3, -4))), r"extents that are not negative, found \(3, -4\)(.|\n)*param=t\[1\]\[1\]"),
        ((ones(3), ([1, 2, 3], (3, 4))), r"expected a tensor of 2 dimensions(.|\n)*param=t\[0\]"),
        ((ones(3, 2), ([1, 2, 3],)), r"expected a tuple of 2 fields, found 1(.|\n)*param=t\[1\]"),
    ]:
        with pytest.raises(ExecutionError, match=problem):
            main(given)


@each_target
@pytest.mark.parametrize("extent", [-3, 2**45, 2**62])
def test_extents_that_no_memory_has(extent: int, target: str) -> None:
    main = machine(
        """
@R.function
def main(k: R.Prim("int64"), x: R.Tensor((4,), dtype="float32")):
    y = R.zeros(R.shape([k]), dtype="float32")
    return y
""",
        target,
    )["main"]
    assert main(2, ones(4)).tolist() == [0.0, 0.0]
    with pytest.raises(
        Relay2RelaxError,
        match=r"needs .* bytes(.|\n)*zeros|zeros.* needs|bytes of memory are asked for|zeros cannot be computed",
    ):
        main(extent, ones(4))


@each_target
def test_elements_that_another_shape_does_not_have(target: str) -> None:
    main = machine(
        """
@R.function
def main(x: R.Tensor(("n",), dtype="float32")):
    n = T.int64()
    y = R.reshape(x, R.shape([n // 2, 2]))
    return y
""",
        target,
    )["main"]
    assert main(ones(6)).shape == (3, 2)
    with pytest.raises(ExecutionError, match=r"has no shape \(2, 2\)|the shapes do not fit for n = 5"):
        main(ones(5))
