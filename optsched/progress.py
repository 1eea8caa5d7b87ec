"""Progress of a run: incumbents, bounds, and the kernels that are compiled.

A method reports incumbents and bounds of the instance itself to `Settings.progress`, in the
objective's unit; not those of a relaxation, a restricted model or another objective. It reports in
the thread in which `solve` was called, so an exception of the listener ends the run.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from optsched.checking import relative_excess
from optsched.deadline import clock
from optsched.display import number


@dataclass(frozen=True)
class Event:
    """State of a run.

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
SolverListener = Callable[[float | None, float | None], None]
"""Function of an incumbent's value and a bound, each None where unknown."""


@dataclass
class Progress:
    """The best incumbent and bound reported so far; stored only if there is a listener."""

    listener: Listener | None = None
    began: float = field(default_factory=clock)
    incumbent: float = math.inf
    bound: float = -math.inf

    def report(self, incumbent: float | None = None, bound: float | None = None) -> None:
        """Call the listener if either value is better than before."""
        if self.listener is None:
            return
        best = min(self.incumbent, math.inf if incumbent is None else float(incumbent))
        proved = max(self.bound, -math.inf if bound is None else float(bound))
        # A search for better solutions may return a bound above the incumbent.
        proved = min(proved, best)
        if best < self.incumbent or proved > self.bound:
            self.incumbent, self.bound = best, max(proved, self.bound)
            self.notify(*(value if math.isfinite(value) else None for value in (best, proved)))

    def notify(self, incumbent: float | None, bound: float | None) -> None:
        if self.listener is not None:
            self.listener(Event(clock() - self.began, incumbent, bound))

    def of_model(self, unit: float = 1.0) -> SolverListener | None:
        """Return a listener that converts a solver's values from the unit of its model."""
        if self.listener is None:
            return None

        def listener(incumbent: float | None, bound: float | None) -> None:
            self.report(
                None if incumbent is None else incumbent * unit,
                None if bound is None else bound * unit,
            )

        return listener


def listener_of(callback: Listener | None, verbose: bool) -> Listener | None:
    """Return the caller's function, one that prints to standard output, both, or None."""
    if not verbose:
        return callback

    def print_and_forward(event: Event) -> None:
        print(event, flush=True)
        if callback is not None:
            callback(event)

    return print_and_forward


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Announce a function to the listeners while it is compiled."""
    notify_compiling(name)
    try:
        yield
    finally:
        notify_compiling(None)


def notify_compiling(name: str | None) -> None:
    """Call the listeners with the function being compiled, or None when it is done."""
    for listener in _listeners:
        listener(name)


@contextmanager
def compile_listener(listener: Callable[[str | None], object]) -> Iterator[None]:
    """Call a listener with each function compiled in this block, and None when it is done."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


_listeners: list[Callable[[str | None], object]] = []
