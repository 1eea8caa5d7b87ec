"""Runs of a-srpt's section V: every policy on one workload as one run of a sweep, and its rows.

A run of a sweep is checked from the file it would be kept in. These runs have up to 150,000 jobs,
more than such a file holds, and ten policies share the predictions of one forest; so the functions
here simulate all of them and return their metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.running import seeded
from optsched.experiments.plans.plan import Family
from optsched.online.policies.by_name import PAPER
from optsched.result import Outcome, Settings, Termination

if TYPE_CHECKING:
    import pandas as pd

    from optsched.online.data.jobs import Jobs
    from optsched.online.instance import OnlineInstance
    from optsched.online.options import OnlineOptions
    from optsched.online.prediction.predictors import Prediction

PREDICTION = {"predictor": "forest", "unseen": "zero"}
"""The paper's: fitted to the first 80% of the jobs, 0 for a group not met there."""
PERFECT = "a-srpt-perfect"
BASELINES = PAPER[2:]
GENERATOR = "optsched.experiments.papers.a_srpt.workloads:generate_case"
Variants = Mapping[str, tuple[str, Mapping[str, Any]]]
"""By label: a policy, and its changes of the settings."""
AS_NAMED: Variants = {name: (name, {}) for name in PAPER}
BEYOND: Variants = {
    "a-srpt tau=1": ("a-srpt", {"tau": 1.0}),
    "a-srpt tau=1000": ("a-srpt", {"tau": 1000.0}),
    "a-srpt unseen=mean": ("a-srpt", {"unseen": "mean"}),
    "a-srpt hold=inf": ("a-srpt", {"hold": "inf"}),
    "srpt-workload-hold": ("srpt-workload-hold", {}),
}
GBITS = (1, 5, 10, 25, 50)
"""Network cards of Fig. 8; iterations come from 10 Gbit/s, so only the simulated card changes."""
EDGES = np.concatenate(([-1.0], np.arange(-0.95, 3.0, 0.1), [np.inf]))
"""Bins of (n~ - n)/n, one of them around 0; the last holds everything above."""
METRICS = ("jobs", "total_completion_time", "mean_flow_time", "makespan")
COLUMNS = ("case", "seed", "label", "jobs", "completion", "mean_flow", "makespan")
"""Columns of `outcomes`; seconds."""
KNOWN = ("within_tenth", "unseen")
"""Further columns: shares of the jobs predicted within 10%, and of groups not met."""


def workload(
    case: str,
    arguments: Mapping[str, Any],
    seed: int,
    scale: Scale,
    methods: Sequence[str],
    **options: Any,
) -> Family:
    """The family of methods on one workload, synthetic or of the user's trace."""
    given = dict(arguments)
    if scale.trace is not None:
        given |= {"trace": scale.trace, "trace_format": scale.trace_format}
        given["time_scale"] = scale.time_scale
        asked = {"trace_load": scale.load, "trace_share": arguments.get("single_gpu_share")}
        given |= {name: value for name, value in asked.items() if value is not None}
    chosen = {**PREDICTION, **options}
    return seeded(case, "online", given, seed, methods, generator=GENERATOR, options=chosen)


def fit(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Predictions of the options' predictor; nothing is simulated."""
    return _simulated(instance, options, settings, {})


def alone(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Simulate a-srpt alone."""
    return _simulated(instance, options, settings, {"a-srpt": ("a-srpt", {})})


def paper(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Simulate the paper's policies."""
    return _simulated(instance, options, settings, AS_NAMED)


def beyond(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Simulate the paper's policies, variants of a-srpt, and one policy beyond the paper."""
    return _simulated(instance, options, settings, {**AS_NAMED, **BEYOND})


def across_cards(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """The same as `beyond` with each network card, on the predictions of one forest."""
    return _simulated(instance, options, settings, {**AS_NAMED, **BEYOND}, GBITS)


def _simulated(
    instance: OnlineInstance,
    options: OnlineOptions,
    settings: Settings,
    variants: Variants,
    cards: Sequence[int] = (),
) -> Outcome:
    """Simulate policies by label on the same predictions, with the cluster's card or others."""
    from optsched.online.data.jobs import prepare_jobs
    from optsched.online.metrics import compute_metrics
    from optsched.online.prediction.predictors import predict, report
    from optsched.online.simulator.engine import simulate_online

    every = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    share, seed = options.training_share, settings.seed
    known = predict(
        every, options.predictor, training_share=share, unseen=options.unseen, seed=seed
    )
    past = slice(known.training_jobs)
    mean = float((every.iterations[past] * every.estimate[past]).mean())
    filled = np.where(known.iterations > 0, known.iterations, mean / known.jobs.estimate)
    jobs = {"": known.jobs}
    if cards:
        jobs = {f"{gbits} Gbit/s": _with_card(instance, known, gbits) for gbits in cards}
    runs: dict[str, dict[str, Any]] = {case: {} for case in jobs}
    for label, (policy, changes) in variants.items():
        new = changes.get("unseen", options.unseen) != options.unseen
        own = {name: value for name, value in changes.items() if name != "unseen"}
        chosen, iterations = replace(options.policy, **own), filled if new else known.iterations
        for case, these in jobs.items():
            metrics = compute_metrics(simulate_online(these, policy, iterations, chosen))
            runs[case][label] = {name: getattr(metrics, name) for name in METRICS}
    errors, true = report(known), known.jobs.iterations
    counts, _ = np.histogram((known.iterations - true) / true, bins=EDGES)
    fitted = {
        "exact": errors.exact,
        "within_tenth": errors.within_tenth,
        "unseen": errors.unseen,
        "mean_absolute_error": errors.mean_absolute_error,
        "fit_s": errors.fit_time,
        **{
            f"error_from_{low:.2f}": float(count) / max(len(true), 1)
            for low, count in zip(EDGES, counts, strict=False)
        },
    }
    return Outcome(None, Termination.FEASIBLE, details={"runs": runs, "fit": fitted})


def _with_card(instance: OnlineInstance, known: Prediction, gbits: int) -> Jobs:
    """The predicted jobs on the cluster with another network card."""
    from optsched.online.data.jobs import prepare_jobs

    cluster = instance.cluster.model_copy(update={"inter_bandwidth": gbits * 1.25e8})
    return prepare_jobs(known.jobs.workload, instance.catalogue, cluster)


def outcomes(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """A row a case, seed and label."""
    import pandas as pd

    rows = []
    for run in runs.to_dict("records"):
        fit = run["details"].get("fit", {})
        known = [fit.get(name) for name in KNOWN]
        cases_of = run["details"].get("runs", {"": {run["method"]: run["details"]}})
        for case, by_label in sorted(cases_of.items(), key=lambda item: _number(item[0])):
            for label, metrics in by_label.items():
                values = (metrics[name] for name in METRICS)
                rows.append((case or run["family"], run["seed"], label, *values, *known))
    return pd.DataFrame(rows, columns=[*COLUMNS, *KNOWN])


def _number(case: str) -> float:
    """The number at the start of a case's name."""
    return float(case.split()[0]) if case else 0.0


def fits(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """A row a predictor and seed: how many predictions are right, and shares of jobs by error."""
    import pandas as pd

    rows = pd.DataFrame([details["fit"] for details in runs["details"]])
    rows.insert(0, "predictor", [options["predictor"] for options in runs["options"]])
    rows.insert(1, "seed", runs["seed"])
    return rows


def cases(rows: pd.DataFrame) -> list[str]:
    """Cases, in the plan's order."""
    return list(dict.fromkeys(rows["case"]))


def values(rows: pd.DataFrame, case: str, label: str, column: str) -> list[float]:
    """A column of one label in one case, by seed."""
    chosen = rows[(rows["case"] == case) & (rows["label"] == label)]
    return [float(value) for value in chosen[column]]


def reduction(rows: pd.DataFrame, case: str, label: str, rival: str, column: str) -> list[float]:
    """By seed: how far below the rival's value the label's is, as a share of the rival's."""
    ours, theirs = (values(rows, case, each, column) for each in (label, rival))
    return [1 - a / b for a, b in zip(ours, theirs, strict=True)]


def best_reduction(rows: pd.DataFrame, case: str, label: str, column: str) -> list[float]:
    """By seed: reduction against the best of the paper's baselines at that seed."""
    each = [reduction(rows, case, label, rival, column) for rival in BASELINES]
    return [min(at_seed) for at_seed in zip(*each, strict=True)]


def lost(rows: pd.DataFrame, among: Sequence[str]) -> str:
    """Baselines ahead of a-srpt by flow, and in how many runs."""
    ahead = []
    for rival in BASELINES:
        below = [v for c in among for v in reduction(rows, c, "a-srpt", rival, "mean_flow")]
        count = sum(value < 0 for value in below)
        if count:
            ahead.append(f"{rival} in {count} of {len(below)} runs")
    return ", ".join(ahead) or "none"
