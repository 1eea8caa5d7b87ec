"""Jobs and pods of Kubernetes, as ``kubectl get jobs,pods -o json`` prints them.

- A Job, or a training job with replica specs such as PyTorchJob, is one job: its GPUs are those of
  a pod times its parallelism or replicas. Its pods in the list say when it started: when the first
  was scheduled. Without them the start is the controller's, which is the submission unless Kueue
  holds jobs back, so that the length includes the wait for GPUs; the report counts such jobs.
- Pods of a controller that is not in the list are one job, with the most GPUs that they hold at one
  time; a pod without a controller, and one of a service, is a job by itself.
- GPUs are resources such as nvidia.com/gpu: limits, else requests. The user is the label user or
  owner, else the namespace; the group is the namespace and the name without its numbered parts.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optsched.io.numerals import parse_real
from optsched.online.traces.cells import UnreadableError, date_of, readable_rows
from optsched.online.traces.formats import objects_of
from optsched.online.traces.trace import MAX_TIME, RejectedRow, TraceRow

SERVICES = ("ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")
KUEUE = "kueue.x-k8s.io/queue-name"
NO_PODS = "no pods in the file: the length includes the wait for GPUs"
_NUMBERED = re.compile(r"(?:[-_.][a-z]*[0-9][a-z0-9]*)+$", re.ASCII)


@dataclass(frozen=True)
class Item:
    """A pod or a controller of pods; seconds since 1970, None where it has not come to that."""

    line: int
    is_pod: bool
    namespace: str
    name: str
    user: str
    gpus: float
    created: float | None
    start: float | None
    end: float | None
    walltime: float | None
    is_held_back: bool


def read_kubernetes(path: str | Path) -> Iterator[TraceRow | RejectedRow]:
    """Stream the jobs of a list of Kubernetes objects; objects of other kinds are rejected."""
    jobs: dict[str, list[Item]] = {}
    for line, document in objects_of(path, "items"):
        kind = _text(document, "kind")
        owners = [o for o in _list(document, "metadata", "ownerReferences") if _owns(o)]
        owner = owners[0] if kind == "Pod" and owners else None
        uid = _text(owner, "uid") or _text(document, "metadata", "uid") or f"{line} {len(jobs)}"
        if kind.endswith("Job"):
            jobs.setdefault(uid, []).insert(0, _item(line, document, document))
        elif kind == "Pod":
            jobs.setdefault(uid, []).append(_item(line, document, {"metadata": owner or {}}))
        else:
            yield RejectedRow(line, "neither a job nor a pod", kind)
    yield from readable_rows(((items[0].line, items) for items in jobs.values()), _row)


def _item(line: int, document: Any, controller: Any) -> Item:
    is_pod = document is not controller
    metadata, spec, status = (_at(document, key) for key in ("metadata", "spec", "status"))
    labels = _at(metadata, "labels")
    conditions = {_text(c, "type"): c for c in _list(status, "conditions") if _holds(c)}
    states = [_at(c, "state", "terminated") for c in _list(status, "containerStatuses")]
    ends = [_time(state, "finishedAt") for state in states]
    if is_pod:
        end = None if not ends or None in ends else max(filter(None, ends))
    else:
        moments = [_time(conditions.get(c), CHANGED) for c in ("Complete", "Succeeded", "Failed")]
        end = next(filter(None, [_time(status, "completionTime"), *moments]), None)
    begun = _time(conditions.get("PodScheduled"), CHANGED) if is_pod else None
    return Item(
        line,
        is_pod,
        _text(metadata, "namespace"),
        _text(controller, "metadata", "name") or _text(metadata, "name"),
        _text(labels, "user") or _text(labels, "owner") or _text(metadata, "namespace"),
        _gpus_of_pod(spec) if is_pod else _gpus_of_job(spec),
        _time(metadata, "creationTimestamp"),
        begun if begun is not None else _time(status, "startTime"),
        end,
        _number(spec, "activeDeadlineSeconds"),
        bool(_text(labels, KUEUE)),
    )


def _row(line: int, items: Sequence[Item]) -> TraceRow:
    """The job of one controller, given first unless it is not in the list, and its pods."""
    job, pods = items[0], [item for item in items if item.is_pod]
    created = [item.created for item in items if item.created is not None]
    starts = [pod.start for pod in pods if pod.start is not None]
    start = min(starts) if starts else job.start
    ends = [pod.end for pod in pods]
    end = None if None in ends else max(filter(None, ends), default=None)
    end = end if job.is_pod or job.end is None else job.end
    if start is None or end is None:
        raise UnreadableError("never started" if start is None else "not ended", job.name)
    gpus = _most_at_once(pods) if job.is_pod else job.gpus
    is_real = bool(starts) or job.is_held_back
    return TraceRow(
        line,
        f"{job.namespace}/{job.name}",
        job.created if not job.is_pod else min(created, default=None),
        end - start,
        gpus,
        job.user,
        f"{job.namespace}/{_NUMBERED.sub('', job.name)}/{gpus:g}",
        job.walltime or None,
        start=start if is_real else None,
        remark="" if is_real else NO_PODS,
    )


def _most_at_once(pods: Sequence[Item]) -> float:
    """Largest number of GPUs that pods hold at one time; a retried pod does not count twice."""
    changes = [(pod.start or 0.0, pod.gpus) for pod in pods] + [
        (pod.end or 0.0, -pod.gpus) for pod in pods
    ]
    held = most = 0.0
    for _, change in sorted(changes):
        held += change
        most = max(most, held)
    return most


def _gpus_of_job(spec: Any) -> float:
    """GPUs of parallel pods, or of the replicas in pytorchReplicaSpecs, mpiReplicaSpecs, ..."""
    specs = [v for k, v in spec.items() if k.endswith("ReplicaSpecs")] if _is_dict(spec) else []
    parts = [*specs[0].values()] if specs and _is_dict(specs[0]) else [spec]
    counts = [_number(part, "replicas" if specs else "parallelism") for part in parts]
    pods = [_gpus_of_pod(_at(part, "template", "spec")) for part in parts]
    return sum(
        gpus * (1.0 if count is None else count) for count, gpus in zip(counts, pods, strict=True)
    )


def _gpus_of_pod(spec: Any) -> float:
    """GPUs of a pod: those of its containers together, or of an init container if it has more."""
    together = sum(map(_gpus_of_container, _list(spec, "containers")))
    return max([together, *map(_gpus_of_container, _list(spec, "initContainers"))])


def _gpus_of_container(container: Any) -> float:
    amounts = _at(container, "resources", "limits") or _at(container, "resources", "requests")
    gpus = [v for key, v in amounts.items() if key.endswith("/gpu")] if _is_dict(amounts) else []
    return sum(parse_real(str(value)) or 0.0 for value in gpus)


CHANGED = "lastTransitionTime"


def _owns(owner: Any) -> bool:
    return _at(owner, "controller") is True and _text(owner, "kind") not in SERVICES


def _holds(condition: Any) -> bool:
    return _text(condition, "status") == "True"


def _is_dict(node: Any) -> bool:
    return isinstance(node, dict)


def _at(node: Any, *path: str) -> Any:
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def _number(node: Any, key: str) -> float | None:
    value = _at(node, key)
    return float(value) if isinstance(value, int) and 0 <= value <= MAX_TIME else None


def _list(node: Any, *path: str) -> list[Any]:
    return values if isinstance(values := _at(node, *path), list) else []


def _text(node: Any, *path: str) -> str:
    return value if isinstance(value := _at(node, *path), str) else ""


def _time(node: Any, *path: str) -> float | None:
    return date_of(_text(node, *path))
