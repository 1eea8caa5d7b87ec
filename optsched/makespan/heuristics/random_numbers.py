"""Random numbers inside compiled loops: an xorshift64* generator."""

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

RandomState = NDArray[np.uint64]


def random_state(seed: int) -> RandomState:
    """Non-zero 64-bit state (1,) for a seed."""
    return np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64) | np.uint64(1)


@register_jitable
def draw(state: RandomState) -> float:
    """Next number in [0, 1); advances `state`."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return ((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
