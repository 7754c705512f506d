"""What all tests share: where the recorded cases lie, golden text files, and what this machine can
do.
"""

from __future__ import annotations

import gc
import gzip
import importlib.util
import inspect
import json
import shutil
import signal
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import sweep
from golden_folder import golden_root
from hypothesis import HealthCheck, settings
from model_cases import MODEL_NAMES, ModelCase, load_model_case


@pytest.fixture(params=MODEL_NAMES)
def model_case(request: pytest.FixtureRequest) -> ModelCase:
    """Every recorded model, one after the other."""
    return load_model_case(request.param)


@pytest.fixture
def get_model_case() -> Any:
    """A function that returns the recorded model of a name."""
    return load_model_case


@lru_cache(maxsize=2)
def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


@pytest.fixture
def recorded() -> Any:
    """A function that returns the cases of a file of recorded cases, e.g.
    ``recorded("operators")``.
    """

    def cases(name: str) -> Iterator[dict[str, Any]]:
        root = golden_root()
        if root is None:
            pytest.skip("recorded cases are absent (RELAY2RELAX_GOLDEN, or ../shared/golden beside the checkout)")
        return iter(_lines(root / f"{name}.jsonl.gz"))

    return cases


# The gate draws the same examples for everyone. ``--hypothesis-seed`` draws anew, and the same
# again for the same seed. A loaded machine is no fault: nothing is refused for being slow.
_TIMELESS = settings(database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", _TIMELESS, derandomize=True)
settings.register_profile("drawn", _TIMELESS, derandomize=False, print_blob=True)


def pytest_configure(config: pytest.Config) -> None:
    # Shells let what runs in the background ignore Ctrl-C, and its children with it.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    given = config.getoption("--hypothesis-seed", None)
    settings.load_profile("gate" if given is None else "drawn")
    sweep.seed = None if given is None else zlib.crc32(str(given).encode())
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_LeftOut(), "left out")


def pytest_collection_finish() -> None:
    """Spare the collector of cycles what lives as long as the process: tests, and what they use."""
    gc.collect()
    gc.freeze()


def _module_of(found: Any, filename: str | None = None, known: Any = inspect.getmodule) -> ModuleType | None:
    """Return what ``inspect.getmodule`` does: none for programs made of texts, without a search."""
    code = found.f_code if inspect.isframe(found) else found
    return None if inspect.iscode(code) and code.co_filename.startswith("<") else known(found, filename)


# TVM's parser asks for the stack at each function of a script. For frames without a file all
# modules are searched, which is half of its time where torch is imported.
inspect.getmodule = _module_of  # type: ignore[assignment]


class _LeftOut:
    """Sums what the processes left out, and says it at the end, beside what was skipped."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    # Each process finds all tests and runs a part of them.
    def add(self, found: Mapping[str, int]) -> None:
        tests = max(self.counts["tests"], found.get("tests", 0))
        self.counts.update(found)
        self.counts["tests"] = tests

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.add(getattr(node, "workeroutput", {}).get("left_out", {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self.add(sweep.left_out)
        who = "RELAY2RELAX_SWEEP=full" if sweep.LEVEL == "all" else "make test-all"
        lines = [f"{count} {what} left out of a sample ({who})" for what, count in (+self.counts).items()]
        reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
        lines += [f"{count} skipped: {reason}" for reason, count in reasons.most_common()]
        if lines:
            terminalreporter.section("not run, and why")
            for line in lines:
                terminalreporter.line(line)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    found = report.longrepr
    text = found[2] if isinstance(found, tuple) else str(found)
    return text.removeprefix("Skipped: ")


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = dict(sweep.left_out)


# The generators of modules of tests and of what they share, with the state in which they were made.
_BEGINNINGS: dict[str, list[tuple[np.random.Generator, Mapping[str, Any]]]] = {}


def _remember(module: ModuleType) -> None:
    if module.__name__ not in _BEGINNINGS:
        found = [one for one in vars(module).values() if isinstance(one, np.random.Generator)]
        _BEGINNINGS[module.__name__] = [(one, one.bit_generator.state) for one in found]


@pytest.fixture(autouse=True)
def _same_draws(request: pytest.FixtureRequest) -> None:
    """Begin each test with the generators as they were made, whatever ran before."""
    for name in (request.module.__name__, *_shared()):
        for generator, state in _BEGINNINGS.get(name, ()):
            generator.bit_generator.state = state


@lru_cache(maxsize=1)
def _shared() -> list[str]:
    """Return the names of the modules that tests share."""
    return [one.stem for one in (Path(__file__).parent / "support").rglob("*.py")]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden text files with what was printed")


@pytest.fixture
def golden_text(request: pytest.FixtureRequest) -> Any:
    """A function that compares a text with ``cases/<name>``; ``--update-golden`` rewrites it.

    The folder ``cases``, or another that is named, lies beside the test, or above it.
    """

    def check(name: str, text: str, folder: str = "cases") -> None:
        above = [one / folder for one in Path(request.path).parents[:2]]
        path = next((one for one in above if one.is_dir()), above[0]) / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text)
        assert path.exists(), f"no golden file {path.name}; run with --update-golden and review it"
        assert text == path.read_text()

    return check


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    has_tvm = importlib.util.find_spec("tvm") is not None
    has_compiler = any(shutil.which(cc) for cc in ("cc", "gcc", "clang"))
    for item in items:
        if "tvm" in item.keywords and not has_tvm:
            item.add_marker(pytest.mark.skip(reason="apache-tvm is not installed (extra: tvm)"))
        if "compiler" in item.keywords and not has_compiler:
            item.add_marker(pytest.mark.skip(reason="no C compiler"))
        if isinstance(item, pytest.Function) and item.module is not None:
            _remember(item.module)
    for name in _shared():
        if name in sys.modules:
            _remember(sys.modules[name])
    # Whoever names a test wants it.
    if sweep.LEVEL == "sample" and not any("::" in one for one in config.args):
        _leave_out(config, items)


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep of the tests marked ``sweep(every=n)`` the first of each ``n`` examples, and those of
    which there is one only not at all.
    """
    places: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in items:
        marker = item.get_closest_marker("sweep")
        step = marker.kwargs.get("every", 1) if marker else 1
        name = item.nodeid.split("[")[0]
        alone = step > 1 and "[" not in item.nodeid
        (dropped if alone or places[name] % step else kept).append(item)
        places[name] += 1
    if dropped:
        sweep.left_out["tests"] += len(dropped)
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept
