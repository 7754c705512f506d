"""What is known of the processor: caches as the system tells of them."""

from __future__ import annotations

from pathlib import Path

from relay2relax.backends.c.machine import Machine, own_caches


def cache(folder: Path, number: int, level: str, kind: str, size: str, cores: str) -> None:
    own = folder / f"index{number}"
    own.mkdir()
    for name, text in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", cores)):
        (own / name).write_text(f"{text}\n")


def test_caches_of_data_are_shared_out(tmp_path: Path) -> None:
    cache(tmp_path, 0, "1", "Data", "48K", "0")
    cache(tmp_path, 1, "1", "Instruction", "64K", "0")
    cache(tmp_path, 2, "2", "Unified", "2048K", "0-1,8-9")
    cache(tmp_path, 3, "3", "Unified", "266240K", "0-31")
    assert own_caches(tmp_path) == (48 << 10, 512 << 10)


def test_a_system_that_does_not_say_has_small_caches(tmp_path: Path) -> None:
    (tmp_path / "index0").mkdir()
    assert own_caches(tmp_path) == (Machine().first_cache_bytes, Machine().cache_bytes)
