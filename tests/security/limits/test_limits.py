"""The limits themselves: what they take, how they nest, and in which thread they hold."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from relay2relax import Limits, backends, relay_ir
from relay2relax.core.errors import LimitError, Relay2RelaxError
from relay2relax.core.errors.table import limits
from relay2relax.core.limits import active, check

ENDLESS = '#[version = "0.0.5"] def @main() -> float32 { @main() }'


@pytest.fixture(scope="module")
def endless() -> Any:
    return backends.create_executor("debug", relay_ir.infer_type(relay_ir.parse(ENDLESS))).evaluate()


@pytest.mark.parametrize("name", ["memory", "seconds", "steps", "extents", "work"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), "4GB", True])
def test_a_limit_is_a_number_above_zero(name: str, value: Any) -> None:
    with pytest.raises(Relay2RelaxError, match=f"the limit {name} cannot be"):
        Limits(**{name: value})


def test_nothing_is_limited_outside() -> None:
    assert active() is None
    with pytest.raises(KeyError), Limits(steps=1):
        raise KeyError
    assert active() is None


@pytest.mark.parametrize(("outer", "inner"), [(10, 1000), (1000, 10)])
def test_the_smaller_of_nested_limits_holds(endless: Any, outer: int, inner: int) -> None:
    with pytest.raises(LimitError, match="the limit of 10 steps"), Limits(steps=outer), Limits(steps=inner):
        endless()


def test_the_time_of_an_outer_block_goes_on() -> None:
    with Limits(seconds=0.05), Limits(seconds=60):
        time.sleep(0.06)
        with pytest.raises(LimitError, match=r"the limit is 0\.05 s"):
            check()
        budget = active()
        assert budget is not None
        assert budget.remaining() == 0
        assert "0.05 s" in str(budget.expired())


def test_waiting_is_no_work() -> None:
    with Limits(work=0.05):
        time.sleep(0.1)
        check()
        began = time.process_time()
        while time.process_time() < began + 0.1:
            pass
        with pytest.raises(LimitError, match=r"the limit is 0\.05 s"):
            check()


def test_each_entry_begins_anew(endless: Any) -> None:
    once = Limits(steps=50)
    for _ in range(3):
        with pytest.raises(LimitError), once:
            endless()
        with once:
            relay_ir.infer_type(relay_ir.parse(ENDLESS))


def test_limits_hold_in_their_thread(endless: Any) -> None:
    """Another thread is not limited, and one object limits each thread that enters it by itself."""
    found: dict[str, Any] = {}
    shared = Limits(steps=100)

    def work(name: str) -> None:
        found[f"{name} before"] = active()
        with shared:
            try:
                endless()
            except LimitError as error:
                found[name] = error.code

    with shared:
        workers = [threading.Thread(target=work, args=(name,)) for name in "ab"]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        budget = active()
        assert budget is not None
        budget.step()
    assert found == {"a before": None, "b before": None, "a": limits.STEPS.code, "b": limits.STEPS.code}


def test_steps_count_what_is_done() -> None:
    """A loop of ten rounds needs more steps than one of five, and as many each time."""
    text = """#[version = "0.0.5"]
    def @f(%n: int32) -> int32 {
      if (equal(%n, 0)) { 0 } else { @f(subtract(%n, 1)) }
    }
    def @main(%n: int32) -> int32 { @f(%n) }"""
    run = backends.create_executor("vm", relay_ir.infer_type(relay_ir.parse(text))).evaluate()

    def fits(rounds: int, steps: int) -> bool:
        try:
            with Limits(steps=steps):
                run(rounds)
        except LimitError:
            return False
        return True

    needed = [next(steps for steps in range(1, 1000) if fits(rounds, steps)) for rounds in (5, 10, 15)]
    assert needed[2] - needed[1] == needed[1] - needed[0] > 5
