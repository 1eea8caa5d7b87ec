"""Plans on random offers of free GPUs: the instances of Table II."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.running import seeded
from optsched.experiments.plans.plan import Family
from optsched.placement.scaling import measures

if TYPE_CHECKING:
    import pandas as pd

    from optsched.placement.instance import PlacementInstance

BYTES_PER_GBIT = 1.25e8
TIME_LIMIT = 60.0


@dataclass(frozen=True)
class Setting:
    """The settings of a plan, of which the paper leaves several open.

    Attributes
    ----------
    stages : int or None
        By default the number that makes the plan fastest, up to 8.
    mini_batch : int or None
        Samples; by default Table I's.
    gbits : int
        Bandwidth of a server's NIC, Gbit/s.
    oversized : bool
        Whether the plan need not fit into the GPUs' memory.
    """

    model: str
    gpus: int
    stages: int | None = None
    gbits: int = 10
    batch: str = "per-gpu"
    mini_batch: int | None = None
    device: str = "V100"
    oversized: bool = False

    @property
    def words(self) -> str:
        """The setting in a line, unique to it."""
        samples = "" if self.mini_batch is None else f" of {self.mini_batch}"
        batch = "per GPU" if self.batch == "per-gpu" else "in all"
        stages = "" if self.stages is None else f", {self.stages} stages"
        return (
            f"{self.model} on {self.gpus} {self.device}, {self.gbits} Gbit/s, "
            f"a mini-batch{samples} {batch}{stages}"
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the generator, by flat names."""
        asked = {
            "model": self.model,
            "gpus": self.gpus,
            "stages": self.stages,
            "inter_bandwidth": self.gbits * BYTES_PER_GBIT,
            "batch": self.batch,
            "mini_batch": self.mini_batch,
            "device": self.device,
            "oversized": self.oversized,
        }
        return {name: value for name, value in asked.items() if value is not None}

    def families(
        self, seeds: Sequence[int], methods: Sequence[str], time_limit: float = TIME_LIMIT
    ) -> list[Family]:
        """Every method on the offer of every seed."""
        return [
            seeded(self.words, "placement", self.arguments, seed, methods, time_limit=time_limit)
            for seed in seeds
        ]


def rows_of(runs: pd.DataFrame, settings: Sequence[Setting]) -> pd.DataFrame:
    """A row a method and offer; the bound is the best that any method proves for the offer."""
    import pandas as pd

    from optsched.verbs.generating import generate

    by_words = {setting.words: setting for setting in settings}
    best = runs.groupby(["family", "seed"])["bound"].transform("max")
    instance_at: dict[tuple[str, int], PlacementInstance] = {}
    for family, seed in dict.fromkeys(zip(runs["family"], runs["seed"], strict=True)):
        instance_at[family, seed] = generate("placement", int(seed), **by_words[family].arguments)
    instances = [instance_at[at] for at in zip(runs["family"], runs["seed"], strict=True)]
    of = [by_words[family] for family in runs["family"]]
    pairs = zip(instances, runs["objective"], strict=True)
    scaling = [measures(instance, seconds) for instance, seconds in pairs]
    return pd.DataFrame(
        {
            "setting": runs["family"],
            "model": [setting.model for setting in of],
            "gpus": [setting.gpus for setting in of],
            "gbits": [setting.gbits for setting in of],
            "replicas": [replicas_by_stage(each) for each in instances],
            "seed": runs["seed"],
            "free_gpus": [" ".join(map(str, each.free_gpus)) for each in instances],
            "method": runs["method"],
            "chosen": runs["chosen"],
            "pitt_ms": 1e3 * runs["objective"],
            "pct_ms": 1e3 * (runs["build_time"] + runs["solve_time"]),
            "bound_ms": 1e3 * best,
            "excess": runs["objective"] / best - 1,
            "speed_up": [each["speed_up"] for each in scaling],
            "efficiency": [each["efficiency"] for each in scaling],
            "termination": runs["termination"],
            "checked": runs["feasible"].astype(bool),
        }
    )


def excesses(rows: pd.DataFrame, setting: Setting, method: str = "heavy-edge") -> list[float]:
    """Excess of a method over the best proven bound, in percent, a value an offer."""
    own = rows[(rows["setting"] == setting.words) & (rows["method"] == method)]
    return [100 * max(excess, 0.0) for excess in own["excess"].dropna()]


def median_of(rows: pd.DataFrame, setting: Setting, method: str, column: str) -> float:
    """Median over the offers of a column of numbers."""
    own = rows[(rows["setting"] == setting.words) & (rows["method"] == method)]
    return float(own[column].median())


def replicas_by_stage(instance: PlacementInstance) -> str:
    """Such as 4-12-9-6-1, or "16 x 2" for many equal stages."""
    replicas = [stage.replicas for stage in instance.job.stages]
    if len(set(replicas)) == 1 and len(replicas) > 8:
        return f"{len(replicas)} x {replicas[0]}"
    return "-".join(str(k) for k in replicas)
