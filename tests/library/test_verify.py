"""`verify`: all that is stored holds, what is corrupted is refused, and numpy is all it needs."""

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import json_of, printed, refusal

import optsched
from optsched.errors import InputError
from optsched.library import verify as verifier
from optsched.library.best_records import BestRecords, best_records, certificate_in
from optsched.library.records import packed, unpacked
from optsched.library.sets import Entry, all_entries, library_set, load_entry, set_names
from optsched.library.verify import VERIFIERS, RefusedError, verify
from optsched.library.verifying import sample, verify_entry, verify_many

Document = dict[str, Any]
DRAWS = {"speed-profile": 16, "makespan": 18, "selection": 12, "placement": 10}
DRAWS |= {"online": 2, "rolling": 2}
"""60 instances, more of the problems whose instances are quickly made."""


@pytest.mark.parametrize("share", [4, pytest.param(1, marks=pytest.mark.full)])
def test_drawn_instances_hold(share: int) -> None:
    rng = np.random.default_rng(20261122)
    chosen: list[Entry] = []
    for problem, count in DRAWS.items():
        every = [e for e in all_entries() if e.problem == problem and "paper" not in e.name]
        chosen += [every[i] for i in rng.permutation(len(every))[: count // share]]
    assert len(chosen) == sum(count // share for count in DRAWS.values())
    verdicts = list(verify_many(chosen))
    assert {v.name: v.faults for v in verdicts if v.faults} == {}
    assert all(v.value is not None for v in verdicts)


@pytest.mark.full
def test_the_whole_library_holds() -> None:
    assert {v.name: v.faults for v in verify_many(list(all_entries())) if v.faults} == {}


def test_the_command_draws_and_says_what_holds() -> None:
    verdicts = json_of("verify --sample 2 --seed 3")
    assert [v["name"] for v in verdicts] == [entry.name for entry in sample(2, 3)]
    assert all(v["holds"] for v in verdicts)
    nowhere = "--sample 1 --store no-such-folder"
    for wrong in ("", "--all --sample 2", "--sample 0", "no/such-1/001", nowhere):
        refusal(f"verify {wrong}")


# --- corruptions: each makes something false or unreadable, and must be refused with its reason


@lru_cache
def subjects() -> list[tuple[BestRecords, Any, Document, Document]]:
    """Instances of each problem with their solution and certificate."""
    found = []
    for name in set_names():
        known = best_records(library_set(name).entries[:1])[0]
        if known.value is None or known.certified is None or "paper" in name:
            continue
        solution = unpacked(known.value.solution or "", name)
        certificate = dict(certificate_in(known.certified))
        found.append((known, load_entry(known.entry), solution, certificate))
    return found


Corruption = Callable[[Document, np.random.Generator], None]


def _index(rng: np.random.Generator, values: Any) -> int:
    return int(rng.integers(len(values)))


def _one(rng: np.random.Generator, values: Any) -> Any:
    return values[_index(rng, values)]


def _set(**values: Any) -> Corruption:
    """Set fields of the document, or with `_of_job` those of a job."""
    return lambda document, rng: document.update(values)


def _of_job(change: Corruption) -> Corruption:
    return lambda document, rng: change(_one(rng, document["jobs"]), rng)


def _claim(document: Document, rng: np.random.Generator) -> None:
    document["objective"] *= float(rng.choice([0.99, 1.01]))


def _without_one(key: str) -> Corruption:
    return lambda document, rng: document[key].pop(_index(rng, document[key]))


def _count(document: Document, rng: np.random.Generator) -> None:
    row = _one(rng, document["counts"])
    row[_index(rng, row)] += int(rng.choice([-1, 1]))


def _gpus(job: Document, rng: np.random.Generator) -> None:
    job["gpus"][next(iter(job["gpus"]))] += 1


def _piece(document: Document, rng: np.random.Generator) -> None:
    piece = document["pieces"][-1]
    piece.update(rng.choice([{"speed": 99}, {"to": piece["to"] + 1}, {"to": piece["to"] - 1}]))


def _short_run(job: Document, rng: np.random.Generator) -> None:
    job["end"] = (job["start"] + job["end"]) / 2


ALL = (_claim, _set(instance="another"), _set(schema="optsched/nothing"))
JOBS = (*ALL, _without_one("jobs"), lambda d, rng: d["jobs"].append(_one(rng, d["jobs"])))
NOWHERE = _set(node="nowhere", gpus=[0])
SOLUTIONS: dict[str, tuple[Corruption, ...]] = {
    "placement": (*ALL, _count, _without_one("counts")),
    "makespan": (*JOBS, *map(_of_job, (_gpus, _set(gpus={"999": 1}), _set(start=-2)))),
    "selection": (*JOBS, *map(_of_job, (NOWHERE, _set(node="n0", gpus=[1000])))),
    "speed-profile": (*ALL, _piece, _set(status="infeasible")),
    "rolling": (*JOBS, _set(seed=7)),
    "online": (*JOBS, _of_job(_short_run)),
    "packing": (*ALL, _without_one("placements")),
}


def _above_the_value(document: Document, rng: np.random.Generator) -> None:
    key, factor = ("deadline", 2) if "deadline" in document else ("threshold", 1.02)
    document[key] *= factor


def _kind(document: Document, rng: np.random.Generator) -> None:
    document["kind"] = str(rng.choice(["dream", "enumeration", ""]))


def _missing(document: Document, rng: np.random.Generator) -> None:
    keys = sorted(set(document) - {"kind", "seed", "opening", "bound"})
    del document[keys[_index(rng, keys)]]


def _lists(document: Document) -> list[list[Any]]:
    """Its lists of prices, those of a tree's leaves too."""
    held = [v for k, v in document.items() if isinstance(v, list) and k not in ("nodes", "shares")]
    held += document.get("shares", [])
    for name in ("slots", "prices"):
        if isinstance(document.get(name), dict):
            held += document[name].values()
    for node in document.get("nodes", ()):
        held += _lists(node) if "count" not in node else []
    return [values for values in held if values]


def _longer(document: Document, rng: np.random.Generator) -> None:
    lists = _lists(document)
    if lists:
        _one(rng, lists).append(1)
    else:
        document["multiplier"] = [document["multiplier"]]


def _no_number(document: Document, rng: np.random.Generator) -> None:
    wrong = _one(rng, [None, "1", float("nan"), float("inf"), True, [1]])
    lists = _lists(document)
    values = _one(rng, lists) if lists else document
    values[_index(rng, values) if lists else "multiplier"] = wrong


def _negative(document: Document, rng: np.random.Generator) -> None:
    prices = document.get("prices", document.get("slots", document.get("cpu")))
    if prices is None:
        document["multiplier" if "multiplier" in document else "threshold"] = -1.0
    else:
        (prices if isinstance(prices, list) else prices[min(prices)])[0] = -1


def _half_a_tree(document: Document, rng: np.random.Generator) -> None:
    if "nodes" not in document:
        _kind(document, rng)
        return
    nodes = document["nodes"]
    inner = [node for node in nodes if "count" in node]
    change = int(rng.integers(4)) if inner else 0
    if change == 0:
        nodes.append(nodes[-1])
    elif change == 1:
        nodes.pop()
    else:
        children = _one(rng, inner)["children"]
        children[1] = _index(rng, nodes) if change == 2 else children[0]


ANY = (_kind, _missing, _longer, _no_number, _negative)
CERTIFICATES: dict[str, tuple[Corruption, ...]] = {
    "placement": (*ANY, _above_the_value),
    "makespan": (*ANY, _above_the_value),
    "selection": (*ANY, _half_a_tree),
    **dict.fromkeys(("speed-profile", "rolling", "online", "packing"), ANY),
}


def refused_with(known: BestRecords, what: str, document: Document) -> str:
    """The reason that `verify_entry` gives against a corrupted document; "" where it gives none."""
    try:
        update = {what: packed(document)}
    except ValueError:  # no JSON holds a NaN: what a hostile certificate's reader would see
        with pytest.raises(RefusedError) as caught:
            verify(load_entry(known.entry).to_dict(), document)
        return str(caught.value)
    if what == "solution":
        changed = replace(known, value=known.value.model_copy(update=update))
    else:
        certified = known.certified.model_copy(update=update)
        changed = replace(known, certified=certified, bound=certified)
    try:
        return "; ".join(verify_entry(changed).faults)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize(
    "number", [*range(24), *(pytest.param(1000 + n, marks=pytest.mark.full) for n in range(200))]
)
def test_what_is_corrupted_is_refused(number: int) -> None:
    rng = np.random.default_rng([15, number])
    known, _, solution, certificate = subjects()[number % len(subjects())]
    what = ("solution", "certificate")[number // len(subjects()) % 2]
    table = SOLUTIONS if what == "solution" else CERTIFICATES
    document = copy.deepcopy(solution if what == "solution" else certificate)
    corruptions = table[known.entry.problem]
    corrupt = corruptions[_index(rng, corruptions)]
    corrupt(document, rng)
    reason = refused_with(known, what, document)
    assert reason, (known.entry.name, what, corruptions.index(corrupt))
    assert "\n" not in reason


def test_uncorrupted_they_are_not_but_a_record_may_not_exceed_its_certificate() -> None:
    assert {known.entry.problem for known, *_ in subjects()} == set(SOLUTIONS)
    for known, _, solution, certificate in subjects():
        assert refused_with(known, "solution", solution) == ""
        assert refused_with(known, "certificate", certificate) == ""
        more = known.certified.model_copy(update={"value": known.certified.value * 1.001})
        assert verify_entry(replace(known, certified=more, bound=more)).faults


# --- what certificates prove


def test_every_kind_has_a_verifier_and_is_met() -> None:
    every = best_records(all_entries())
    met = {(k.entry.problem, certificate_in(k.certified)["kind"]) for k in every if k.certified}
    assert met <= set(VERIFIERS)
    assert set(VERIFIERS) - met <= {("makespan", "contention")}  # oracles/test_makespan meets it


def test_no_certificate_proves_more_than_is_attained() -> None:
    """Prices drawn at random prove bounds, too: none is above a value that a solution has."""
    rng = np.random.default_rng(7)
    proved = 0
    for known, instance, _, certificate in subjects():
        document = instance.to_dict()
        for _ in range(8):
            changed = copy.deepcopy(certificate)
            if "shares" in changed:  # a packing's certificate states what it proves
                changed["bound"] = 0.0
            for values in _lists({k: v for k, v in changed.items() if k != "edges"}):
                for i, price in enumerate(values):
                    factor = float(rng.lognormal(0.0, 0.3))
                    values[i] = int(price * factor) if isinstance(price, int) else price * factor
            try:
                bound = verify(document, changed)
            except RefusedError:
                continue
            proved += 1
            assert bound <= known.value.value * (1 + 1e-9)
    assert proved > 20


def test_numpy_is_all_it_needs(tmp_path: Path) -> None:
    known, instance, _, certificate = subjects()[0]
    files = [tmp_path / "instance.json", tmp_path / "certificate.json"]
    for path, document in zip(files, (instance.to_dict(), certificate), strict=True):
        path.write_text(json.dumps(document))
    script = (
        "import runpy, sys\n"
        f"sys.path.insert(0, {str(Path(verifier.__file__).parents[1])!r})\n"
        f"sys.argv = ['verify', {str(files[0])!r}, {str(files[1])!r}]\n"
        "try:\n    runpy.run_module('verify', run_name='__main__')\n"
        "except SystemExit as end:\n    assert end.code == 0, end.code\n"
        "heavy = {'optsched', 'scipy', 'pydantic', 'pandas', 'numba', 'highspy'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert done.stdout.splitlines() == [f"proved: at least {known.certified.value!r}", "[]"]


def test_a_file_and_a_certificate_may_be_anyones(tmp_path: Path) -> None:
    instance = optsched.load("placement/fig2")
    result = optsched.solve(instance, "exact")
    path = tmp_path / "certificate.json"
    kind = {"kind": "patterns", "prices": [1] * len(instance.job.stages)}  # type: ignore[union-attr]
    for threshold, code, verdict in (
        (0.0, 0, "bound 0.0: proved"),
        (result.objective * 1.01, 1, "refused: the replicas are worth"),
    ):
        path.write_text(json.dumps({**kind, "threshold": threshold}))
        assert verdict in printed("verify placement/fig2 --certificate", path, code=code)


def test_a_whole_result_is_no_certificate(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(json_of("solve packing/two-nodes --method columns")))
    command = f"verify packing/two-nodes --certificate {path}"
    expected = 'found an object that has a "certificate", expected a certificate, the content of'
    assert expected in refusal(command)
    path.write_text(json.dumps(json.loads(path.read_text())["certificate"]))
    assert "bound" in printed(command)
    path.write_text("{}")
    assert 'without a "kind", expected a certificate' in refusal(command)
