"""The C compiler has as long as the limits leave, and ends with all that it has started."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from relay2relax import Limits, backends, relay_ir, translator
from relay2relax.core.errors import LimitError
from relay2relax.core.errors.table import limits

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(os.name != "posix", reason="starts a shell"),
]
# Says what it is asked before it compiles, and then sleeps, as does a program that it has started.
SLEEPER = """#!/bin/sh
for word in "$@"; do
    if [ "$word" = -dM ]; then exec gcc "$@"; fi
done
sleep 1000 &
echo $! $$ >> {pids}
wait
"""


def is_running(process: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.parametrize("relay", [True, False])
@pytest.mark.sweep(every=2)
def test_a_compiler_that_hangs(relay: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids, compiler = tmp_path / "pids", tmp_path / "slow-cc"
    compiler.write_text(SLEEPER.format(pids=pids))
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("RELAY2RELAX_CACHE", str(tmp_path / "cache"))
    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(7, 5), float32]) { exp(%x) }'))
    executor, relax = backends.create_executor("debug", mod, backend="c"), translator.via_graph(mod)
    begin = time.monotonic()
    with pytest.raises(LimitError) as caught, Limits(seconds=1):
        _ = executor.evaluate() if relay else backends.build(relax, target="c")
    assert time.monotonic() - begin < 5
    assert caught.value.code == limits.SECONDS.code
    assert "slow-cc" in str(caught.value)
    started = [int(word) for word in pids.read_text().split()]
    assert len(started) >= 2
    deadline = time.monotonic() + 5
    while any(map(is_running, started)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_running, started))
