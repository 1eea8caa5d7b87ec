"""Jobs and pods of Kubernetes, as ``kubectl get jobs,pods -o json`` prints them.

- A Job, or a training job with replica specs such as PyTorchJob, is one job: its GPUs are those of
  a pod times its parallelism or replicas, all at once.
- Pods of one controller that is not in the list are one job too, with the largest number of GPUs
  that they hold at one time; a pod of its own, and one of a service, is a job by itself.
- A job is submitted when it is created. It starts when the first of its pods is scheduled, and it
  ends when its controller says so, else when the last container ends. Without pods in the list its
  start is the controller's: that of the submission, unless Kueue holds the job back until its GPUs
  are free, so that its length includes the wait; the report counts such jobs.
- GPUs are resources such as nvidia.com/gpu: limits, else requests.
- The user is the label user or owner, else the namespace. The group is the namespace and the name
  without its parts with digits. activeDeadlineSeconds is the user's estimate of the length.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optsched.errors import InputError
from optsched.io.numerals import parse_real
from optsched.online.traces.cells import UnreadableError, date_of, readable_rows
from optsched.online.traces.json_objects import objects_of
from optsched.online.traces.trace import MAX_ROWS, RejectedRow, TraceRow

SERVICES = ("ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")
"""Controllers whose pods are jobs by themselves."""
ENDED = ("Complete", "Failed", "Succeeded")
KUEUE = "kueue.x-k8s.io/queue-name"
NO_PODS = "no pods in the file: the length includes the wait for GPUs"
_NUMBERED = re.compile(r"(?:[-_.][a-z]*[0-9][a-z0-9]*)+$", re.ASCII)


@dataclass(frozen=True)
class Pod:
    """A pod: seconds since 1970, None where it has not come to that."""

    line: int
    document: dict[str, Any]
    gpus: float
    created: float | None
    start: float | None
    end: float | None


def read_kubernetes(path: str | Path) -> Iterator[TraceRow | RejectedRow]:
    """Stream the jobs of a list of Kubernetes objects; objects of other kinds are rejected."""
    jobs: dict[str, tuple[int, dict[str, Any]]] = {}
    pods: dict[str, list[Pod]] = {}
    for count, (line, document) in enumerate(objects_of(path, "items")):
        if count == MAX_ROWS:
            raise InputError(str(path), f"line {line}", "more objects", f"at most {MAX_ROWS}")
        kind = document.get("kind")
        if kind == "Pod":
            pod = Pod(
                line,
                document,
                _gpus_of_pod(document.get("spec")),
                _time(document, "metadata", "creationTimestamp"),
                _scheduled(document),
                _last_end(document),
            )
            pods.setdefault(_controller(document), []).append(pod)
        elif kind == "Job" or _replica_specs(document):
            jobs[_text(document, "metadata", "uid") or f"line {line}"] = (line, document)
        else:
            yield RejectedRow(line, "neither a job nor a pod", str(kind or ""))
    of_jobs = ((line, (document, pods.pop(uid, []))) for uid, (line, document) in jobs.items())
    yield from readable_rows(of_jobs, _row_of_job)
    yield from readable_rows(((group[0].line, group) for group in pods.values()), _row_of_pods)


def _row_of_job(line: int, job: tuple[dict[str, Any], list[Pod]]) -> TraceRow:
    document, pods = job
    templates = [
        (_number(spec, "replicas", default=1.0), _at(spec, "template", "spec"))
        for spec in _replica_specs(document)
    ] or [
        (
            _number(document, "spec", "parallelism", default=1.0),
            _at(document, "spec", "template", "spec"),
        )
    ]
    gpus = sum(replicas * _gpus_of_pod(spec) for replicas, spec in templates)
    ends = [
        _time(condition, "lastTransitionTime")
        for condition in _list(document, "status", "conditions")
        if _at(condition, "type") in ENDED and _at(condition, "status") == "True"
    ]
    end = next((end for end in ends if end is not None), None)
    end = _time(document, "status", "completionTime") or end or _latest(pods)
    begun, held_back = _time(document, "status", "startTime"), _text(document, *_LABELS, KUEUE)
    starts = [pod.start for pod in pods if pod.start is not None]
    start = min(starts) if starts else begun
    created = _time(document, "metadata", "creationTimestamp")
    real = bool(starts or held_back)
    return _row(
        line, document, gpus, created, start, end, _text(document, "metadata", "name"), real
    )


def _row_of_pods(line: int, pods: list[Pod]) -> TraceRow:
    """The job of the pods of one controller."""
    owner = _owner(pods[0].document)
    name = _text(owner, "name") or _text(pods[0].document, "metadata", "name")
    created = [pod.created for pod in pods if pod.created is not None]
    starts = [pod.start for pod in pods if pod.start is not None]
    return _row(
        line,
        pods[0].document,
        _most_at_once(pods),
        min(created, default=None),
        min(starts, default=None),
        _latest(pods),
        name,
        True,
    )


def _row(
    line: int,
    document: dict[str, Any],
    gpus: float,
    created: float | None,
    start: float | None,
    end: float | None,
    name: str,
    real: bool,
) -> TraceRow:
    if start is None or end is None:
        raise UnreadableError("not ended" if start is not None else "never started", name)
    namespace = _text(document, "metadata", "namespace")
    labels = (_text(document, *_LABELS, label) for label in ("user", "owner"))
    walltime = _number(document, "spec", "activeDeadlineSeconds", default=0.0)
    return TraceRow(
        line,
        f"{namespace}/{name}",
        created,
        end - start,
        gpus,
        next((label for label in labels if label), namespace),
        f"{namespace}/{_NUMBERED.sub('', name)}/{gpus:g}",
        walltime if walltime > 0 else None,
        start=start if real else None,
        remark="" if real else NO_PODS,
    )


def _most_at_once(pods: Iterable[Pod]) -> float:
    """Largest number of GPUs that pods hold at one time, e.g. without counting retries twice."""
    changes = [
        (time, sign * pod.gpus)
        for pod in pods
        if pod.start is not None and pod.end is not None
        for time, sign in ((pod.start, 1), (pod.end, -1))
    ]
    held = most = 0.0
    for _, change in sorted(changes):
        held += change
        most = max(most, held)
    return most


def _latest(pods: Iterable[Pod]) -> float | None:
    """The end of the last pod; None while one runs on."""
    ends = [pod.end for pod in pods if pod.start is not None]
    return None if not ends or None in ends else max(end for end in ends if end is not None)


def _scheduled(pod: dict[str, Any]) -> float | None:
    for condition in _list(pod, "status", "conditions"):
        if _at(condition, "type") == "PodScheduled" and _at(condition, "status") == "True":
            return _time(condition, "lastTransitionTime")
    return _time(pod, "status", "startTime")


def _last_end(pod: dict[str, Any]) -> float | None:
    states = [_at(status, "state") for status in _list(pod, "status", "containerStatuses")]
    ends = [_time(state, "terminated", "finishedAt") for state in states]
    return None if not ends or None in ends else max(end for end in ends if end is not None)


def _gpus_of_pod(spec: Any) -> float:
    """GPUs of a pod: those of its containers together, or of an init container if it has more."""
    together = sum(map(_gpus_of_container, _list(spec, "containers")))
    return max([together, *map(_gpus_of_container, _list(spec, "initContainers"))])


def _gpus_of_container(container: Any) -> float:
    for kind in ("limits", "requests"):
        amounts = _at(container, "resources", kind)
        if isinstance(amounts, dict):
            counts = [parse_real(str(v)) for key, v in amounts.items() if key.endswith("/gpu")]
            if any(counts):
                return sum(count or 0.0 for count in counts)
    return 0.0


def _replica_specs(document: dict[str, Any]) -> list[Any]:
    """The replica specs of a training job: pytorchReplicaSpecs, mpiReplicaSpecs, ..."""
    spec = _at(document, "spec")
    specs = [v for k, v in spec.items() if k.endswith("ReplicaSpecs")] if _is_dict(spec) else []
    return list(specs[0].values()) if specs and _is_dict(specs[0]) else []


def _controller(pod: dict[str, Any]) -> str:
    """The uid of a pod's controller, or its own."""
    owner = _owner(pod)
    return _text(owner, "uid") or _text(pod, "metadata", "uid") or str(id(pod))


def _owner(pod: dict[str, Any]) -> Any:
    for owner in _list(pod, "metadata", "ownerReferences"):
        if _at(owner, "controller") is True and _at(owner, "kind") not in SERVICES:
            return owner
    return None


_LABELS = ("metadata", "labels")


def _at(node: Any, *path: str) -> Any:
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def _is_dict(node: Any) -> bool:
    return isinstance(node, dict)


def _list(node: Any, *path: str) -> list[Any]:
    values = _at(node, *path)
    return values if isinstance(values, list) else []


def _text(node: Any, *path: str) -> str:
    value = _at(node, *path)
    return value if isinstance(value, str) else ""


def _number(node: Any, *path: str, default: float) -> float:
    value = _at(node, *path)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else default


def _time(node: Any, *path: str) -> float | None:
    return date_of(_text(node, *path))
