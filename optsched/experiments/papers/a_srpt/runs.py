"""Runs of a-srpt's section V: many policies on one workload as one run of a sweep, and its rows.

A run of a sweep is checked from the file it would be kept in. These runs have up to 150,000 jobs,
more than such a file holds, and ten policies share the predictions of one forest; so the functions
here simulate all of them and return their metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optsched.experiments.papers.artefact import Scale, seeded
from optsched.experiments.plans.plan import Family
from optsched.online.data.jobs import prepare_jobs
from optsched.online.metrics import compute_metrics
from optsched.online.policies.by_name import PAPER
from optsched.online.prediction.predictors import predict, report
from optsched.online.simulator.engine import simulate_online
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
GBITS = (1, 5, 10, 25, 50)
"""Network cards of Fig. 8; iterations come from 10 Gbit/s, so only the simulated card changes."""
EDGES = np.concatenate(([-1.0], np.arange(-0.95, 3.0, 0.1), [np.inf]))
"""Bins of (n~ - n)/n, one of them around 0; the last holds everything above."""
METRICS = ("jobs", "total_completion_time", "mean_flow_time", "makespan")
COLUMNS = ("family", "case", "seed", "label", "jobs", "completion", "mean_flow", "makespan")
"""Columns of `outcomes`; seconds."""
FITTED = ("within_tenth", "unseen", "mean_absolute_error")
"""Further columns: shares of the jobs predicted within 10%, and of groups not met; the error."""


def workload(
    case: str,
    arguments: Mapping[str, Any],
    seed: int,
    scale: Scale,
    method: str,
    **options: Any,
) -> Family:
    """The family of a method on one workload, synthetic or of the user's trace."""
    given = dict(arguments)
    if scale.trace is not None:
        changes = {
            "trace": scale.trace,
            "trace_format": scale.trace_format,
            "time_scale": scale.time_scale,
            "trace_load": scale.load,
            "trace_share": arguments.get("single_gpu_share"),
        }
        given |= {name: value for name, value in changes.items() if value is not None}
    name = method if ":" in method else f"{__name__}:{method}"
    chosen = {**PREDICTION, **options}
    return seeded(case, "online", given, seed, [name], generator=GENERATOR, options=chosen)


def fit(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Predictions of the options' predictor; nothing is simulated."""
    return _simulated(instance, options, settings, {})


def by_predictor(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Simulate a-srpt with the options' predictor; with the forest the other policies too."""
    policies = {f"a-srpt {options.predictor}": "a-srpt"}
    if options.predictor == PREDICTION["predictor"]:
        policies |= {name: name for name in PAPER if name != "a-srpt"}
    return _simulated(instance, options, settings, policies)


def paper(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Simulate the paper's policies."""
    return _simulated(instance, options, settings, {name: name for name in PAPER})


def across_cards(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Simulate the paper's policies with each network card, on the predictions of one forest."""
    return _simulated(instance, options, settings, {name: name for name in PAPER}, GBITS)


def predicted(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Prediction:
    """Predictions of the jobs that run."""
    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    share, unseen = options.training_share, options.unseen
    return predict(jobs, options.predictor, training_share=share, unseen=unseen, seed=settings.seed)


def run(
    jobs: Jobs, policy: str, iterations: NDArray[np.float64], options: OnlineOptions
) -> list[float]:
    """Simulate a policy on predicted iterations; return its `METRICS`."""
    metrics = compute_metrics(simulate_online(jobs, policy, iterations, options.policy))
    return [getattr(metrics, name) for name in METRICS]


def _simulated(
    instance: OnlineInstance,
    options: OnlineOptions,
    settings: Settings,
    policies: Mapping[str, str],
    cards: Sequence[int] = (),
) -> Outcome:
    """Simulate policies by label on the same predictions, with the cluster's card or others."""
    known = predicted(instance, options, settings)
    cases = {f"{gbits} Gbit/s": _with_card(instance, known, gbits) for gbits in cards}
    runs = [
        (case, label, run(jobs, policy, known.iterations, options))
        for label, policy in policies.items()
        for case, jobs in (cases or {"": known.jobs}).items()
    ]
    errors, true = report(known), known.jobs.iterations
    counts, _ = np.histogram((known.iterations - true) / true, bins=EDGES)
    shares = {
        f"error_from_{low:.2f}": float(count) / max(len(true), 1)
        for low, count in zip(EDGES, counts, strict=False)
    }
    fitted = {name: getattr(errors, name) for name in ("exact", *FITTED)}
    details = {"runs": runs, "fit": {**fitted, "fit_s": errors.fit_time, **shares}}
    return Outcome(None, Termination.FEASIBLE, details=details)


def _with_card(instance: OnlineInstance, known: Prediction, gbits: int) -> Jobs:
    """The predicted jobs on the cluster with another network card."""
    cluster = instance.cluster.model_copy(update={"inter_bandwidth": gbits * 1.25e8})
    return prepare_jobs(known.jobs.workload, instance.catalogue, cluster)


def outcomes(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """A row a case, seed and label; the case is the run's own or the family's."""
    import pandas as pd

    rows = [
        (swept["family"], case or swept["family"], swept["seed"], label, *metrics, *_fitted(swept))
        for swept in runs.to_dict("records")
        for case, label, metrics in swept["details"]["runs"]
    ]
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *FITTED])
    order = {case: place for place, case in enumerate(dict.fromkeys(frame["case"]))}
    return frame.sort_values("case", key=lambda column: column.map(order), kind="stable")


def _fitted(swept: Mapping[Any, Any]) -> Iterable[float | None]:
    return (swept["details"].get("fit", {}).get(name) for name in FITTED)


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
    ours, theirs = (values(rows, case, name, column) for name in (label, rival))
    return [1 - a / b for a, b in zip(ours, theirs, strict=True)]


def reductions(rows: pd.DataFrame, case: str, label: str, column: str) -> list[tuple[float, ...]]:
    """By seed: reductions against each of the paper's baselines."""
    by_rival = (reduction(rows, case, label, rival, column) for rival in BASELINES)
    return list(zip(*by_rival, strict=True))


def best_reduction(rows: pd.DataFrame, case: str, label: str, column: str) -> list[float]:
    """By seed: reduction against the best of the paper's baselines at that seed."""
    return [min(at_seed) for at_seed in reductions(rows, case, label, column)]
