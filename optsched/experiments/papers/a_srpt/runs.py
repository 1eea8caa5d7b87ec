"""Runs of a-srpt's section V: simulate many policies on one workload as one run of a sweep.

Runs of a sweep store a solution file, from which they are checked. The runs here have up to 150,000
jobs, more than such a file holds, and ten policies share the predictions of one forest: the
functions simulate all of them and return their metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
"""The paper's: fitted to the first 80% of the jobs, 0 for groups that do not occur there."""
PERFECT = "a-srpt-perfect"
BASELINES = PAPER[2:]
GENERATOR = "optsched.experiments.papers.a_srpt.workloads:generate_case"
GBITS = (1, 5, 10, 25, 50)
"""Network cards of Fig. 8; jobs' iterations are computed at 10 Gbit/s for all of them."""
ERROR_BINS = np.concatenate(([-1.0], np.arange(-0.95, 3.0, 0.1), [np.inf]))
"""Bins of (n~ - n)/n, one of them around 0; the last holds everything above."""
METRICS = ("jobs", "total_completion_time", "mean_flow_time", "makespan")
COLUMNS = ("family", "case", "seed", "label", "jobs", "completion", "mean_flow", "makespan")
"""Columns of `outcomes`; seconds."""
ACCURACY_COLUMNS = ("within_tenth", "unseen", "mean_absolute_error")
"""Further columns: shares of the jobs predicted within 10%, and of unseen groups; the error."""


def workload(
    case: str,
    arguments: Mapping[str, Any],
    seed: int,
    scale: Scale,
    method: str,
    **options: Any,
) -> Family:
    """The family of a method on one workload, synthetic or of the user's trace."""
    changes = {
        "trace": scale.trace,
        "trace_format": scale.trace_format,
        "time_scale": scale.time_scale,
        "trace_load": scale.load,
        "trace_share": arguments.get("single_gpu_share"),
    }
    given = {name: value for name, value in changes.items() if value is not None}
    return seeded(
        case,
        "online",
        {**arguments, **(given if scale.trace else {})},
        seed,
        [method if ":" in method else f"{__name__}:{method}"],
        generator=GENERATOR,
        options={**PREDICTION, **options},
    )


def fit(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Predictions of the options' predictor; nothing is simulated."""
    return _simulate(instance, options, settings, {})


def by_predictor(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Simulate a-srpt with the options' predictor; with the forest the other policies too."""
    policies = {f"a-srpt {options.predictor}": "a-srpt"}
    if options.predictor == PREDICTION["predictor"]:
        policies |= {name: name for name in PAPER if name != "a-srpt"}
    return _simulate(instance, options, settings, policies)


def paper(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    return _simulate(instance, options, settings, {name: name for name in PAPER})


def across_cards(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Simulate the paper's policies with each network card, on the predictions of one forest."""
    return _simulate(instance, options, settings, {name: name for name in PAPER}, GBITS)


def predicted(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Prediction:
    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    share, unseen = options.training_share, options.unseen
    return predict(jobs, options.predictor, training_share=share, unseen=unseen, seed=settings.seed)


def run(
    jobs: Jobs, policy: str, iterations: NDArray[np.float64], options: OnlineOptions
) -> list[float]:
    """Simulate a policy on predicted iterations; return its `METRICS`."""
    metrics = compute_metrics(simulate_online(jobs, policy, iterations, options.policy))
    return [getattr(metrics, name) for name in METRICS]


def _simulate(
    instance: OnlineInstance,
    options: OnlineOptions,
    settings: Settings,
    policies: Mapping[str, str],
    cards: Sequence[int] = (),
) -> Outcome:
    """Simulate policies by label on the same predictions, with the cluster's card or others."""
    prediction = predicted(instance, options, settings)
    cases = {f"{gbits} Gbit/s": _with_card(instance, prediction, gbits) for gbits in cards}
    runs = [
        (case, label, run(jobs, policy, prediction.iterations, options))
        for label, policy in policies.items()
        for case, jobs in (cases or {"": prediction.jobs}).items()
    ]
    errors, true = report(prediction), prediction.jobs.iterations
    counts, _ = np.histogram((prediction.iterations - true) / true, bins=ERROR_BINS)
    shares = {
        f"error_from_{low:.2f}": float(count) / max(len(true), 1)
        for low, count in zip(ERROR_BINS, counts, strict=False)
    }
    fitted = {name: getattr(errors, name) for name in ("exact", *ACCURACY_COLUMNS)}
    details = {"runs": runs, "fit": {**fitted, "fit_s": errors.fit_time, **shares}}
    return Outcome(None, Termination.FEASIBLE, details=details)


def _with_card(instance: OnlineInstance, prediction: Prediction, gbits: int) -> Jobs:
    cluster = instance.cluster.model_copy(update={"inter_bandwidth": gbits * 1.25e8})
    return prepare_jobs(prediction.jobs.workload, instance.catalogue, cluster)


def outcomes(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """One row per case, seed and label; the case is the run's own or the family's."""
    import pandas as pd

    rows = [
        (run["family"], case or run["family"], run["seed"], label, *metrics, *accuracy)
        for run in runs.to_dict("records")
        for accuracy in [[run["details"].get("fit", {}).get(name) for name in ACCURACY_COLUMNS]]
        for case, label, metrics in run["details"]["runs"]
    ]
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *ACCURACY_COLUMNS])
    return frame.sort_values("case", key=lambda case: pd.factorize(case)[0], kind="stable")


def fits(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """One row per predictor and seed: accuracy, and shares of jobs by error."""
    import pandas as pd

    rows = pd.DataFrame([details["fit"] for details in runs["details"]])
    rows.insert(0, "predictor", [options["predictor"] for options in runs["options"]])
    rows.insert(1, "seed", runs["seed"])
    return rows


def reductions(rows: pd.DataFrame, column: str, label: str = "a-srpt") -> pd.DataFrame:
    """How far below each other label's value the label's is, as a share of the other's.

    One row per case and seed, one column per label.
    """
    by_label = rows.pivot_table(column, ["case", "seed"], "label", sort=False)
    return 1 - by_label.rdiv(by_label[label], axis=0)


def below_best_baseline(rows: pd.DataFrame, column: str, label: str = "a-srpt") -> pd.Series:
    """Reduction against the best of the paper's baselines, by case and seed."""
    return reductions(rows, column, label)[[*BASELINES]].min(axis=1)
