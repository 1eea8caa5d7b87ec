"""The audit's rules of reservations, offers, delays and consolidation on records worked by hand."""

import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from online.small import records_of

from optsched.checking import Violation
from optsched.online.audit_rules.cluster_state import Run
from optsched.online.audit_rules.passes import pass_violations
from optsched.online.audit_rules.queue import interrupted_violations, queue_violations
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.workload import Labels
from optsched.online.records import Records


def listed(found: Sequence[Violation]) -> list[tuple[str, str, str, Any]]:
    return [(v.rule, v.equation, v.where, pytest.approx(v.amount)) for v in found]


def jobs_of(of: Records, kind: Sequence[int] = ()) -> Any:
    """Their jobs, of nobody and without limits; of one kind unless said otherwise."""
    nobody = Labels.of([""] * len(of))
    return SimpleNamespace(
        workload=SimpleNamespace(walltime=None, user=nobody, group=nobody),
        cluster=OnlineCluster.of(of.servers, 4),
        submit=np.sort(of.submit),
        first_submission=0.0,
        configuration=np.array(kind or [0] * len(of)),
    )


def queue(of: Records, kind: Sequence[int] = ()) -> list[Any]:
    """Violations of the queue's rule; no job communicates much, and those of kind 1 have slices."""
    times: Any = SimpleNamespace(of=lambda kind, held: math.inf if kind == 1 else 1.0)
    light = np.zeros(len(of), dtype=bool)
    return listed(
        queue_violations(Run(jobs_of(of, kind), of, np.arange(len(of)), light, times), 99)
    )


# --- offers of runs that were cut


def offers(*heavy: bool, **settings: Any) -> list[tuple[str, float]]:
    of = records_of(
        {"start": 0, "end": 4, "on": {0: 2}},
        {"start": 1, "end": 9, "on": {0: 2}},  # right by least: 2, 4 and 4 are free
        {"start": 4, "end": 8, "on": {1: 3}},  # right by most: 2, 4 and 4 are free
        {"start": 6, "end": 7, "on": {0: 1}},  # 2, 1 and 4 are free: neither
        {"start": 8, "end": 9, "on": {2: 1}},  # two at once
        {"start": 8, "end": 9, "on": {2: 1}},
        {"start": 9, "end": 10, "on": {2: 2}},  # all are free; by neither
        policy="a-srpt",
        **settings,
    )
    mask = np.array([*heavy, *[False] * (len(of) - len(heavy))])
    times: Any = SimpleNamespace(of=lambda kind, held: 1.0)
    run = Run(jobs_of(of, [0] * len(of)), of, np.arange(len(of)), mask, times)
    found = interrupted_violations(run, 99)
    assert {violation.rule for violation in found} <= {"offer"}
    return [(violation.where[-1], violation.amount) for violation in found]


def test_offers_by_rule() -> None:
    assert offers(offer="most") == [("b", 2.0), ("d", 1.0), ("g", 2.0)]
    assert offers(offer="least") == [("c", 3.0), ("d", 1.0), ("g", 2.0)]
    by_class = [("b", 2.0), ("c", 3.0), ("d", 1.0), ("g", 2.0)]  # by most, then by least
    assert offers(False, True, offer="adaptive") == by_class
    assert offers(offer="most", slot=0.5) == []
    assert offers() == []


# --- reservations


def around(complete: bool = True, **other: Any) -> list[Any]:
    """Twelve GPUs: a holds 8 until 10 as predicted, then b 8 and d 6; c of 2 starts at 1."""
    rows: list[dict[str, Any]] = [
        {"predicted": 10.0, "end": 10.0, "on": {0: 4, 1: 4}},
        {"submit": 0.5, "start": 10.0, "on": {0: 4, 1: 4}},
        {"submit": 1.0, "start": 1.0, "predicted": 9.0, "on": {2: 2}},
        {"submit": 1.0, "start": 11.0, "on": {0: 4, 1: 2}},
    ]
    for name, row in other.items():
        rows[ord(name) - 97].update(row)
    return queue(replace(records_of(*rows, policy="easy", offer="most"), complete=complete))


RESERVATION = ("reservation", "pass", "job c at 1 s", 1.0)


def test_what_ends_before_the_head_starts_delays_nothing() -> None:
    assert around() == []  # c is predicted to end at 1 + 9 = 10, when b starts


def test_what_takes_no_gpu_of_the_heads_delays_nothing() -> None:
    # at 10 there are 12 GPUs, of which b leaves 4: enough for c, not for what ends later with 5
    assert around(c={"predicted": 9.5}) == []
    assert around(c={"predicted": 9.5, "on": {2: 4}}) == []
    held = {"a": {"on": {0: 4, 1: 3}}, "b": {"on": {0: 4, 1: 4}}}
    delaying = {"predicted": 9.5, "on": {1: 1, 2: 4}}  # 5 of the 4 that b leaves at 10
    assert around(**held, c=delaying) == [RESERVATION]
    assert around(**held, c={**delaying, "predicted": 9.0}) == []
    slow = {"alpha": 2.0, "predicted": 4.75}  # 1 + 9.5 again
    assert around(**held, c={**delaying, **slow}) == [RESERVATION]
    held["a"] |= {"alpha": 2.0, "predicted": 5.0}
    assert around(**held, c={**delaying, "predicted": 9.0}) == []


def test_past_its_prediction_a_job_ends_now() -> None:
    # a ought to have ended at 0.5; b is promised 1, so c delays it unless b leaves it its GPUs
    assert around(a={"predicted": 0.5}) == []
    wide = {"b": {"on": {0: 4, 1: 4, 2: 3}}}
    assert around(a={"predicted": 0.5}, **wide) == [RESERVATION]
    assert around(a={"predicted": 0.5}, c={"predicted": 0.0}, **wide) == []


def test_nothing_overtakes_a_head_that_fits() -> None:
    # with 8 free b is to start at 0.5, which leaves c none
    found = around(a={"on": {0: 4}}, c={"predicted": 0.0})
    assert found[0] == ("work conservation", "pass", "job b at 0.5 s", 1.0)
    assert found[1] == ("queue order", "pass", "job c at 1 s", 1.0)


def test_what_could_start_around_the_head_does_not_wait() -> None:
    # after c two GPUs are free now, and at 10 twelve less the 8 of b: d of 2 might start
    left = ("work conservation", "pass", "job d at 1 s", 1.0)
    assert around(d={"on": {2: 2}})[0] == left
    assert around(c={"predicted": 9.5}, d={"on": {2: 2}, "predicted": 10.0})[0] == left  # 4 - 2
    assert around(d={"on": {2: 3}, "start": 2.0}) == []  # for 3 GPUs c has to end
    five, seven = {"on": {2: 4, 1: 1}, "start": 2.0}, {"on": {0: 4, 1: 3}}
    assert around(a=seven, d=five) == []
    assert around(a=seven, d={**five, "predicted": 8.5})[0][:3:2] == ("reservation", "job d at 2 s")


def test_of_a_run_that_was_cut_the_head_is_not_known() -> None:
    assert around(d={"on": {2: 2}}) != []
    assert around(d={"on": {2: 2}}, complete=False) == []


def test_a_job_of_slices_may_wait_for_the_right_gpus() -> None:
    """From 0 to 9 one GPU is free on each server."""
    busy = [{"end": 9.0, "on": {server: 3}} for server in range(3)]
    rows = (*busy, {"submit": 1.0, "start": 9.0, "on": {0: 2}})
    left = [("work conservation", "pass", "job d at 1 s", 1.0)]
    waits = records_of(*rows, policy="wcs-subtime", offer="most")
    assert queue(waits) == left
    assert queue(waits, kind=[0, 0, 0, 1]) == []


# --- the delay of a heavy head


class Times:
    """Seconds by the servers' GPUs; alpha~ is 2."""

    def __init__(self) -> None:
        self.alpha = {(1, 1, 1, 1): 8.0, (2, 1, 1): 6.0, (4,): 2.0}

    def estimate(self, configuration: int) -> float:
        return 2.0

    def has_slices(self, configuration: int) -> bool:
        return False

    def of(self, configuration: int, held: tuple[int, ...]) -> float:
        return self.alpha[tuple(sorted(held, reverse=True))]


class SlicesOf4(Times):
    """Job f is in need of a whole server."""

    def has_slices(self, configuration: int) -> bool:
        return configuration == 1

    def of(self, configuration: int, held: tuple[int, ...]) -> float:
        return super().of(configuration, held) if held == (4,) else math.inf


HOLDING = (
    {"end": 10, "on": {0: 1}},
    {"end": 20, "on": {0: 2}},
    {"end": 30, "on": {1: 3}},
    {"end": 40, "on": {2: 3}},
    {"end": 50, "on": {3: 3}},
)
"""Jobs a to e, from 0 s on: on each of four servers of four one GPU is free."""


OFFERED = ((10.0, {0: 1, 1: 1, 2: 1, 3: 1}, 8.0), (20.0, {0: 2, 1: 1, 2: 1}, 6.0))
"""What a job of 4 GPUs is offered before some times, and its alpha; later {0: 4}."""


def passes(of: Records, heavy: Any, times: Any, queued: Any) -> list[Any]:
    """Violations where jobs queue in the order of their rows; the last is of kind 1."""
    jobs = jobs_of(of, [0] * (len(of) - 1) + [1])
    rows, mask = np.arange(len(of)), np.array(heavy)
    found = pass_violations(Run(jobs, of, rows, mask, times), np.array(queued), rows, 99)
    return [(v.rule, v.where) for v in found]


def head(start: float, heavy: bool = True, times: Times | None = None, **settings: Any) -> Any:
    """A job of 4 GPUs at the head from 2 s on; one GPU free on each server, more from 10 s on.

    L = 4/16 x 18 x 2 = 9 s.
    """
    offered = [(on, alpha) for until, on, alpha in OFFERED if start < until and times is None]
    on, alpha = (*offered, ({0: 4}, 2.0))[0]
    last = {"submit": 1, "start": start, "on": on, "alpha": alpha, "end": start + 50}
    last |= {"predicted": 18.0, "estimate": 2.0}
    given = {"policy": "a-srpt", "offer": "best-fit-last", "hold": "none", **settings}
    of = records_of(*HOLDING, last, servers=4, **given)
    return passes(of, [False] * 5 + [heavy], times or Times(), [0.0] * 5 + [2.0])


@pytest.mark.parametrize("heavy", [False, True])
def test_a_head_of_slices_starts_when_they_fit(heavy: bool) -> None:
    """Four GPUs are free at 2, but on one server at 20; an offer of no use opens no window."""
    rule = "delay" if heavy else "queue order"
    assert head(20.0, heavy, SlicesOf4(), tau=0.0) == []
    assert head(21.0, heavy, SlicesOf4(), tau=0.0)[0] == (rule, "job f at 20 s")
    assert head(10.0, heavy, SlicesOf4(), tau=0.0) == [(rule, "job f at 10 s")]


@pytest.mark.parametrize(
    ("hold", "tau", "comm_heavy", "starts"),
    [
        ("none", 100.0, 1.5, 10.0),  # 6 s is less than 8
        ("none", 2.0, 1.5, 10.0),
        ("none", 0.5, 1.5, 6.5),  # the window's end
        ("none", 0.0, 1.5, 2.0),
        ("window", 100.0, 1.5, 20.0),  # 2 s is at most 1.5 x 2
        ("window", 1.0, 1.5, 11.0),
        ("window", 100.0, 3 * (1 + 1.5e-9), 10.0),  # 6 s is
        ("inf", 0.5, 1.5, 20.0),
        ("none", 100.0, 4.5, 2.0),  # the first offer's 8 s is
        ("window", 100.0, 4 * (1 - 1.5e-9), 10.0),
        ("none", 100.0, 4 * (1 + 1.5e-9), 2.0),
    ],
)
def test_when_a_heavy_head_starts(hold: str, tau: float, comm_heavy: float, starts: float) -> None:
    settings = {"hold": hold, "tau": tau, "comm_heavy": comm_heavy}
    assert head(starts, **settings) == []
    assert head(starts + 25, **settings)[0] == ("delay", f"job f at {starts:g} s")
    if starts > 10:
        assert head(starts - 0.5, **settings)[0] == ("delay", f"job f at {starts - 0.5:g} s")


def test_a_start_that_nothing_allows_is_held_against_the_head() -> None:
    assert head(5.0, hold="inf") == [("delay", "job f at 5 s")]
    late = [("queue order", f"job f at {time} s") for time in (2, 5)]
    assert head(5.0, heavy=False) == late
    assert head(2.0, heavy=False) == []


def test_a_head_follows_the_one_before_it() -> None:
    """It comes to the head when it is done and the one before has started, whichever is later."""
    busy = {"start": 0, "end": 30, "on": {0: 4}}
    rows = (busy, {"start": 30, "end": 40, "on": {0: 4}}, {"start": 31, "end": 32, "on": {1: 1}})
    of = records_of(*rows, policy="a-srpt", servers=2)
    light = [False] * 3
    early = [("queue order", f"job {job} s") for job in ("b at 1", "b at 2", "c at 30", "c at 31")]
    assert passes(of, light, Times(), [0.0, 1.0, 2.0]) == early
    assert passes(of, light, Times(), [0.0, 30.0, 31.0]) == []


# --- jobs that wait for near GPUs


class Near(Times):
    """The same; on one server a job takes alpha~, and where 2 or 3 are on two 5 s."""

    def __init__(self) -> None:
        super().__init__()
        self.alpha |= {(gpus,): 2.0 for gpus in (1, 2, 3)}
        self.alpha |= {(1, 1): 5.0, (2, 1): 5.0, (1, 1, 1): 5.0}


def turns(start: float, *more: dict[str, Any], **settings: Any) -> list[Any]:
    """A job f of 4 GPUs comes at 1 s; free are four single ones, from 10 s 2 on the first server
    and one on each other, from 20 s all four of the first."""
    given = {"offer": "best-fit-last", "hold": "inf", **settings}
    f = {"submit": 1, "start": start, "end": 90, "on": {0: 4}, "predicted": 18.0, "estimate": 2.0}
    of = records_of(*HOLDING, f, *more, policy="spwf-consolidated", servers=4, **given)
    times: Any = Near()
    heavy = np.full(len(of), given.get("comm_heavy", 1.5) <= 4)
    return listed(queue_violations(Run(jobs_of(of), of, np.arange(len(of)), heavy, times), 99))


def near(job: str, *times: float) -> list[Any]:
    return [("consolidation", "pass", f"job {job} at {time:g} s", 1.0) for time in times]


@pytest.mark.parametrize(
    ("comm_heavy", "starts"),
    [(1.0, 20.0), (1.5, 20.0), (3 * (1 - 1e-9), 20.0), (3 * (1 + 1e-9), 10.0), (3.9, 10.0)],
)
def test_when_the_gpus_are_near_enough(comm_heavy: float, starts: float) -> None:
    """8 s from the first, 6 s from 10 on, alpha~ (2 s) from 20 on; the offer at 10 is of 2+1+1."""
    late = near("f", *(t for t in (10, 20, 30, 40) if starts <= t < starts + 25), starts + 25)
    assert turns(starts + 25, comm_heavy=comm_heavy) == late
    # before that, and at a moment that is no event, nothing allows a start
    assert turns(starts - 0.5, comm_heavy=comm_heavy) == near("f", starts - 0.5)
    at_10 = [("offer", "pass", "job f at 10 s", 1.0)]
    assert turns(starts, comm_heavy=comm_heavy) == (at_10 if starts == 10 else [])
    assert turns(starts + 25, comm_heavy=comm_heavy, slot=1.0) == []


def test_a_pass_gives_its_gpus_by_key() -> None:
    """g, of two GPUs, takes them at 20 before f if its key is less than f's 4 x 18 x 2 = 144."""
    sooner = {"submit": 20, "start": 20, "end": 60, "on": {0: 2}, "predicted": 71.0}
    assert turns(20.0, sooner) == near("f", 20)  # left are 2 + 1 + 1
    later = {**sooner, "predicted": 73.0}
    assert turns(20.0, later) == near("g", 20)  # left are three single
    assert turns(20.0, {**later, "predicted": 71.9, "on": {1: 1, 2: 1}}) != []
    one = {**later, "on": {1: 1}}
    assert turns(20.0, one) == []
    assert turns(20.0, {**one, "on": {2: 1}}) == [("offer", "pass", "job g at 20 s", 1.0)]
