"""Pictures of a page: waiting by scheduler beside its limits, and the cluster over time."""

from pathlib import Path
from typing import Any

from optsched.experiments.what_to_win.study import Study
from optsched.io.writing import replacing
from optsched.online.metrics import timeline
from optsched.online.policies.by_name import POLICIES
from optsched.plotting.axes import COLOURS, WIDTH, add_heading, axes, compact, house_style
from optsched.plotting.over_time import History, draw_over_time


@house_style()
def draw_waiting(study: Study, path: Path) -> None:
    """Draw the mean waiting under each scheduler, and the two limits."""
    ax = axes(None, WIDTH, 1.3 + 0.3 * len(study.runs))
    hours = {name: study.mean(name) for name in study.runs}
    colours = [COLOURS[POLICIES[name].preempts != "never"] for name in hours]
    ax.barh([*hours], [*hours.values()], color=colours)
    for name, value in hours.items():
        ax.annotate(f"{compact(value)} h", (value, name), (4, -3), textcoords="offset points")
    limits = (study.least_run_on, "without stopping jobs", "-"), (study.least, "of all", "--")
    for limit, words, style in limits:
        label = f"least {words}: {compact(limit)} h or more"
        ax.axvline(limit, color=COLOURS[2], linestyle=style, label=label)
    ax.set_xlim(0, 1.15 * max(*hours.values(), 1e-6))
    ax.invert_yaxis()
    ax.set_xlabel("mean hours of waiting per job; red: stops jobs")
    add_heading(ax)
    _save(ax, path)


@house_style()
def draw_cluster(study: Study, names: list[str], path: Path) -> None:
    """Draw waiting jobs, GPUs in use and idle GPUs over time under some schedulers."""
    histories, total = [], study.jobs.cluster.gpus
    for name in names:
        records = study.runs[name].records
        times, waiting, used = timeline(records)
        levels = {"jobs waiting": waiting, "GPUs in use, %": 100 * used / total}
        steps = {panel: (times, level) for panel, level in levels.items()}
        steps["idle GPUs"] = (times, total - used)
        histories.append(History(name, records.end, steps))
    _save(draw_over_time(histories, ""), path)


def _save(ax: Any, path: Path) -> None:
    from matplotlib import pyplot as plt

    with replacing(path) as file:
        ax.figure.savefig(file, format="png", metadata={"Software": None})
    plt.close(ax.figure)
