"""Traces in JSON: jobs and pods of Kubernetes, and the job log of Microsoft's Philly.

What ``kubectl get jobs,pods -o json`` prints is read as follows:

- A Job, or a training job with replica specs such as PyTorchJob, is one job: its GPUs are those of
  a pod times its parallelism or replicas. Its pods in the list say when it started: when the first
  was scheduled. Without them the start is the controller's, which is the submission unless Kueue
  holds jobs back, so that the length includes the wait for GPUs; the report counts such jobs.
- Pods of a controller that is not in the list are one job, with the most GPUs that they hold at one
  time; a pod without a controller, and one of a service, is a job by itself.
- GPUs are resources such as nvidia.com/gpu: limits, else requests. The user is the label user or
  owner, else the namespace; the group is the namespace and the name without its numbered parts.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from optsched.errors import InputError, shown
from optsched.io.numerals import parse_real
from optsched.io.reading import text_blocks
from optsched.online.traces.cells import SubmissionParser, UnreadableError, date_of, readable_rows
from optsched.online.traces.trace import MAX_TIME, RejectedRow, TraceRow

MAX_JOB_LENGTH = 2**22
"""Characters of one job; the largest of Philly's have some 100,000."""
SERVICES = ("ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")
KUEUE = "kueue.x-k8s.io/queue-name"
NO_PODS = "no pods in the file: the length includes the wait for GPUs"
_NUMBERED = re.compile(r"(?:[-_.][a-z]*[0-9][a-z0-9]*)+$", re.ASCII)


@dataclass(frozen=True)
class Item:
    """A pod or a controller of pods; seconds since 1970, None where it has not come to that."""

    is_pod: bool
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
    jobs: dict[str, tuple[int, list[Item]]] = {}
    for line, document in objects_of(path, "items"):
        kind, owner = _text(document, "kind"), {}
        if kind != "Pod" and not kind.endswith("Job"):
            yield RejectedRow(line, "neither a job nor a pod", kind)
            continue
        for each in _list(document, "metadata", "ownerReferences") if kind == "Pod" else ():
            if _dict(each).get("controller") is True and _text(each, "kind") not in SERVICES:
                owner = each
        uid = _text(owner, "uid") or _text(document, "metadata", "uid") or f"{line} {len(jobs)}"
        items = jobs.setdefault(uid, (line, []))[1]
        items.insert(len(items) if kind == "Pod" else 0, _item(document, _text(owner, "name")))
    yield from readable_rows(jobs.values(), _row)


def _item(document: dict[str, Any], owner: str) -> Item:
    is_pod = document["kind"] == "Pod"
    metadata, spec, status = (_dict(document, key) for key in ("metadata", "spec", "status"))
    changes = {
        _text(condition, "type"): _time(condition, "lastTransitionTime")
        for condition in _list(status, "conditions")
        if _text(condition, "status") == "True"
    }
    containers = _list(status, "containerStatuses")
    ends = [_time(each, "state", "terminated", "finishedAt") for each in containers]
    if not is_pod:
        done = (changes.get(kind) for kind in ("Complete", "Succeeded", "Failed"))
        ends = [next(filter(None, (_time(status, "completionTime"), *done)), None)]
    namespace = _text(metadata, "namespace")
    return Item(
        is_pod,
        f"{namespace}/{owner or _text(metadata, 'name')}",
        _text(metadata, "labels", "user") or _text(metadata, "labels", "owner") or namespace,
        _gpus_of_pod(spec) if is_pod else _gpus_of_job(spec),
        _time(metadata, "creationTimestamp"),
        (changes.get("PodScheduled") if is_pod else None) or _time(status, "startTime"),
        None if not ends or None in ends else max(filter(None, ends)),
        _number(spec, "activeDeadlineSeconds"),
        bool(_text(metadata, "labels", KUEUE)),
    )


def _row(line: int, items: Sequence[Item]) -> TraceRow:
    """The job of one controller, given first unless it is not in the list, and its pods."""
    job, pods = items[0], [item for item in items if item.is_pod]
    if any(math.isnan(item.gpus) for item in items):
        raise UnreadableError("unreadable number of GPUs", job.name)
    starts = [pod.start for pod in pods if pod.start is not None]
    start, ends = min(starts, default=job.start), [pod.end for pod in pods]
    end = None if None in ends else max(filter(None, ends), default=None)
    end = end if job.is_pod else job.end or end
    if start is None or end is None:
        raise UnreadableError("never started" if start is None else "not ended", job.name)
    gpus = _most_at_once(pods) if job.is_pod else job.gpus
    is_real = bool(starts) or job.is_held_back
    created = [item.created for item in (items if job.is_pod else [job])]
    return TraceRow(
        line,
        job.name,
        min(filter(None, created), default=None),
        end - start,
        gpus,
        job.user,
        f"{_NUMBERED.sub('', job.name)}/{gpus:g}",
        job.walltime or None,
        start=start if is_real else None,
        remark="" if is_real else NO_PODS,
    )


def _most_at_once(pods: Sequence[Item]) -> float:
    """Largest number of GPUs that pods hold at one time; a retried pod does not count twice."""
    changes = [(pod.start or 0.0, pod.gpus) for pod in pods]
    changes += [(pod.end or 0.0, -pod.gpus) for pod in pods]
    return max(accumulate(change for _, change in sorted(changes)))


def _gpus_of_job(spec: dict[str, Any]) -> float:
    """GPUs of parallel pods, or of the replicas in pytorchReplicaSpecs, mpiReplicaSpecs, ..."""
    replicas = next((_dict(spec, key) for key in spec if key.endswith("ReplicaSpecs")), {})
    counted = [(part, "replicas") for part in replicas.values()] or [(spec, "parallelism")]
    counts = [_number(part, key) for part, key in counted]
    pods = [_gpus_of_pod(_dict(part, "template", "spec")) for part, _ in counted]
    return sum(gpus if n is None else n * gpus for n, gpus in zip(counts, pods, strict=True))


def _gpus_of_pod(spec: dict[str, Any]) -> float:
    """GPUs of a pod; NaN if a number is unreadable."""
    total = 0.0
    for container in _list(spec, "containers"):
        resources = _dict(container, "resources")
        amounts = _dict(resources, "limits") or _dict(resources, "requests")
        counts = [parse_real(str(v)) for k, v in amounts.items() if k.endswith("/gpu")]
        total += sum(math.nan if n is None or n < 0 else n for n in counts)
    return total


def read_philly_json(path: str | Path) -> Iterator[TraceRow | RejectedRow]:
    """Stream the jobs of Microsoft Philly's cluster_job_log, a JSON array of jobs with attempts.

    GPUs: of the first attempt that lists them, summed over its servers. Duration: the time that
    attempts ran, from start to end, summed. An attempt without both times is left out of the sum; a
    job without any is dropped (no duration). User: the user; group: (virtual cluster, user, GPUs).
    """
    submissions = SubmissionParser(str(path))

    def parse(line: int, job: dict[str, Any]) -> TraceRow:
        attempts = job.get("attempts")
        if not isinstance(attempts, list) or not all(isinstance(a, dict) for a in attempts):
            raise UnreadableError("no list of attempts", str(job.get("jobid", "")))
        servers = ([_list(on, "gpus") for on in _list(a, "detail")] for a in attempts)
        gpus = next(filter(None, (sum(map(len, lists)) for lists in servers)), None)
        times = [(_time(a, "start_time"), _time(a, "end_time")) for a in attempts]
        spans = [(a, b) for a, b in times if a is not None and b is not None and b >= a]
        user, cluster = str(job.get("user", "")), str(job.get("vc", ""))
        return TraceRow(
            line,
            str(job.get("jobid", f"line {line}")),
            submissions.seconds(line, _text(job, "submitted_time")),
            sum(ended - began for began, ended in spans) if spans else None,
            float(gpus or 0),
            user,
            f"{cluster}/{user}/{gpus}",
            start=spans[0][0] if spans else None,
        )

    yield from readable_rows(objects_of(path), parse)


def objects_of(path: str | Path, key: str = "") -> Iterator[tuple[int, dict[str, Any]]]:
    """Parse the objects of a JSON array as they are read; yield each with its first line.

    With a key, the array may also be that value of an object, which begins within the first block.
    """
    source, blocks = str(path), text_blocks(path)
    decoder = json.JSONDecoder()
    text, line, expected = next(blocks, ""), 1, "["
    if key and (array := re.match(rf'\s*\ufeff?\s*\{{[^[]*?"{key}"\s*:\s*(?=\[)', text)):
        line += text.count("\n", 0, array.end())
        text = text[array.end() :]
    while True:
        rest = text.lstrip("\ufeff \t\r\n")
        line += text.count("\n", 0, len(text) - len(rest))
        text = rest
        if not text:
            block = next(blocks, None)
            if block is None:
                raise InputError(source, f"line {line}", "end of file", "a JSON array of jobs")
            text = block
            continue
        if text[0] not in expected:
            raise InputError(source, f"line {line}", shown(text[:60]), "a JSON array of jobs")
        if text[0] == "]":
            return
        if text[0] != "{":
            text, expected = text[1:], "{]" if text[0] == "[" else "{"
            continue
        try:
            job, end = decoder.raw_decode(text)
        except json.JSONDecodeError as error:  # the job may go on in the next blocks, as many more
            blocks_more = 1 + len(text) // 2**16 if len(text) <= MAX_JOB_LENGTH else 0
            if more := "".join(islice(blocks, blocks_more)):
                text += more
                continue
            at, found = line + text.count("\n", 0, error.pos), f"invalid JSON ({error.msg})"
            raise InputError(source, f"line {at}", found, "jobs in an array") from None
        except (ValueError, RecursionError):
            found = "a number or nesting beyond the limits of the JSON parser"
            raise InputError(source, f"line {line}", found, "jobs in an array") from None
        yield line, job
        line += text.count("\n", 0, end)
        text, expected = text[end:], ",]"


def _at(node: Any, *path: str) -> Any:
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def _dict(node: Any, *path: str) -> dict[str, Any]:
    return value if isinstance(value := _at(node, *path), dict) else {}


def _list(node: Any, *path: str) -> list[Any]:
    return value if isinstance(value := _at(node, *path), list) else []


def _text(node: Any, *path: str) -> str:
    return value if isinstance(value := _at(node, *path), str) else ""


def _number(node: Any, key: str) -> float | None:
    value = _at(node, key)
    return float(value) if isinstance(value, int) and 0 <= value <= MAX_TIME else None


def _time(node: Any, *path: str) -> float | None:
    return date_of(_text(node, *path).strip())
