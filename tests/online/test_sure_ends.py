"""The next end of jobs that nobody stops, beside the least of a list."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.online.simulator import sure_ends
from optsched.online.simulator.sure_ends import LATER, no_ends, pop_end, push_end


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("few", [2, 64])
def test_the_next_end(seed: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether many end at once or far apart, and whether those far ahead are in order or not."""
    monkeypatch.setattr(sure_ends, "FEW", few)
    monkeypatch.setattr(sure_ends, "LONG", 5)
    for name in ("_look_ahead", "_put_off"):  # compiled, they have their own
        monkeypatch.setattr(sure_ends, name, getattr(sure_ends, name).py_func)
    rng = np.random.default_rng(seed)
    ends = no_ends(60)
    expected: dict[int, float] = {}
    now, put_off = 0.0, 0
    for row in range(6000):
        least = min(expected.values(), default=np.inf)
        assert sure_ends.next_end(ends) == least
        apart = (0, 3, 40)[row // 100 % 3]
        if not expected or (len(expected) < 60 and rng.random() < (0.9, 0.1)[row // 30 % 2]):
            expected[row] = now + rng.integers(apart + 1)
            push_end(ends, expected[row], row)
        else:
            assert expected.pop(pop_end(ends)) == least
            now = least
        put_off += ends.count[LATER] > 0
    assert put_off > 50
