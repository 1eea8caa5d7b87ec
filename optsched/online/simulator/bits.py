"""Words of 32 bits, for sets of small numbers: number n is bit n & MASK of word n >> BITS."""

from __future__ import annotations

import numpy as np

from optsched.compiled_loops import njit_inlined

BITS, MASK = 5, 31
_LOWEST = np.array(
    [0, 1, 28, 2, 29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4, 8,
     31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6, 11, 5, 10, 9]
)  # fmt: skip
"""Place of the one bit that is set, by the first bits of its product with a de Bruijn sequence."""


@njit_inlined
def lowest(word: int) -> int:
    """Place of the lowest bit that is set in a word of 32, which is not 0."""
    return _LOWEST[((word & -word) * 0x077CB531 & 0xFFFFFFFF) >> 27]
