"""Estimated knowledge: what policies see, which holds nothing of the future, and what it costs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import printed, refusal
from rolling.small import instance, job, run_on, three_jobs
from sampling import first

import optsched
from optsched.files import write_document
from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.result import Settings
from optsched.rolling.epochs import draw_epochs
from optsched.rolling.instance import RollingInstance, RollingJob
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.by_name import make_policy
from optsched.rolling.records import JobRecord, Records
from optsched.rolling.simulator.engine import Plan, simulate_rolling
from optsched.rolling.simulator.estimates import Knowledge
from optsched.rolling.simulator.world import View, World

OPTIONS = RollingOptions(knowledge="estimated")


def test_estimates_by_hand() -> None:
    """Jobs x, x2 and y: worst case 10 epochs in 40 s on two GPUs, at half the speed on one."""
    likely = {"values": [3, 10], "probabilities": [0.5, 0.5]}
    times = {"A": [6.0, 5.0]}
    jobs = [
        job("x", 0.0, 40.0, likely, kind="x"),
        job("x2", 0.0, 40.0, likely, kind="x", true_epochs=3),
        job("y", 0.0, 40.0, likely, kind="y", epoch_time=times),
    ]
    world = World(instance(jobs), OPTIONS)
    ended = [JobRecord(j, 3.0, 0.0, 20.0, 0, 0, 0) for j in (0, 2)]
    # weights: x 4/3, y 1/3, worst case 1/3 where one of x and one of y have ended
    for done, values, probabilities, seconds in (
        ([], (10,), (1,), (8, 4)),
        (ended[:1], (3, 10), (3 / 4, 1 / 4), (2 * 3 / 4 + 8 / 4, 1.25 * 3 / 4 + 4 / 4)),
        (ended, (3, 10), (5 / 6, 1 / 6), ((2 * 4 + 6 + 8) / 6, (1.25 * 4 + 5 + 4) / 6)),
    ):
        knowledge = Knowledge(world)
        knowledge.update(done, [1])
        seen = knowledge.world.instance.jobs[1]
        assert seen.epochs.values == values
        assert seen.epochs.probabilities == pytest.approx(probabilities)
        assert seen.epoch_time["A"] == pytest.approx(seconds)
        assert seen.true_epochs is None


def recorded(
    made: RollingInstance, name: str, epochs: tuple[float, ...], options: RollingOptions = OPTIONS
) -> tuple[Records, list[tuple[float, tuple[RollingJob, ...]]]]:
    """A run, and by decision its time and the jobs as the policy sees them."""
    world, seen = World(made, options), []
    policy = make_policy(name, world, Settings(iterations=3))
    decide = policy.decide

    def watched(view: View) -> Plan:
        seen.append((view.time, view.world.instance.jobs))
        return decide(view)

    policy.decide = watched  # type: ignore[method-assign]
    return simulate_rolling(world, policy, epochs=epochs), seen


@pytest.mark.parametrize("name", ["sts", "edf", "avg-edf", "dp", "rg", "price", "patterns"])
def test_the_future_changes_no_decision(name: str) -> None:
    """Jobs that end after a moment get other epochs: all is as before until then."""
    jobs = 8 if name == "patterns" else 20
    settings = rolling_settings(2, jobs=jobs, arrivals="load", load=0.8, kinds=3, sharing=True)
    made = generate_rolling(settings, seed=2)
    epochs = draw_epochs(made, 0)
    before, seen = recorded(made, name, epochs)
    cut = sorted(record.completion for record in before.jobs)[jobs // 2]
    later = {record.job for record in before.jobs if record.completion > cut}
    document = made.to_dict()
    for j in later:
        work = document["jobs"][j]["epochs"]
        document["jobs"][j]["epochs"] = {
            "values": [1, work["values"][-1]],
            "probabilities": [0.9, 0.1],
        }
    other = RollingInstance.from_dict(document)
    longest = [max(one.epochs.values) for one in made.jobs]
    changed = tuple(longest[j] if j in later else w for j, w in enumerate(epochs))
    assert changed != epochs

    def past(run: Records) -> list[Any]:
        decisions = [replace(d, seconds=0.0) for d in run.decisions if d.time <= cut]
        starts = [(s.job, s.start, s.node, s.gpus, s.fraction) for s in run.segments]
        return [decisions, sorted(start for start in starts if start[1] <= cut)]

    after, seen_after = recorded(other, name, changed)
    assert past(after) == past(before)
    assert [s for s in seen_after if s[0] <= cut] == [s for s in seen if s[0] <= cut]
    if name == "sts":  # the truth betrays the future
        truth = RollingOptions()
        assert past(recorded(other, name, changed, truth)[0]) != past(
            recorded(made, name, epochs, truth)[0]
        )


@pytest.mark.parametrize("name", first(1, ["sts", "edf"]))
def test_estimates_cost_what_the_truth_costs_in_the_end(name: str) -> None:
    """200 jobs of one kind; without learning from them sts would cost 39% more."""
    settings = rolling_settings(3, jobs=200, arrivals="load", load=0.4, kinds=1)
    made = generate_rolling(settings, seed=0)
    true, estimated = (
        optsched.solve(made, name, options={"sharing": "off", "knowledge": knowledge}, bound=False)
        for knowledge in ("true", "estimated")
    )
    assert estimated.objective == pytest.approx(true.objective, rel=0.02)
    assert estimated.objective != true.objective


def test_runs_are_checked_and_own_policies_see_estimates(tmp_path: Path) -> None:
    path, solution = tmp_path / "f.json", tmp_path / "s.json"
    write_document(path, three_jobs().to_dict())
    solve = ("solve --method sts", path, "-o", solution, "--option")
    printed(*solve, "knowledge=estimated")
    printed("check", path, solution)
    assert '"knowledge": "estimated"' in solution.read_text()
    line = refusal(*solve, "knowledge=guessed")
    assert "knowledge: found 'guessed', expected true or estimated" in line

    class Own:
        def schedule(self, view: View) -> Plan:
            assert view.tables.instance.jobs[0].epoch_time != {"A": (2.0, 1.25)}
            return make_policy("fifo", view.world, Settings()).decide(view)

    own = optsched.solve(three_jobs(), Own, options={"knowledge": "estimated"}, bound=False)
    assert own.check.feasible
    assert (
        run_on(three_jobs(), "sts").options == run_on(three_jobs(), "sts", knowledge="true").options
    )
