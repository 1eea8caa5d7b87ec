"""Every placement method against the oracle: all tables of counts, or all patterns by server.

What an exact method calls the optimum is it; whatever any method reports on the way or when it is
cut short bounds it; a certificate proves what it proves by the oracle's own arithmetic, no more.
"""

from collections import Counter
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scripts import script

import optsched
from optsched.errors import NotApplicableError
from optsched.library.verify import RefusedError, verify
from optsched.placement.bounds.combinatorial import combinatorial_bound
from optsched.placement.bounds.pricing import PatternCertificate
from optsched.placement.cost import tables_of
from optsched.placement.exact import columns
from optsched.result import Outcome, Termination
from optsched.verbs.judging import certificate_violations
from oracles import placement as oracle
from oracles import placement_cases as cases
from oracles import placement_edits as edits
from oracles.harness import (
    ROUNDING,
    accepts,
    batches,
    case_named_on_failure,
    close,
    loaded,
    proves,
    seed_of_the_day,
    stays_below,
    was_refused,
)

EXACT = ("columns", "ilp", "ilp-vertex", "exact")
GREEDY = ("heavy-edge", "first-fit")
HEURISTICS = (*GREEDY, "repartition", "min-cut")
SOLVER_RTOL = 1e-8
"""Relative; models give HiGHS floats and take back a bound within its tolerance of 1e-9 a row."""
CAUTIOUS_RTOL = 1e-6
"""Relative, of an incumbent on the way under the bottleneck option, whose integers HiGHS has to
1e-6; the value at the end is held to `SOLVER_RTOL`."""
CUT = (0.0, 0.002, 0.01, 0.03)
"""Seconds after which another run of `columns` is cut short."""


class Group(NamedTuple):
    """How many cases of a group a run takes, and each method with the cases it skips between."""

    nightly: int
    default: int
    size: int
    methods: dict[str, int]
    shares: dict[str, float]
    """Least share of the cases in which something happens, where a call has 50 cases or more."""


GROUPS = {
    "plain": Group(
        *(10_000, 25, 140),
        {**dict.fromkeys((*EXACT, *HEURISTICS), 1), "ilp": 2, "ilp-vertex": 3, "min-cut": 5},
        {"proved by columns": 0.35, "proved by ilp": 0.2, "proved by ilp-vertex": 0.12}
        | {"several tables": 0.25, "above the optimum": 0.05, "rejected tables": 0.5},
    ),
    "extended": Group(
        *(448, 20, 56),
        dict.fromkeys((*EXACT, *HEURISTICS), 1),
        {"no table": 0.02, "refused by columns": 0.2, "above the optimum": 0.1}
        | {"proved by ilp": 0.4, "other claims": 0.3, "accepted tables": 0.1},
    ),
    "crowded": Group(
        *(1000, 10, 50),
        {"columns": 1, "ilp": 1, "exact": 1, "ilp-vertex": 3, "repartition": 1}
        | dict.fromkeys(GREEDY, 1),
        {"certified": 0.4, "refused forgeries": 10},
    ),
    "groups": Group(
        *(2_000, 25, 150),
        dict.fromkeys(("columns", "exact", "repartition", *GREEDY), 1),
        {"no table": 0.002, "no linear programme proves": 0.15, "by tables": 0.1}
        | {"proved by integers": 0.1, "above the optimum": 0.2, "cut short": 0.002}
        | {"certificates": 0.02, "prices that prove": 0.2, "prices that prove nothing": 1},
    ),
}


@pytest.mark.parametrize(
    ("group", "numbers"),
    [
        pytest.param(name, *part.values, id=f"{name}-{part.id}", marks=part.marks)
        for name, group in GROUPS.items()
        for part in batches(group.nightly, group.default, group.size)
    ],
)
def test_every_method_against_the_oracle(group: str, numbers: range, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    many = len(numbers) >= 50
    for number in numbers:
        most = None if many or group != "crowded" else 5_000
        case = cases.draw(group, seed_of_the_day(), number, most)
        with case_named_on_failure(
            seed_of_the_day(), number, {**case.instance, "options": case.options}
        ):
            if not was_refused(tmp_path, case, counts):
                _examine(group, case, number, tmp_path, counts)
    held = len(numbers) - counts["refused files"] - counts["no table"]
    assert counts["proved by exact"] + counts["refused by exact"] >= held
    assert counts["refused by exact"] <= 0.15 * len(numbers) + 2
    assert counts["no table"] <= 0.5 * len(numbers)
    assert all(counts[f"lost by {method}"] <= 0.2 * len(numbers) for method in GREEDY)
    for name, share in GROUPS[group].shares.items() if many else ():
        assert counts[name] >= share * len(numbers), f"{name}: {counts}"


def _examine(group: str, case: cases.Case, number: int, folder: Path, counts: Counter[str]) -> None:
    best = _optimum(group, case, counts)
    instance = loaded(folder, case.instance)
    results = []
    for method, every in GROUPS[group].methods.items():
        if number % every:
            continue
        found = solved(case, instance, method, best, counts)
        if found is not None:
            patterns = method == "columns" and group != "groups"
            may_stay_open = patterns or _is_unscaled(case, method, best)
            judge(case, found, best, may_stay_open=may_stay_open)
            _count(found, best, counts)
            results.append(found)
    by_method = {found.method: found.objective for found in results}
    for method in GREEDY if "repartition" in by_method else ():
        if by_method.get(method) is not None:
            assert by_method["repartition"] <= by_method[method] * (1 + ROUNDING)
    for found in results:
        if found.certificate is not None:
            _holds(case, instance, found, counts)
    solutions = [one.solution.to_dict() for one in results if one.solution is not None]
    _claim(case, solutions[:1], instance, folder, counts)
    _edit(case, solutions, instance, folder, counts)
    if group == "crowded" and best is not None:
        _certify(case, instance, results, best, counts)
    if group == "groups":
        if number % 3 == 0:
            _cut(case, instance, best, counts)
        if number % 10 == 0 and best is not None:
            _false_claims(case, instance, best)
        certified = [one.certificate.to_dict() for one in results if one.certificate is not None]
        prices = list(certified[-1]["prices"]) if certified else None
        _forge(case, instance, best, prices, counts)


def _optimum(group: str, case: cases.Case, counts: Counter[str]) -> float | None:
    """By tables where they are few; of "groups" by server, held to tables where those are few."""
    instance, options = case.instance, case.options
    if group != "groups" or "all_reduce_bandwidth" in options:
        best = oracle.optimum(instance, options)
        counts["several tables"] += len(oracle.tables(instance)) > 1
        counts["no table"] += best is None
        return best
    best = oracle.optimum_by_server(instance, options)
    counts["no table"] += best is None
    sliced = max(oracle.gpus_each(instance)) > 1
    ways = cases.splits(oracle.replicas(instance), len(instance["free_gpus"]), sliced)
    if ways <= cases.MOST_TABLES["groups"]:
        other = oracle.optimum(instance, options)
        assert (best is None) == (other is None)
        assert best is None or close(best, other, 1e-12)
        counts["by tables"] += 1
    if best is not None:
        theta = oracle.just_below(instance, best, options)
        counts["no linear programme proves"] += oracle.is_fractionally_covered(
            instance, theta, options
        )
    return best


def solved(
    case: cases.Case, instance: Any, method: str, best: float | None, counts: Counter[str]
) -> Any:
    """What a method returns, its events judged; None where it may refuse and does."""
    events: list[Any] = []
    try:
        found = optsched.solve(
            instance, method, options=case.options, gap=case.gap, callback=events.append
        )
    except NotApplicableError:
        assert _may_refuse(method, case), f"{method} refuses"
        counts[f"refused by {method}"] += 1
        return None
    assert not (method == "columns" and "micro_batches" in case.instance["job"])
    for event in events:
        if best is None:
            assert event.incumbent is None, f"{event.incumbent} of no placement"
            continue
        assert event.bound is None or event.bound <= best * (1 + SOLVER_RTOL), (
            f"{event}, not {best}"
        )
        if event.incumbent is not None and not _is_unscaled(case, method, best):
            bottleneck = case.options.get("all_reduce_bandwidth") == "bottleneck"
            slack = CAUTIOUS_RTOL if bottleneck else SOLVER_RTOL
            assert event.incumbent >= best * (1 - slack), f"{event}"
    return found


def _is_unscaled(case: cases.Case, method: str, best: float | None) -> bool:
    """Whether the paper's formulation has times so far above the optimum that digits are lost."""
    if method != "ilp-vertex" or best is None:
        return False
    cluster, stages = case.instance["cluster"], case.instance["job"]["stages"]
    link = cluster["inter_bandwidth"] / cluster["gpus_per_server"]
    sizes = ("input_bytes", "output_bytes", "parameter_bytes", "expert_bytes")
    return max(stage.get(size, 0.0) for stage in stages for size in sizes) / link > 1e4 * best


def _may_refuse(method: str, case: cases.Case) -> bool:
    """Whether models/placement lets this method refuse this instance by name."""
    if method == "repartition":
        return case.options.get("all_reduce_bandwidth") == "bottleneck"
    slow = method in ("columns", "ilp") and not oracle.saves_inside(case.instance)
    return slow or (method == "columns" and "micro_batches" in case.instance["job"])


def judge(case: cases.Case, found: Any, best: float | None, may_stay_open: bool = False) -> None:
    """A placement takes what is said, which is the optimum or above; a proof proves it."""
    method, ended = found.method, found.termination.value
    if best is None or (found.objective is None and method in GREEDY):
        said = "no-solution" if method in GREEDY else "infeasible"
        assert (ended, found.solution, found.objective) == (said, None, None), method
        return
    stays_below(found, best, SOLVER_RTOL)
    assert found.check.feasible, f"{method}: {found.check.violations}"
    table = found.solution.to_dict()["counts"]
    assert oracle.violated_rule(case.instance, table) is None, method
    takes = oracle.alpha(case.instance, table, case.options)
    assert close(found.objective, takes), f"{method}: {found.objective}, it takes {takes}"
    is_open = may_stay_open and ended == "feasible"
    if method in EXACT and ended != "time-limit" and not is_open:
        proves(found, best, max(case.gap, SOLVER_RTOL if found.solver else 0.0))
    elif method in HEURISTICS:
        assert ended in ("feasible", "optimal"), f"{method}: {found}"


def _count(found: Any, best: float | None, counts: Counter[str]) -> None:
    counts["proved by integers"] += found.bound_source == "integer pattern programme"
    if best is None:
        return
    counts[f"lost by {found.method}"] += found.objective is None
    if found.method in EXACT:
        counts[f"proved by {found.method}"] += found.termination is Termination.OPTIMAL
    elif found.objective is not None:
        counts["above the optimum"] += not close(found.objective, best)


def _claim(
    case: cases.Case, solutions: list[dict], instance: Any, folder: Path, counts: Counter[str]
) -> None:
    """The checker takes the value of a table, and no other."""
    for solution in solutions:
        assert accepts(folder, instance, solution)[0]
        others = [solution["objective"] * (1 + 1e-5), solution["objective"] * (1 - 1e-5)]
        variants = [edits.with_parts(case.instance, parts) for parts in (None, 1, 8)]
        variants += [edits.altered(case.instance, {key: x}) for key, x in edits.ABSENT.items()]
        others += [oracle.alpha(one, solution["counts"], case.options) for one in variants]
        for other in others:
            if not close(other, solution["objective"], 3e-6):
                claimed = {**solution, "objective": other}
                assert not accepts(folder, instance, claimed)[0], f"the claim {other} passes"
                counts["other claims"] += 1


def _edit(
    case: cases.Case, solutions: list[dict], instance: Any, folder: Path, counts: Counter[str]
) -> None:
    """The checker and the oracle judge other tables alike: one edit away, and any."""
    servers = len(case.instance["free_gpus"])
    split = [1 / servers] * servers
    tables = [
        [case.rng.multinomial(k, split).tolist() for k in oracle.replicas(case.instance)]
        for _ in range(3)
    ]
    tables += [edits.corrupted(case.rng, one["counts"]) for one in solutions[:3]]
    for table in tables:
        rule = oracle.violated_rule(case.instance, table)
        accepted, objective = accepts(
            folder, instance, solution_file(case.instance, table, case.options)
        )
        assert accepted == (rule is None), f"{table}: the oracle says {rule or 'valid'}"
        if accepted:
            assert close(objective, oracle.alpha(case.instance, table, case.options))
        counts["accepted tables" if accepted else "rejected tables"] += 1


def solution_file(instance: dict, table: list, options: dict[str, Any] | None = None) -> dict:
    head = {"schema": "optsched/placement-solution", "version": 1, "instance": instance["name"]}
    return {**head, "options": options or {}, "counts": table}


def _holds(case: cases.Case, instance: Any, found: Any, counts: Counter[str]) -> None:
    """A method's certificate is the bound it says, by the checker and by hand."""
    document = found.certificate.to_dict()
    assert certificate_violations(instance, found.certificate, case.options) == []
    theta, prices = document["threshold"], document["prices"]
    assert oracle.margin(case.instance, theta, prices, case.options) > 0, f"{document}"
    assert close(theta, found.bound), f"{theta} is certified, {found.bound} said"
    if not case.options:  # verify takes the options' defaults
        assert verify(case.instance, document) == theta
    counts["certificates"] += 1


def _certify(
    case: cases.Case, instance: Any, results: list[Any], best: float, counts: Counter[str]
) -> None:
    """What is certified is no more than the optimum; nothing proves a threshold above it."""
    if case.options:
        best = oracle.optimum(case.instance) or 0.0
    above = [best * (1 + by) or 1e-6 for by in (1e-9, 1e-7, 1e-3)]
    forgeries = [edits.forged(case.rng, case.instance, theta) for theta in above * 20]
    if not case.options:
        strongest = max(results, key=lambda one: one.bound or 0.0)
        found = script("measure_library").best_certificate(instance, strongest, 2.0)
        if found is not None:
            assert found[0] <= best * (1 + 1e-9), f"{found} is certified, {best} the optimum"
            counts["certified"] += 1
            forgeries += [{**found[1], "threshold": theta} for theta in above]
    for certificate in forgeries:
        with pytest.raises(RefusedError):
            verify(case.instance, certificate)
        counts["refused forgeries"] += 1


def _cut(case: cases.Case, instance: Any, best: float | None, counts: Counter[str]) -> None:
    """Cut short anywhere, it says what it knows by then: a placement, if Heavy-Edge has one."""
    if not oracle.saves_inside(case.instance):
        return
    seconds = float(case.rng.choice(CUT))
    found = optsched.solve(
        instance, "columns", options=case.options, gap=case.gap, time_limit=seconds
    )
    if found.termination.value == "time-limit" and found.objective is None:
        assert optsched.solve(instance, "heavy-edge").objective is None
    else:
        judge(case, found, best)
    counts["cut short"] += found.termination.value == "time-limit"


def _false_claims(case: cases.Case, instance: Any, best: float) -> None:
    """A bound, a value or a certificate above the optimum is found out, whoever brings it."""
    solution = optsched.solve(instance, "heavy-edge", options=case.options, bound=False)
    if not solution.objective:  # what is 1% above 0 is no forgery
        return
    value = solution.objective
    above = PatternCertificate(value * 1.01, (1,) * len(case.instance["job"]["stages"]))
    for wrong in (
        {"bound": value * 1.01},
        {"claimed": value * 1.01},
        {"claimed": value * 0.99},
        {"bound": best, "certificate": above},
    ):
        brought = Outcome(solution.solution, Termination.OPTIMAL, **wrong)
        found = optsched.solve(instance, lambda *_, it=brought: it, options=case.options)
        assert found.termination.value == "error", f"{wrong} passes"
        assert len(found.check.violations) == 1, f"{found.check.violations}"


def _forge(
    case: cases.Case,
    instance: Any,
    best: float | None,
    prices: list[int] | None,
    counts: Counter[str],
) -> None:
    """Prices of any kind prove a threshold by the checkers just where they do by hand."""
    times = oracle.pattern_times(case.instance, case.options)
    near = times[-1] if best is None else best
    thetas = [oracle.just_below(case.instance, theta, case.options) for theta in (near, near / 2)]
    thetas += [float(case.rng.choice(times)) * (1 + 1e-6) for _ in range(3)]
    above = [] if best is None else [best * (1 + 1e-9), best * 1.01]
    for theta in thetas + above:
        chosen = edits.forged_prices(case.rng, len(case.instance["job"]["stages"]), prices)
        forgery = PatternCertificate(theta, tuple(chosen))
        proof = oracle.margin(case.instance, theta, chosen, case.options) > 0
        assert not (proof and theta in above), f"the oracle proves {theta} above {best}"
        said = certificate_violations(instance, forgery, case.options)
        assert (said == []) == proof, f"{forgery}: {said}, by hand {proof}"
        counts["prices that prove" if proof else "prices that prove nothing"] += 1
        if case.options:
            continue
        if proof:
            assert verify(case.instance, forgery.to_dict()) == theta
        else:
            with pytest.raises(RefusedError):
                verify(case.instance, forgery.to_dict())


@pytest.mark.parametrize("numbers", batches(nightly=600, default=3, size=100))
def test_dives_repairs_and_few_stages_on_small_jobs(
    numbers: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What large jobs need, on small ones: from a bad start, with no programme of all patterns."""
    counts: Counter[str] = Counter()
    for number in numbers:
        case = cases.draw("groups", seed_of_the_day(), number)
        if not oracle.saves_inside(case.instance):
            continue
        with (
            case_named_on_failure(
                seed_of_the_day(), number, {**case.instance, "options": case.options}
            ),
            monkeypatch.context() as patched,
        ):
            as_large = case.rng.random() < 0.6
            for name, value in LARGE.items() if as_large else ():
                patched.setattr(columns, name, value)
            patched.setattr(columns, "WINDOW_RADIUS", int(case.rng.integers(0, 3)))
            patched.setattr(columns, "FEW_SERVERS", int(case.rng.integers(1, 5)))
            patched.setattr(columns, "RELEASED", int(case.rng.integers(1, 5)))
            patched.setattr(columns, "MAX_ENUMERATED_REPAIR", int(case.rng.choice([0, 20])))
            _start_badly(case, loaded(tmp_path, case.instance), as_large, counts)
    if len(numbers) >= 50:  # shares mean little in fewer
        assert counts["proved by integers"] > 0
        assert counts["open"] <= 0.4 * len(numbers)


LARGE = {"MAX_PATTERNS_WITHOUT_FREE": 0, "MAX_PATTERNS": 0, "FEW_PATTERNS": 4, "MAX_FAILURES": 12}
"""Of `columns`: small jobs are then searched as large ones are."""


def _start_badly(case: cases.Case, instance: Any, as_large: bool, counts: Counter[str]) -> None:
    """From replicas anywhere it goes on to the optimum; as of a large job it may stay open."""
    best = _optimum("groups", case, counts)
    if best is None:
        return
    start = edits.at_random(case.rng, case.instance)

    def between(asked: Any, options: Any, settings: Any) -> Outcome:
        bound = combinatorial_bound(asked, tables_of(asked, options))
        return columns.close_gap(asked, options, settings, start, bound)

    found = optsched.solve(instance, between, options=case.options, gap=case.gap)
    found = replace(found, method="columns")
    judge(case, found, best, may_stay_open=as_large)
    _count(found, best, counts)
    counts["open"] += found.termination.value == "feasible"


@pytest.mark.parametrize("numbers", batches(nightly=20, default=1, size=5))
def test_large_jobs_with_a_placement_known(numbers: range, tmp_path: Path) -> None:
    """No bound is above it, be it found or not; every stage waits as long in it."""
    for number in numbers:
        drawn, table = cases.planted(seed_of_the_day(), number)
        with case_named_on_failure(seed_of_the_day(), number, drawn):
            assert oracle.violated_rule(drawn, table) is None
            for reading in ("own", "bottleneck"):
                options = {"all_reduce_bandwidth": reading}
                known = oracle.alpha(drawn, table, options)
                instance = loaded(tmp_path, drawn)
                found = optsched.solve(instance, "columns", options=options, time_limit=3.0)
                assert found.bound <= known * (1 + ROUNDING), f"{found.bound}, it takes {known}"
                counts = found.solution.to_dict()["counts"]
                assert found.check.feasible
                assert oracle.violated_rule(drawn, counts) is None
                assert close(found.objective, oracle.alpha(drawn, counts, options))
                if found.termination.value == "optimal":
                    proves(found, found.objective, 1e-6)
                    assert found.objective <= known * (1 + 1e-6)


@pytest.mark.parametrize("numbers", batches(nightly=48, default=1, size=12))
def test_exact_methods_agree_where_tables_are_too_many(numbers: range, tmp_path: Path) -> None:
    for number in numbers:
        drawn = cases.larger(seed_of_the_day(), number)
        with case_named_on_failure(seed_of_the_day(), number, drawn):
            instance = loaded(tmp_path, drawn)
            best = optsched.solve(instance, "exact").objective
            for method in ("ilp", "columns", "heavy-edge", "repartition"):
                case = cases.Case("larger", drawn, {}, 1e-6, None)
                judge(case, optsched.solve(instance, method), best)


@pytest.mark.parametrize("numbers", batches(nightly=20, default=1, size=5))
def test_what_must_not_matter(numbers: range, tmp_path: Path) -> None:
    """Of jobs too large for tables: units, the order of servers, empty ones, which end is first.

    One more server with free GPUs, or faster links, make no job slower.
    """
    for number in numbers:
        instance = cases.larger(seed_of_the_day(), number)
        with case_named_on_failure(seed_of_the_day(), number, instance):
            for method in ("columns", "ilp", "exact"):
                _relations(instance, method, tmp_path)


def _relations(instance: dict, method: str, folder: Path) -> None:
    def found(one: dict) -> float:
        result = optsched.solve(loaded(folder, one), method)
        if result.termination.value == "infeasible":
            return inf
        proves(result, result.objective, 1e-6)
        return float(result.objective)

    free = instance["free_gpus"]
    value = found(instance)
    for same, unit in (
        (edits.scaled(instance, 2.0**-7, 2.0**11), 2.0**7),
        (edits.mirrored(instance), 1.0),
        (edits.offered(instance, sorted(free)), 1.0),
        (edits.offered(instance, [0, *free, 0]), 1.0),
    ):
        other = found(same) * unit
        assert other == value or close(other, value, 1e-6), f"{method}: {other}, not {value}"
    faster = {key: 1.25 * x for key, x in instance["cluster"].items() if "bandwidth" in key}
    better = {**instance, "cluster": {**instance["cluster"], **faster}}
    for one in (better, edits.offered(instance, [*free, 1 + max(free) // 2])):
        assert found(one) <= value * (1 + 1e-6), method


@pytest.mark.parametrize("number", range(12))
def test_one_percent_off_is_found(number: int, tmp_path: Path) -> None:
    case = cases.draw("groups", seed_of_the_day(), number)
    best = _optimum("groups", case, Counter())
    instance = loaded(tmp_path, case.instance)
    found = optsched.solve(instance, "columns", options=case.options, gap=case.gap)
    if best is None or found.objective is None or found.bound is None or best == 0:
        return
    judge(case, found, best)
    for wrong in (
        {"objective": found.objective * 1.01},
        {"objective": found.objective * 0.99},
        {"bound": found.bound * 1.01},
        {"bound": found.bound * 0.99},
        {"termination": Termination.INFEASIBLE},
        {"objective": found.objective * 1.01, "bound": found.bound * 1.01},
    ):
        with pytest.raises(AssertionError):
            judge(case, replace(found, **wrong), best)
