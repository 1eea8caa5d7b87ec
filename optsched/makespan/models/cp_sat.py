"""Method ``cp-sat``: the makespan as a constraint programme, a rival of the MILP.

Starts and ends are integers, and a server's capacity is a cumulative resource over intervals, so
that only what contention needs is stated slot by slot. Jobs inside a server have intervals of fixed
length d1; one that spans has one interval for each server, of a length and with GPUs to be chosen:

    (C1) every job is inside one server or spans
    (C2) cumulative: on each server the intervals' GPUs are at most O_s at any time
    (C3) a job that spans has G_j GPUs, at least one on each server it uses, on k of them
    (C4) active[j,t]: a job that spans runs in slot t, from its start to its end
    (C5) on a link that j uses in t are at most as many active jobs as its level says
    (C6) iterations at the level of each slot: sum phi_j(k, level) >= F_j
    (C7) of jobs alike the first starts first; the GPU-slots of all jobs fit under the makespan

It is in whole numbers as it stands: nothing is rounded, and the solver's bound is one of the
problem. As in the MILP a job may stay longer than it needs, which never helps. Asked for a schedule
shorter than the heuristics' best. Guarantee: optimal when it ends as "optimal".
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from optsched.backends import sizes
from optsched.backends.cp_sat import CpAnswer, require_cp_sat, solve_cp
from optsched.display import counted
from optsched.makespan.bounds.best import Bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import Schedule, evaluate
from optsched.makespan.exact.starting_schedules import take_starting_schedules
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models.data import MakespanModelData, model_nonzeros, require_slots
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings, TracePoint


def cp_sat(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Solve the constraint programme below the heuristics' best schedule."""
    require_cp_sat()
    require_slots("cp-sat", instance)
    found = Incumbent(instance, settings)
    trace: list[TracePoint] = []
    details: dict[str, Any] = {"stopped_at": "bounds"}
    answer = CpAnswer()
    with found.working():
        take_starting_schedules(found, settings)
        found.bounded(settings.deadline.share(SEARCH_SHARE))

    def hear(values: list[int] | None, bound: int | None) -> None:
        if values is not None:
            schedule = schedule_of_values(instance, values)
            if evaluate(instance, schedule).fits:
                found.offer(schedule, "cp-sat")
        if bound is not None:
            found.prove(Bound(float(bound), "cp-sat"))
        trace.append(TracePoint(found.settings.deadline.spent, found.known, found.bound.value))

    if not (found.met or found.impossible or settings.deadline.is_over):
        data = MakespanModelData(
            instance, durations_of(instance), int(found.beyond) - 1, int(found.bound.value), True
        )
        details["stopped_at"] = "cp-sat"
        nonzeros = model_nonzeros(data)
        if nonzeros > sizes.MOST_NONZEROS:
            details["stopped_at"] += f": {counted(nonzeros, 'nonzero')}"
        else:
            answer = solve_cp(f"{__name__}:state", data_of(data), settings, hear)
            if answer.infeasible:
                found.prove(Bound(float(data.horizon + 1), "cp-sat"))
            if answer.message:
                details["message"] = answer.message
    return found.outcome(
        details,
        proves=True,
        solver="cp-sat" if answer.seconds else None,
        trace=tuple(trace),
    )


def data_of(data: MakespanModelData) -> dict[str, Any]:
    """The model's data, of the slotted models'."""
    levels = range(1, data.most_contending + 1)
    jobs = []
    for j in data.jobs:
        needed = data.instance.jobs[j].iterations
        lengths = {k: d for k in data.widths(j) if len(d := data.spanning_durations(j, k))}
        rows: dict[tuple[int, ...], list[int]] = {}
        for k in lengths:
            row = tuple(min(data.speed(j, k, level), needed) for level in levels)
            rows.setdefault(row, []).append(k)
        kinds = [
            {"widths": widths, "speeds": list(row), "least": lengths[widths[0]][0]}
            for row, widths in rows.items()
        ]
        longest = max((lengths[k][-1] for k in lengths), default=0)
        inside = data.inside(j) if any(data.holds(j, s) for s in data.servers) else None
        jobs.append(
            {
                "gpus": data.gpus(j),
                "needed": needed,
                "inside": inside if inside is not None and inside <= data.horizon else None,
                "kinds": kinds,
                "longest": longest,
            }
        )
    alike: dict[Any, list[int]] = {}
    for j in data.jobs:
        alike.setdefault(data.likeness(j), []).append(j)
    return {
        "horizon": data.horizon,
        "low": data.bound,
        "servers": list(data.instance.servers),
        "jobs": jobs,
        "alike": [pair for group in alike.values() for pair in pairwise(group)],
    }


def state(cp: Any, data: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """State the model; its decisions are of each job its start and its GPUs by server."""
    return _Stated(cp, data).whole()


def schedule_of_values(instance: MakespanInstance, values: list[int]) -> Schedule:
    """The schedule of a model's decisions."""
    width = 1 + len(instance.servers)
    rows = [values[at : at + width] for at in range(0, len(values), width)]
    return Schedule(
        tuple(float(start) for start, *_ in rows),
        tuple({s: count for s, count in enumerate(gpus) if count} for _, *gpus in rows),
    )


class _Stated:
    """The model while it is stated."""

    def __init__(self, cp: Any, data: Mapping[str, Any]) -> None:
        self.model, self.data = cp.CpModel(), data
        self.horizon, self.servers = data["horizon"], range(len(data["servers"]))
        self.last_end = self.model.new_int_var(data["low"], self.horizon, "")
        self.held: list[list[tuple[Any, Any]]] = [[] for _ in self.servers]
        self.links: dict[tuple[int, int], list[Any]] = {}
        self.levels: list[tuple[int, int, Any, Any]] = []
        self.work: list[Any] = []

    def whole(self) -> tuple[Any, list[Any]]:
        """The model and its decisions."""
        model, decisions, starts = self.model, [], []
        for job in self.data["jobs"]:
            start, gpus = self._job(job)
            starts.append(start)
            decisions += [start, *gpus]
        for s, held in enumerate(self.held):
            intervals, demands = zip(*held, strict=True) if held else ((), ())
            model.add_cumulative(intervals, demands, self.data["servers"][s])
        for s, t, link, level in self.levels:
            model.add(sum(self.links[s, t]) <= level).only_enforce_if(link)
        model.add(sum(self.work) <= self.last_end * sum(self.data["servers"]))
        for j, other in self.data["alike"]:
            model.add(starts[j] <= starts[other])
        model.minimize(self.last_end)
        return model, decisions

    def _job(self, job: Mapping[str, Any]) -> tuple[Any, list[Any]]:
        """(C1): its start, and its GPUs by server."""
        model = self.model
        start, end = (model.new_int_var(0, self.horizon, "") for _ in range(2))
        model.add(end <= self.last_end)
        gpus: list[Any] = [0 for _ in self.servers]
        ways = []
        if job["inside"] is not None:
            for s in self.servers:
                if job["gpus"] <= self.data["servers"][s]:
                    here = model.new_bool_var("")
                    run = model.new_optional_interval_var(start, job["inside"], end, here, "")
                    self.held[s].append((run, job["gpus"]))
                    self.work.append(job["gpus"] * job["inside"] * here)
                    gpus[s] = gpus[s] + job["gpus"] * here
                    ways.append(here)
        if job["kinds"]:
            spans = model.new_bool_var("")
            ways.append(spans)
            for s, own in enumerate(self._spanning(job, spans, start, end)):
                gpus[s] = gpus[s] + own
        model.add_exactly_one(ways)
        return start, gpus

    def _spanning(self, job: Mapping[str, Any], spans: Any, start: Any, end: Any) -> list[Any]:
        """(C2) to (C6) of a job that may span: its GPUs by server, if it does."""
        model, horizon = self.model, self.horizon
        least = min(kind["least"] for kind in job["kinds"])
        slots = model.new_int_var(least, job["longest"], "")
        model.add(start + slots == end).only_enforce_if(spans)
        uses, gpus = [], []
        for s, size in enumerate(self.data["servers"]):
            most = min(job["gpus"] - 1, size)
            used, own = model.new_bool_var(""), model.new_int_var(0, most, "")
            model.add(own >= used)
            model.add(own <= most * used)
            run = model.new_optional_interval_var(start, slots, end, used, "")
            self.held[s].append((run, own))
            uses.append(used)
            gpus.append(own)
        kinds = [model.new_bool_var("") for _ in job["kinds"]]
        model.add(sum(kinds) == spans)
        model.add(sum(gpus) == job["gpus"] * spans)
        model.add(sum(uses) <= len(uses) * spans)
        for chosen, kind in zip(kinds, job["kinds"], strict=True):
            widths = kind["widths"]
            model.add(sum(uses) >= min(widths)).only_enforce_if(chosen)
            model.add(sum(uses) <= max(widths)).only_enforce_if(chosen)
            model.add(slots >= kind["least"]).only_enforce_if(chosen)
            self.work.append(job["gpus"] * kind["least"] * chosen)
        active = [self._active(t, spans, start, end) for t in range(horizon)]
        model.add(sum(active) == slots).only_enforce_if(spans)
        done = []
        for t in range(horizon):
            steps, level = [], 0
            for chosen, kind in zip(kinds, job["kinds"], strict=True):
                for q, speed in enumerate(kind["speeds"], start=1):
                    step = model.new_bool_var("")
                    model.add_implication(step, chosen)
                    steps.append(step)
                    done.append(speed * step)
                    level += q * step
            model.add(sum(steps) == active[t])
            for s in self.servers:
                link = self._both(uses[s], active[t])
                self.links.setdefault((s, t), []).append(link)
                self.levels.append((s, t, link, level))
        model.add(sum(done) >= job["needed"] * spans)
        return gpus

    def _active(self, t: int, spans: Any, start: Any, end: Any) -> Any:
        """Whether a job that spans runs in slot t."""
        model = self.model
        begun, over = model.new_bool_var(""), model.new_bool_var("")
        for told, time in ((begun, start), (over, end)):
            model.add(time <= t).only_enforce_if(told)
            model.add(time > t).only_enforce_if(~told)
        return self._both(spans, begun, ~over)

    def _both(self, *literals: Any) -> Any:
        """Whether all of them hold."""
        both = self.model.new_bool_var("")
        self.model.add_bool_and(literals).only_enforce_if(both)
        self.model.add_bool_or(both, *(~literal for literal in literals))
        return both
