"""Devices that a text without metadata describes in place, as TVM's ``print(mod)`` shows them.

``VirtualDevice(device_type=1, virtual_device_id=0, target=Target(kind='llvm', keys={'cpu'}))``; TVM
0.8 called it ``SEScope``. Of a target kind and keys are read; its options are TVM's own.
"""

from __future__ import annotations

import re

from relay2relax.core.errors.table import reading
from relay2relax.relay_ir.ir.device import Target, VirtualDevice
from relay2relax.relay_ir.text.lexer import Lexer

NAMES = ("VirtualDevice", "SEScope")
_PART = re.compile(r"'[^'\n]*'|\"(?:[^\"\\\n]|\\.)*\"|[()\n]")
_TARGET = re.compile(r"target=Target\(")
_NUMBER = re.compile(r"(device_type|virtual_device_id)=(-?\d{1,9})(?=[,)])")
_SCOPE = re.compile(r"memory_scope='([^']*)'")
_KIND = re.compile(r"[(, ]kind='([^']*)'")
_KEYS = re.compile(r"[(, ]keys=\{([^{}]*)\}")


def described_device(lexer: Lexer) -> VirtualDevice:
    """Read the description that begins at the current token, a name of ``NAMES``."""
    start = lexer.start
    end = _closed(lexer.text, lexer.end)
    if end is None:
        lexer.fail("the description of a device is not closed", start, lexer.end, kind=reading.RELAY_ATTRIBUTE)
    said = lexer.text[start:end]
    target = _TARGET.search(said)
    own = said
    if target is not None:
        stop = _closed(said, target.end() - 1) or len(said)
        own = said[: target.start()] + said[stop:]
    numbers = {name: int(number) for name, number in _NUMBER.findall(own)}
    scope = _SCOPE.search(own)
    lexer.shorten(end)
    lexer.advance()
    return VirtualDevice(
        numbers.get("device_type", -1),
        numbers.get("virtual_device_id", -1),
        None if target is None else _target(said[target.start() :]),
        scope[1] if scope is not None else "",
    )


def _target(said: str) -> Target | None:
    kind, keys = _KIND.search(said), _KEYS.search(said)
    if kind is None:
        return None
    return Target(kind[1], keys=tuple(re.findall(r"'([^']*)'", keys[1])) if keys is not None else ())


def _closed(text: str, opened: int) -> int | None:
    """Return where the bracket at ``opened`` is closed, None where it is not in that line."""
    depth = 0
    for part in _PART.finditer(text, opened):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if depth <= 0 or part[0] == "\n":
            return part.end() if part[0] == ")" else None
    return None
