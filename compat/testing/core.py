"""``tvm.testing``: comparisons, targets, and the marks and fixtures of TVM's tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TypeVar

import numpy as np

from relay2relax.compat.running.executors import create_executor
from relay2relax.compat.running.ndarray import Device, device
from relay2relax.compat.running.results import Fields
from relay2relax.relay_ir.ir.module import IRModule

Test = TypeVar("Test", bound=Callable[..., object])
ENABLED = ("llvm",)


def assert_allclose(actual: object, desired: object, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Compare arrays, whose shapes have to be the same."""
    given, wanted = np.asanyarray(actual), np.asanyarray(desired)
    np.testing.assert_allclose(given.shape, wanted.shape)
    np.testing.assert_allclose(np.asarray(given), np.asarray(wanted), rtol=rtol, atol=atol, verbose=True)


def generate_ref_data(
    mod: IRModule, input_data: Mapping[str, object], params: Mapping[str, object] | None = None, target: object = "llvm"
) -> dict[str, object]:
    """Return what a program gives for inputs and parameters by name: ``output``, or ``output0``."""
    found = create_executor("graph", mod, target=target, params=params).evaluate()
    result = found(**input_data)  # type: ignore[operator]
    values = list(result) if isinstance(result, Fields) else [result]
    names = ["output"] if len(values) == 1 else [f"output{at}" for at in range(len(values))]
    return dict(zip(names, values, strict=True))


def enabled_targets() -> list[tuple[str, Device]]:
    """Return the targets that programs can be built for here, with their devices."""
    return [(name, device(name)) for name in ENABLED]


def device_enabled(target: object) -> bool:
    """Whether a target exists here."""
    return str(target).split()[0] in ENABLED


def _marking(*reasons: str) -> Callable[..., object]:
    """Return a decorator, with or without arguments, that skips tests for ``reasons``."""
    import pytest

    def mark(test: object = None, *args: object, **kwargs: object) -> object:
        if not callable(test):
            return mark
        for reason in reasons:
            test = pytest.mark.skip(reason=reason)(test)
        return test

    mark.marks = lambda: [pytest.mark.skip(reason=one) for one in reasons]  # type: ignore[attr-defined]
    return mark


# What tests may require and have here: nothing else exists beside the processor.
_PRESENT = ("llvm", "x86", "x86_64", "cpu", "skylake_avx512", "package", "32bit")


def required(name: str) -> object:
    """Return the decorator ``requires_…``, which skips a test that needs what is not here."""
    if name.startswith("requires_"):
        wanted = name.removeprefix("requires_")
        return _marking() if wanted in _PRESENT else _marking(f"needs {wanted}, which does not exist here")
    if name in ("uses_gpu", "slow"):
        return _marking()
    raise AttributeError(f"tvm.testing has no {name!r} here")


def requires_package(*packages: str) -> Callable[[Test], object]:
    """Return a decorator that skips a test where a package is not installed."""
    missing = [one for one in packages if find_spec(one) is None]
    return _marking(*(f"{one} is not installed" for one in missing))


def requires_version(*version: int) -> Callable[[Test], object]:
    """Return a decorator that skips a test: the tool it asks for does not exist here."""
    return _marking("needs a tool that does not exist here")


def skip_if_32bit(reason: object = "") -> object:
    """Return a test as it is: pointers have 64 bits."""
    return reason if callable(reason) else lambda test: test


def parametrize_targets(*args: object) -> object:
    """Let a test run for those of its targets that exist here."""
    import pytest

    if len(args) == 1 and callable(args[0]):
        return parametrize_targets(*ENABLED)(args[0])  # type: ignore[operator]
    usable = [one for one in args if device_enabled(one)]
    absent = [pytest.param(one, marks=pytest.mark.skip(reason=f"{one} does not exist here"))
              for one in args if not device_enabled(one)]  # fmt: skip
    return pytest.mark.parametrize("target", [*usable, *absent])


def _unchanged(*args: object) -> Callable[[Test], Test]:
    """Return a decorator that changes nothing: it names targets that do not exist here."""
    return lambda test: test


exclude_targets = known_failing_targets = _unchanged


def fixture(function: Callable[..., object] | None = None, *, cache_return_value: bool = False) -> object:
    """Return a fixture of pytest."""
    import pytest

    return pytest.fixture if function is None else pytest.fixture(function)


def parameter(*values: object, ids: Sequence[object] | None = None, by_dict: dict[str, object] | None = None) -> object:
    """Return a fixture that takes each of the values in turn."""
    import pytest

    if by_dict is not None:
        ids, values = list(by_dict), tuple(by_dict.values())

    @pytest.fixture(params=values, ids=ids)
    def of_parameter(*_owner: object, request: pytest.FixtureRequest) -> object:
        return request.param

    return of_parameter


class Together:
    """Fixtures that take their values together, row by row."""

    def __init__(self, rows: Sequence[Sequence[object]], ids: object) -> None:
        self.rows, self.ids = rows, ids


def parameters(*rows: Sequence[object], ids: object = None) -> list[object]:
    """Return fixtures, one per column, that take the values of one row together."""
    import pytest

    together = Together(rows, ids)

    def column(place: int) -> object:
        def of_row(*_owner: object, request: pytest.FixtureRequest) -> object:
            return request.param

        of_row.together = together  # type: ignore[attr-defined]
        of_row.place = place  # type: ignore[attr-defined]
        return pytest.fixture(of_row)

    return [column(place) for place in range(len(rows[0]))]


def main() -> None:
    """Run the tests of the file that calls this."""
    import inspect
    import sys

    import pytest

    caller = inspect.stack()[1].filename
    sys.exit(pytest.main(["-p", "tvm.testing.plugin", caller, *sys.argv[1:]]))


def _skipping(reason: str, *cases: object) -> Callable[[Test], Test]:
    return lambda test: test


def xfail_parameterizations(*cases: object, reason: str = "") -> Callable[[Test], Test]:
    """Return a decorator that changes nothing: what fails here fails."""
    return _skipping(reason, *cases)


skip_parameterizations = xfail_parameterizations


class enable_span_filling:
    """Does nothing: importers here always fill spans in."""

    def __init__(self, on: bool = True) -> None:
        self.on = on

    def __enter__(self) -> None:
        return None

    def __exit__(self, *problem: object) -> None:
        return None


disable_span_filling = enable_span_filling


def no_gpu(compute_version: object = None) -> bool:
    """Return False: there is no graphics processor."""
    return False
