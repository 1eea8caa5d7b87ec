"""HiGHS that prints nothing."""

from __future__ import annotations

import highspy


class QuietHighs(highspy.Highs):  # type: ignore[misc]  # it is untyped
    """HiGHS that prints nothing, from its first line on.

    The constructor sets the callbacks, and there 1.16 prints who it is: past Python, amid the rows
    of `--json`.
    """

    def enableCallbacks(self) -> None:  # noqa: N802 (HiGHS's name)
        """Set the callbacks, silenced before."""
        self.silent()
        super().enableCallbacks()
