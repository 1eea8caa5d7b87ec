"""The first draws of many random generators at once, each seeded by words of its own.

What `numpy.random.default_rng(words).integers` gives one generator at a time, 20 us each, worked
out for all of them in columns: the seed sequence's hash (O'Neill's seed_seq_fe), PCG64's first
output and Lemire's bounded integers. numpy keeps the first two of these as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint32]
_POOL = 4
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_STEP = (np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645))
"""The multiplier of PCG64: high and low 64 bits."""
_Wide = tuple[Any, Any]
"""Integers of 128 bits, as their high and low halves."""


def seed_words(number: int) -> list[int]:
    """An integer from 0 up in words of 32 bits, lowest first, as a seed sequence takes it."""
    words = [number & 0xFFFFFFFF]
    while number := number >> 32:
        words.append(number & 0xFFFFFFFF)
    return words


def two_integers(
    seeds: Sequence[Words], bound: Ints, then: Callable[[Ints], Ints]
) -> tuple[Ints, Ints]:
    """Two draws of each generator: below its bound, and below a bound that hangs on the first."""
    low, high = _first_halves(seeds)
    first, kept = _below(low, bound)
    second, also_kept = _below(np.where(bound == 1, low, high), then(first))  # of 1: none drawn
    for row in np.flatnonzero(~(kept & also_kept)):
        rng = np.random.default_rng([int(word[row]) for word in seeds])
        first[row] = rng.integers(bound[row])
        second[row] = rng.integers(then(first)[row])
    return first, second


def _first_halves(seeds: Sequence[Words]) -> tuple[Words, Words]:
    """The low and the high half of each generator's first output: its first two draws."""
    state = _state(_pool(seeds))
    start, sequence = (state[0], state[1]), (state[2], state[3])
    one = np.uint64(1)
    odd = (sequence[0] << one) | (sequence[1] >> np.uint64(63)), (sequence[1] << one) | one
    now = _plus(_times(_plus(odd, start)), odd)  # seeded: from 0 a step, the start, a step
    high, low = _plus(_times(now), odd)
    mixed, by = high ^ low, high >> np.uint64(58)
    drawn = (mixed >> by) | (mixed << ((np.uint64(64) - by) & np.uint64(63)))
    return drawn.astype(np.uint32), (drawn >> _HALF).astype(np.uint32)


def _below(words: Words, bounds: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Each word as an integer in [0, bound), and whether it is the generator's draw.

    Where it is not (once in 2^32 / bound at most) the generator would draw again.
    """
    bound = bounds.astype(np.uint64)
    product = words.astype(np.uint64) * bound
    kept = (product & _LOW) >= (np.uint64(1) << _HALF) % bound
    return (product >> _HALF).astype(np.int64), kept


def _pool(seeds: Sequence[Words]) -> list[Words]:
    """The seed sequence's pool, each word mixed with each other."""
    hashed = _Hash(0x43B0D7E5, 0x931E8875)
    nothing = np.zeros(len(seeds[0]), dtype=np.uint32)
    pool = [hashed(seeds[i] if i < len(seeds) else nothing) for i in range(_POOL)]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = _mixed(pool[target], hashed(pool[source]))
    for word in seeds[_POOL:]:
        pool = [_mixed(each, hashed(word)) for each in pool]
    return pool


def _state(pool: list[Words]) -> list[NDArray[np.uint64]]:
    """Four words of 64 bits of the pool."""
    hashed = _Hash(0x8B51F9DD, 0x58F38DED)
    words = [hashed(pool[i % _POOL]).astype(np.uint64) for i in range(2 * _POOL)]
    return [low | (high << _HALF) for low, high in zip(words[::2], words[1::2], strict=True)]


class _Hash:
    """The seed sequence's hash of a word, whose constant goes on with every call."""

    def __init__(self, constant: int, factor: int) -> None:
        self._constant, self._factor = constant, factor

    def __call__(self, word: Words) -> Words:
        word = word ^ np.uint32(self._constant)
        self._constant = self._constant * self._factor & 0xFFFFFFFF
        word = word * np.uint32(self._constant)
        return word ^ (word >> np.uint32(16))


def _mixed(one: Words, other: Words) -> Words:
    word = one * np.uint32(0xCA01F9DD) - other * np.uint32(0x4973F715)
    return word ^ (word >> np.uint32(16))


def _plus(one: _Wide, other: _Wide) -> _Wide:
    low = one[1] + other[1]
    return one[0] + other[0] + (low < one[1]), low


def _times(wide: _Wide) -> _Wide:
    """The product with `_STEP`."""
    (high, low), (by_high, by_low) = wide, _STEP
    a, b, c, d = low >> _HALF, low & _LOW, by_low >> _HALF, by_low & _LOW
    middle = a * d + (b * d >> _HALF)
    carried = (middle & _LOW) + b * c
    upper = a * c + (middle >> _HALF) + (carried >> _HALF)
    return upper + high * by_low + low * by_high, low * by_low
