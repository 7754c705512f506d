"""What a format is, and damage that any file can take."""

from __future__ import annotations

import copy
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass

LONGEST = 60_000
_NUMBERS = (
    0, 1, 2, 7, 8, 31, 64, 65, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**53,
    2**62, 2**63 - 1, 2**63, 2**64 - 1,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files.

    ``check`` returns whether a file was read, and raises what no reader should raise. ``fragile``
    says that a mistake may kill the process: its files are checked in a process of their own.
    """

    name: str
    seeds: Callable[[], list[bytes]]
    damage: Callable[[random.Random, bytes, list[bytes]], bytes]
    check: Callable[[bytes], bool]
    fragile: bool = False


def damage_bytes(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change numbers and bytes, cut, repeat, and put in parts of other files."""
    raw = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        at = rng.randrange(len(raw) + 1)
        # The beginning and the end say how all the rest is read.
        match rng.randrange(4):
            case 0:
                at = min(at, rng.randrange(80))
            case 1:
                at = max(at, len(raw) - rng.randrange(300), 0)
        match rng.randrange(8):
            case 0 | 1:
                raw[at : at + 1] = bytes([rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))])
            case 2 | 3:
                form = rng.choice(["<H", "<I", "<Q", ">I"])
                size = struct.calcsize(form)
                raw[at : at + size] = struct.pack(form, rng.choice(_NUMBERS) % 2 ** (8 * size))
            case 4:
                del raw[at : at + rng.choice((1, 2, 4, 8, 64, 1000))]
            case 5:
                piece = raw[at : at + rng.choice((1, 4, 30, 46, 100))]
                raw[at:at] = piece * rng.choice((1, 2, 10))
            case 6:
                other = rng.choice(others)
                begin = rng.randrange(len(other) + 1)
                raw[at : at + rng.choice((0, 8, 64))] = other[begin : begin + rng.choice((4, 16, 100, 1000))]
            case 7:
                for place in range(at, min(at + 8, len(raw))):
                    raw[place] ^= 1 << rng.randrange(8)
    return bytes(raw[:LONGEST])


_JUNK: tuple[object, ...] = (
    None, True, False, -1, 0, 1, 2, 3, 7, 64, 2**31, 2**40, 2**63, 2**70, 1.5, 1e308, "", "x", "0", "\x00", "\ud800",
    "float32", "int64", "a" * 300, [], [[]], {}, {"": 0},
)  # fmt: skip


def damage_document(rng: random.Random, document: object) -> object:
    """Change a JSON document, which stays one, in place; return it, or what stands in its place."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holders: list[list[object] | dict[str, object]] = []
        stack = [document]
        while stack:
            one = stack.pop()
            if isinstance(one, (dict, list)) and one:
                holders.append(one)
                stack += one.values() if isinstance(one, dict) else one
        if not holders:
            return copy.deepcopy(rng.choice(_JUNK))
        _damage_one(rng, rng.choice(holders), rng.choice(holders))
    return document


def _damage_one(
    rng: random.Random, holder: list[object] | dict[str, object], other: list[object] | dict[str, object]
) -> None:
    keys: list[object] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    values = list(other.values()) if isinstance(other, dict) else list(other)
    key = rng.choice(keys)
    at: object = holder[key]  # type: ignore[call-overload,index]
    value: object
    match rng.randrange(7):
        case 1 if isinstance(at, int):
            value = at + rng.choice((-2, -1, 1, 2, 64, 2**31))
        case 2 if values:
            value = copy.deepcopy(rng.choice(values))
        case 3:
            del holder[key]  # type: ignore[arg-type]
            return
        case 4 if isinstance(holder, list):
            holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(at))
            return
        case 5 if isinstance(holder, list) and len(holder) > 1:
            rng.shuffle(holder)
            return
        case 6 if isinstance(at, str):
            place = rng.randrange(len(at) + 1)
            value = at[:place] + rng.choice(("", "0", "-", "x", "\ud800", "\x00", "float", "9" * 30)) + at[place + 1 :]
        case _:
            value = copy.deepcopy(rng.choice(_JUNK))
    holder[key] = value  # type: ignore[call-overload,index]
