"""The draw of a model and a configuration for each group of recurring jobs (a-srpt, V-A 1-b).

Groups of one GPU get a model that a single GPU trains; the others any model of the zoo and one of
the planner's plans for their number of GPUs; with slices > 0, groups whose GPU count is a multiple
of it get a transformer or a mixture of experts with that tensor parallelism. The draw depends on
(seed, group, GPUs) alone, so that adding jobs never changes another group's.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from optsched.arrays import Ints
from optsched.online.data.catalogue import Catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.placement.heuristics.heavy_edge import estimated_minimum
from optsched.placement.instance import Job
from optsched.profiles import LayerProfile, plans, stage_table
from optsched.profiles.planner import MAX_GPUS
from optsched.zoo import MODELS, profile_model

ON_ONE_GPU = ("VGG19", "ResNet152", "Inception-V3", "BERT-large", "XLNet-large")
SLICED = ("BERT-large", "T5-11B", "GPT-6.7B", "GPT-13B", "GPT-175B", "Mixtral-8x7B")
"""Transformers with head counts divisible by 8; Mixtral is a mixture of experts."""
MAX_PLANNED_GPUS = 128
"""Larger jobs use the plan of a divisor with each stage's replicas scaled up."""


@dataclass(frozen=True)
class Drawn:
    """A configuration: its key in the catalogue, the job, and alpha~ on the reference (s)."""

    key: str
    job: Job
    estimate: float


class ConfigurationDrawer:
    """Draws configurations and remembers them for the catalogue."""

    def __init__(
        self, seed: int, reference: OnlineCluster, all_reduce: str = "ring", slices: int = 0
    ) -> None:
        self._seed, self._reference, self._all_reduce = seed, reference, all_reduce
        self._slices = slices
        self._configurations: dict[str, Drawn] = {}

    def draw(self, groups: Sequence[str], gpus: Ints) -> tuple[list[Drawn], Ints]:
        """Draw the configurations of groups, given the GPUs of each; deterministic."""
        index_of: dict[str, int] = {}
        index = np.empty(len(gpus), dtype=np.int64)
        for i, (group, count) in enumerate(zip(groups, gpus.tolist(), strict=True)):
            rng = np.random.default_rng([self._seed, zlib.crc32(group.encode()), count])
            names = self._names(count)
            model = names[rng.integers(len(names))]
            plan = int(rng.integers(len(self._plans(model, count))))
            drawn = self._drawn(model, count, plan)
            index[i] = index_of.setdefault(drawn.key, len(index_of))
        return [self._configurations[key] for key in index_of], index

    def catalogue(self, provenance: dict[str, Any] | None = None) -> Catalogue:
        models = {key: self._configurations[key].job for key in sorted(self._configurations)}
        return Catalogue.of(models, provenance)

    def _is_sliced(self, gpus: int) -> bool:
        return self._slices > 0 and gpus > 1 and gpus % self._slices == 0

    def _names(self, gpus: int) -> tuple[str, ...]:
        return ON_ONE_GPU if gpus == 1 else SLICED if self._is_sliced(gpus) else tuple(MODELS)

    def _plans(self, model: str, gpus: int) -> tuple[Job, ...]:
        slices = self._slices if self._is_sliced(gpus) else 1
        bandwidth = slices * self._reference.inter_bandwidth / self._reference.largest_server
        return configurations_of(model, gpus // slices, bandwidth, self._all_reduce, slices)

    def _drawn(self, model: str, gpus: int, plan: int) -> Drawn:
        job = self._plans(model, gpus)[plan]
        key = f"{model}/{gpus}/{'-'.join(str(stage.replicas) for stage in job.stages)}"
        key += f"x{self._slices}" if self._is_sliced(gpus) and self._slices > 1 else ""
        if key not in self._configurations:
            self._configurations[key] = Drawn(
                key, job, estimated_minimum(job, self._reference.hardware)
            )
        return self._configurations[key]


@lru_cache(maxsize=4096)
def configurations_of(
    model: str, replicas: int, bandwidth: float, all_reduce: str, slices: int = 1
) -> tuple[Job, ...]:
    """The planner's plans of a model with `replicas` replicas, one per number of stages."""
    profile = _profile(model, slices)
    base, times = replicas, 1
    while base > MAX_PLANNED_GPUS or base > MAX_GPUS:
        divisor = next((d for d in (2, 3, 5, 7) if base % d == 0), base)
        base, times = base // divisor, times * divisor
    jobs = []
    for plan in plans(profile, base, bandwidth=bandwidth):
        table = stage_table(profile, plan)
        for stage in table:
            stage["replicas"] *= times
        jobs.append(Job.model_validate({"model": model, "all_reduce": all_reduce, "stages": table}))
    return tuple(jobs)


@lru_cache(maxsize=32)
def _profile(model: str, slices: int) -> LayerProfile:
    return profile_model(model, tensor_parallel=slices)
