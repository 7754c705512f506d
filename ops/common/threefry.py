"""The Threefry generator that ``random.*`` draws from: 20 rounds over four words of 64 bits.

A key is ten words: 0-3 the key proper, 4-5 the path of splits, 6-7 the counter (of which only word
7 counts), 8-9 one bit at the next free place of the path. The words of a draw are hashes of path
and counter under the key. In each round the second word of a pair mixes with ``a + 2 * b``, where
the published algorithm has ``a + b``; TVM computes so, and the bits are TVM's.

Source of the semantics: TVM 0.18 python/tvm/topi/random/kernel.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers
from relay2relax.ops.registry.types import TensorType
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, ceildiv, floordiv, mul
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Select, binary, cast, const, logical_and

KEY = TensorType((10,), "uint64")
ROUNDS = 20
PARITY = 0x1BD11BDAA9FC1A22
ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
FULL = (1 << 64) - 1
TOP = 1 << 63

# Words of a key or a counter, each an array or a scalar.
Words = Iterable[Any]


# On arrays


def _rotated(x: Numbers, by: int) -> Numbers:
    return np.asarray((x << np.uint64(by)) | (x >> np.uint64(64 - by)))


def hashed(key: Words, counter: Words) -> list[Numbers]:
    """Return the four words that ``counter`` gives under ``key``; each word an array (or scalar) of
    uint64.
    """
    words = [np.asarray(word, np.uint64) for word in key]
    extra = np.uint64(PARITY)
    for word in words:
        extra = extra ^ word
    words.append(extra)
    state = [np.asarray(word, np.uint64) for word in counter]
    with np.errstate(over="ignore"):
        for number in range(ROUNDS):
            if number % 4 == 0:
                step = number // 4
                state = [word + words[(step + j) % 5] for j, word in enumerate(state)]
                state[3] = state[3] + np.uint64(step)
            first, second = ROTATIONS[number % 8]
            a, b, c, d = state
            left, right = a + b, c + d
            state = [left, (right + d) ^ _rotated(d, second), right, (left + b) ^ _rotated(b, first)]
    return state


def _halved(high: Numbers, low: Numbers) -> tuple[Numbers, Numbers]:
    """Return the path position shifted right by one; one bit at most is set."""
    one = np.uint64(1)
    if high == one:
        return np.uint64(0), np.uint64(TOP)
    return (np.uint64(0), low >> one) if high == 0 else (high >> one, np.uint64(0))


def drawable(key: Array, length: int) -> Array:
    """Return ``key``, or where its counter has no room for ``length`` words a key derived from it
    that has.
    """
    if int(key[7]) < FULL - length:
        return key
    if key[8] == 0 and key[9] == 0:
        # TVM hashes two words of memory that it never wrote; all ones are what its comment intends.
        fresh = hashed(key[:4], [FULL] * 4)
        return np.array([*(int(word) for word in fresh), 0, 0, 0, 0, TOP, 0], np.uint64)
    return np.array([*key[:4], key[4] | key[8], key[5] | key[9], 0, 0, *_halved(key[8], key[9])], np.uint64)


def draw(key: Array, length: int) -> tuple[Array, Array]:
    """Return the key for later draws, and ``length`` words."""
    state = drawable(key, length)
    whole = length // 4
    blocks = -(-length // 4)
    steps = np.arange(blocks, dtype=np.uint64)
    with np.errstate(over="ignore"):
        counter = [state[4 + j] + steps for j in range(4)]
        if blocks > whole:
            for j in range(4):
                counter[j][whole] = state[4 + j] + np.uint64(4 * whole if j == 3 else 0)
        words = np.stack(hashed(state[:4], counter), axis=1).reshape(-1)[:length]
        later = np.array(state)
        later[6] = 0
        later[7] = state[7] + np.uint64(4 * blocks)
    return later, words


def split(key: Array) -> tuple[Array, Array]:
    """Return two keys whose draws have nothing in common."""
    if key[8] == 0 and key[9] == 0:
        fresh = [int(word) for word in hashed(key[:4], key[4:8])]
        place = [0, 0, TOP >> 1, 0]
        return np.array([*fresh, 0, 0, *place], np.uint64), np.array([*fresh, TOP, 0, *place], np.uint64)
    position = _halved(key[8], key[9])
    left = np.array([*key[:8], *position], np.uint64)
    return left, np.array([*key[:4], key[4] | key[8], key[5] | key[9], *key[6:8], *position], np.uint64)


# As tensor expressions: one compute for each round, over all blocks at once.


def _word(value: int) -> PrimExpr:
    return IntImm(value, "uint64")


def _pick(index: PrimExpr, values: Sequence[PrimExpr]) -> PrimExpr:
    """Return ``values[index]``."""
    result = values[-1]
    for place in reversed(range(len(values) - 1)):
        result = Select(index.equal(place), values[place], result)
    return result


def _turned(x: PrimExpr, by: int) -> PrimExpr:
    return binary("|", binary("<<", x, _word(by)), binary(">>", x, _word(64 - by)))


def _hash_blocks(
    key: te.Tensor, counter: Callable[[PrimExpr], Sequence[PrimExpr]], blocks: Extent, name: str
) -> tuple[te.Tensor, ...]:
    """Return the four words of each of ``blocks`` blocks.

    ``counter(l)`` are the counter's words of block ``l``.
    """

    def key_word(i: PrimExpr) -> PrimExpr:
        extra: PrimExpr = _word(PARITY)
        for j in range(4):
            extra = binary("^", extra, key[j])
        return _pick(i, [*(key[j] for j in range(4)), extra])

    words: te.Tensor = te.compute((5,), key_word, f"{name}_key")
    state: tuple[te.Tensor, ...] = ()
    for number in range(ROUNDS):

        def mixed(l: PrimExpr, number: int = number, state: tuple[te.Tensor, ...] = state) -> tuple[PrimExpr, ...]:  # noqa: E741
            values = list(counter(l)) if number == 0 else [word[l] for word in state]
            if number % 4 == 0:
                step = number // 4
                values = [value + words[(step + j) % 5] for j, value in enumerate(values)]
                values[3] = values[3] + _word(step)
            first, second = ROTATIONS[number % 8]
            a, b, c, d = values
            left, right = a + b, c + d
            return (
                left,
                binary("^", right + d, _turned(d, second)),
                right,
                binary("^", left + b, _turned(b, first)),
            )

        state = te.compute_several((blocks,), mixed, f"{name}_{number}")
    return state


def _halved_expr(high: PrimExpr, low: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    one, zero = _word(1), _word(0)
    none = high.equal(zero)
    last = high.equal(one)
    return (
        Select(none, zero, binary(">>", high, one)),
        Select(last, _word(TOP), Select(none, binary(">>", low, one), zero)),
    )


def _exhausted(key: te.Tensor) -> PrimExpr:
    return logical_and(key[8].equal(_word(0)), key[9].equal(_word(0)))


def _drawable_compute(key: te.Tensor, length: Extent) -> te.Tensor:
    fresh = _hash_blocks(key, lambda l: [_word(FULL)] * 4, 1, "fresh")  # noqa: E741
    count = cast("uint64", length) if isinstance(length, PrimExpr) else _word(length)

    def word(i: PrimExpr) -> PrimExpr:
        high, low = _halved_expr(key[8], key[9])
        zero = _word(0)
        anew = [*(one[0] for one in fresh), zero, zero, zero, zero, _word(TOP), zero]
        parted = [
            *(key[j] for j in range(4)),
            binary("|", key[4], key[8]),
            binary("|", key[5], key[9]),
            zero,
            zero,
            high,
            low,
        ]
        derived = Select(_exhausted(key), _pick(i, anew), _pick(i, parted))
        return Select(key[7] < _word(FULL) - count, key[i], derived)

    return te.compute((10,), word, "state")


def draw_compute(key: te.Tensor, length: Extent) -> tuple[te.Tensor, te.Tensor]:
    """Return the key for later draws, and ``length`` words as a tensor of rank 1."""
    state = _drawable_compute(key, length)
    whole, blocks = floordiv(length, 4), ceildiv(length, 4)
    drawn = cast("uint64", mul(whole, 4)) if isinstance(whole, PrimExpr) else _word(4 * whole)

    def counter(l: PrimExpr) -> list[PrimExpr]:  # noqa: E741
        rest = l >= whole
        step = cast("uint64", l)
        return [state[4 + j] + Select(rest, drawn if j == 3 else _word(0), step) for j in range(4)]

    words = _hash_blocks(state, counter, blocks, "round")
    values: te.Tensor = te.compute((length,), lambda i: _pick(i % 4, [word[i // 4] for word in words]), "words")
    spent = cast("uint64", mul(blocks, 4)) if isinstance(blocks, PrimExpr) else _word(4 * blocks)

    def later(i: PrimExpr) -> PrimExpr:
        return Select(i.equal(6), _word(0), Select(i.equal(7), state[i] + spent, state[i]))

    return te.compute((10,), later, "new_key"), values


def split_compute(key: te.Tensor) -> tuple[te.Tensor, te.Tensor]:
    """Return two keys whose draws have nothing in common."""
    fresh = _hash_blocks(key, lambda l: [key[4 + j] for j in range(4)], 1, "fresh")  # noqa: E741

    def word(i: PrimExpr, right: bool) -> PrimExpr:
        high, low = _halved_expr(key[8], key[9])
        zero = _word(0)
        top = _word(TOP if right else 0)
        anew = [*(one[0] for one in fresh), top, zero, zero, zero, _word(TOP >> 1), zero]
        path = [binary("|", key[4 + j], key[8 + j]) if right else key[4 + j] for j in range(2)]
        longer = [*(key[j] for j in range(4)), *path, key[6], key[7], high, low]
        return Select(_exhausted(key), _pick(i, anew), _pick(i, longer))

    left: te.Tensor = te.compute((10,), lambda i: word(i, False), "left")
    right: te.Tensor = te.compute((10,), lambda i: word(i, True), "right")
    return left, right


def unit_compute(words: te.Tensor, dtype: str) -> Callable[[PrimExpr], PrimExpr]:
    """Return the function from a place to the number in [0, 1) that the word there gives."""

    def number(i: PrimExpr) -> PrimExpr:
        if dtype == "float64":
            # 52 bits convert exactly.
            return cast(dtype, cast("int64", binary(">>", words[i], _word(12)))) * const(2.0**-52, dtype)
        low = binary("&", words[i], _word(0xFFFFFFFF))
        return cast(dtype, cast("int32", binary(">>", low, _word(9)))) * const(2.0**-23, dtype)

    return number


def unit(words: Array, dtype: str) -> Numbers:
    """Return the numbers in [0, 1) that ``words`` give: their high fraction bits.

    The low half only for float32.
    """
    if dtype == "float64":
        return np.asarray((words >> np.uint64(12)).astype(np.float64) * 2.0**-52)
    low = (words & np.uint64(0xFFFFFFFF)) >> np.uint64(9)
    return np.asarray(low.astype(np.float32) * np.float32(2.0**-23))
