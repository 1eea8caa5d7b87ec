"""What a caller hears while a method runs: incumbents and bounds, and what is compiled.

A method reports to `Settings.progress` what holds for the instance itself, in the objective's own
unit; not the value of a relaxation, of a restricted model or of another objective. It reports from
the thread in which `solve` was called: an exception of the listener's ends the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from optsched.checking import relative_excess
from optsched.deadline import clock
from optsched.display import number


@dataclass(frozen=True)
class Event:
    """Where a run stands.

    Attributes
    ----------
    seconds : float
        Since the run began.
    incumbent, bound : float or None
        The best objective and the best proven lower bound so far; None as long as there is none.
    """

    seconds: float
    incumbent: float | None
    bound: float | None

    def __str__(self) -> str:
        line = f"{self.seconds:8.2f} s  incumbent {number(self.incumbent):>12}"
        line += f"  bound {number(self.bound):>12}"
        excess = relative_excess(self.incumbent, self.bound)
        return line if excess is None else f"{line}  excess {max(excess, 0.0):.2%}"


Listener = Callable[[Event], object]
Heard = Callable[[float | None, float | None], None]
"""Takes an incumbent's value and a bound, or None in place of what is not known."""


@dataclass
class Progress:
    """The best incumbent and bound reported so far; without a listener nothing is kept."""

    listener: Listener | None = None
    began: float = field(default_factory=clock)
    incumbent: float = math.inf
    bound: float = -math.inf

    def report(self, incumbent: float | None = None, bound: float | None = None) -> None:
        """Tell the listener, if either is better than what it knows."""
        if self.listener is None:
            return
        found = min(self.incumbent, math.inf if incumbent is None else float(incumbent))
        proved = max(self.bound, -math.inf if bound is None else float(bound))
        proved = min(proved, found)  # solvers round; and above it a search for better has ended
        if found < self.incumbent or proved > self.bound:
            self.incumbent, self.bound = found, max(proved, self.bound)
            self.tell(*(value if math.isfinite(value) else None for value in (found, proved)))

    def tell(self, incumbent: float | None, bound: float | None) -> None:
        """Tell the listener, whatever it knows."""
        if self.listener is not None:
            self.listener(Event(clock() - self.began, incumbent, bound))

    def of_model(self, unit: float = 1.0) -> Heard | None:
        """What a solver reports to, whose model counts the objective in so many of its units."""
        if self.listener is None:
            return None

        def heard(incumbent: float | None, bound: float | None) -> None:
            self.report(
                None if incumbent is None else incumbent * unit,
                None if bound is None else bound * unit,
            )

        return heard


def listener_of(callback: Listener | None, verbose: bool) -> Listener | None:
    """Who hears of a run: the caller's function, standard output, both or nobody."""
    if not verbose:
        return callback

    def told(event: Event) -> None:
        print(event, flush=True)
        if callback is not None:
            callback(event)

    return told


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Tell listeners that a function is being compiled, and then that it is done: None."""
    tell_compiling(name)
    try:
        yield
    finally:
        tell_compiling(None)


def tell_compiling(name: str | None) -> None:
    """Tell them what is compiled, here or in another process."""
    for listener in _listeners:
        listener(name)


@contextmanager
def compiling_told(listener: Callable[[str | None], object]) -> Iterator[None]:
    """Let a listener hear meanwhile what is compiled, by name, and None when that is done."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


_listeners: list[Callable[[str | None], object]] = []
