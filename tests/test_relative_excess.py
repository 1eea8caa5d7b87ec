"""The excess over a bound: a ratio, and null where the bound is about 0."""

from __future__ import annotations

import pytest

from optsched.checking import relative_excess


@pytest.mark.parametrize(
    ("objective", "bound", "expected"),
    [
        (3.0, 2.0, 0.5),
        (0.0, 0.0, 0.0),
        (2.0, None, None),
        (None, 2.0, None),
        (1.0, 0.0, None),
        (1.0, -1.0, None),
        (0.437829, 2.7e-20, None),
        (0.6199, 7e-17, None),
        (0.0, 2.5e-13, None),
        (3e-20, 2e-20, 0.5),
    ],
)
def test_excess_is_null_over_a_bound_of_about_0(objective, bound, expected) -> None:
    assert relative_excess(objective, bound) == (
        None if expected is None else pytest.approx(expected)
    )
