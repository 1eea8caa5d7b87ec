"""Pictures of a page: waiting by scheduler beside its bounds, and the cluster over time."""

from pathlib import Path

from optsched.experiments.what_to_win.study import Study
from optsched.io.writing import replacing
from optsched.online.metrics import timeline
from optsched.online.policies.by_name import POLICIES
from optsched.plotting.axes import (
    COLOURS,
    FAINT,
    MARK_COLOUR,
    WIDTH,
    add_heading,
    axes,
    compact,
    house_style,
)
from optsched.plotting.over_time import History, draw_over_time


@house_style()
def draw_waiting(study: Study, path: Path) -> None:
    """Draw the mean waiting under each scheduler, and the two bounds."""
    ax = axes(None, WIDTH, 1.3 + 0.3 * len(study.runs))
    names = list(study.runs)
    hours = [study.mean(name) for name in names]
    ax.barh(names, hours, color=[COLOURS[POLICIES[n].preempts != "never"] for n in names])
    for name, value in zip(names, hours, strict=True):
        ax.annotate(f"{compact(value)} h", (value, name), (4, -3), textcoords="offset points")
    for bound, words, style in (
        (study.least_running_on, "no scheduler that runs jobs to their end is below", "-"),
        (study.least, "no scheduler at all is below", "--"),
    ):
        label = f"{words} {compact(bound)} h"
        ax.axvline(bound, color=MARK_COLOUR, linestyle=style, label=label)
    ax.set_xlim(0, 1.15 * max(*hours, 1e-6))
    ax.grid(axis="x", color=FAINT)
    ax.set_axisbelow(True)
    ax.invert_yaxis()
    ax.set_xlabel("mean hours of waiting per job")
    add_heading(ax)
    _save(ax, path)


@house_style()
def draw_cluster(study: Study, names: list[str], path: Path) -> None:
    """Draw waiting jobs, GPUs in use and idle GPUs over time under some schedulers."""
    histories = []
    for name in names:
        records = study.runs[name].records
        times, waiting, in_use = timeline(records)
        total = study.jobs.cluster.gpus
        levels = {
            "jobs waiting": (times, waiting),
            "GPUs in use, %": (times, 100 * in_use / total),
            "idle GPUs": (times, total - in_use),
        }
        histories.append(History(name, records.end, levels))
    _save(draw_over_time(histories, ""), path)


def _save(ax: object, path: Path) -> None:
    from matplotlib import pyplot as plt

    figure = ax.figure  # type: ignore[attr-defined]
    with replacing(path) as file:
        figure.savefig(file, format="png", metadata={"Software": None})
    plt.close(figure)
