"""Lists put in order by bins, against sorted lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.online.simulator.bins import MANY, sort_keyed, spread

FEW_KEYS = st.sampled_from([0.0, 5e-324, 1e-300, 1.0, 1.0 + 2**-52, 3.5, 1e300])
KEYS = st.lists(FEW_KEYS | st.floats(0.0, 1e9), min_size=1, max_size=6 * MANY)


def _ordered(keys: np.ndarray, items: np.ndarray) -> list[tuple[float, int]]:
    """Of copies, by `sort_keyed`; what is beyond the list stays as it is."""
    count = len(keys)
    longer, others = np.append(keys, -1.0), np.append(items, -1)
    room = np.full(count + 1, 7.0), np.full(count + 1, 7), np.full(count + 2, 7)
    sort_keyed(longer[:count], others[:count], *room)
    assert longer[count] == -1.0
    assert others[count] == -1
    assert (room[0][count], room[1][count], room[2][count + 1]) == (7.0, 7, 7)
    return [*zip(longer[:count].tolist(), others[:count].tolist(), strict=True)]


@given(KEYS, st.randoms(use_true_random=False))
def test_a_list_is_put_in_order_whatever_its_keys(keys: list[float], random) -> None:
    items = list(range(len(keys)))
    random.shuffle(items)
    expected = sorted(zip(keys, items, strict=True))
    assert _ordered(np.array(keys), np.array(items)) == expected


@pytest.mark.parametrize("count", [1, 2, MANY, MANY + 1, 400])
def test_a_list_is_put_in_order_where_bins_hold_one_many_or_all(count: int) -> None:
    rng = np.random.default_rng(count)
    items = rng.permutation(count)
    even = rng.random(count)
    for keys in (even, np.zeros(count), np.sort(even), -np.sort(-even), even**30, np.round(even)):
        expected = sorted(zip(keys.tolist(), items.tolist(), strict=True))
        assert _ordered(keys, items) == expected


def test_bins_are_as_wide_as_one_another_and_the_last_has_the_rest() -> None:
    """Four bins from 0 to 8, of width 2: 7 and all from 8 on share the last."""
    keys, items = np.array([7.0, 1.0, 9.0, 4.0]), np.array([0, 1, 2, 3])
    to, ends = (np.empty(4), np.empty(4, dtype=np.int64)), np.empty(5, dtype=np.int64)
    spread(keys, items, to, ends, 0.0, 8.0)
    assert to[0].tolist() == [1.0, 4.0, 7.0, 9.0]
    assert to[1].tolist() == [1, 3, 0, 2]
    assert ends[:4].tolist() == [1, 1, 2, 4]
