"""Commands that solve, compare, check and explain."""

import warnings
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from optsched import interrupts
from optsched.backends.pyomo_solvers import require_solver
from optsched.cli import show
from optsched.cli.exit_codes import DONE, FAILED, INFEASIBLE, INTERRUPTED, NO_SOLUTION
from optsched.cli.settings import (
    Gap,
    InstanceFile,
    Iterations,
    Json,
    Options,
    Seed,
    Solver,
    Threads,
    TimeLimit,
    complete_method,
    print_json,
    read_options,
)
from optsched.deadline import seconds_stopped
from optsched.errors import InputError, MethodWarning, one_line
from optsched.files import write_document
from optsched.io.outputs import require_file, require_outputs
from optsched.io.writing import STANDARD_OUTPUT
from optsched.library import files_read, load
from optsched.library.best_known import require_best_known, update
from optsched.methods import check as check_solution
from optsched.methods import problem_for
from optsched.methods import solve as solve_instance
from optsched.problems import METHODS, PROBLEMS
from optsched.result import Termination
from optsched.verbs.comparing import compare_each
from optsched.verbs.explaining import conflict_of
from optsched.verbs.explaining import explain as explain_solution


def solve(
    file: InstanceFile,
    method: Annotated[
        str | None,
        Option(
            metavar="M",
            autocompletion=complete_method,
            help="Name in `optsched methods`, or module:name. [default: exact]",
        ),
    ] = None,
    solver: Solver = "highs",
    time_limit: TimeLimit = None,
    iterations: Iterations = None,
    gap: Gap = 1e-6,
    threads: Threads = 1,
    seed: Seed = 0,
    option: Options = None,
    verbose: Annotated[bool, Option("--verbose", help="Print new incumbents and bounds.")] = False,
    as_json: Json = False,
    output: Annotated[str | None, Option("-o", metavar="SOLUTION", help="Output file.")] = None,
) -> int:
    """Solve an instance, check the solution and print the result.

    Status: optimal, feasible, time-limit (a limit was reached), no-solution (no solution and no
    infeasibility proof), infeasible (proved), interrupted or error. Exit code: 0 with a solution, 1
    infeasible, 3 without a solution, 4 after an error.
    """
    if as_json:
        require_file(output, "standard output is used by --json")
    require_outputs([output], files_read(file))
    require_solver(solver)
    result = solve_instance(
        file,
        method,
        options=read_options(option),
        time_limit=time_limit,
        iterations=iterations,
        gap=gap,
        threads=threads,
        seed=seed,
        solver=solver,
        callback=show.note if verbose else None,
    )
    if output is not None and result.solution is not None:
        write_document(output, result.solution.to_dict())
    if as_json:
        conflict = conflict_of(result)
        extra = {} if conflict is None else {"conflict": conflict.to_dict()}
        print_json({**result.to_dict(), **extra})
    elif output != STANDARD_OUTPUT:
        show.result(result)
        show.note_timings()
    return INTERRUPTED if interrupts.received() else _exit_code(result)


def compare(
    paths: Annotated[list[str], Argument(metavar="PATH...", help="Instances or folders.")],
    methods: Annotated[
        str | None, Option(metavar="A,B", help="Methods. [default: the heuristics and exact]")
    ] = None,
    time_limit: TimeLimit = 10.0,
    iterations: Iterations = None,
    gap: Gap = 1e-6,
    threads: Threads = 1,
    seed: Seed = 0,
    solver: Solver = "highs",
    option: Options = None,
    as_json: Json = False,
    csv: Annotated[str | None, Option(metavar="FILE", help="Write the table as CSV.")] = None,
    update_best: Annotated[
        str | None, Option(metavar="FILE", help="Add better values and bounds to this JSON file.")
    ] = None,
) -> int:
    """Print the gap table: how far each method is from the best proven bound."""
    if as_json and csv is not None:
        raise InputError("compare", "", "--json and --csv", "one of them")
    names = None
    if methods is not None:
        paths, extra_methods = _without_methods(paths)
        names = [name.strip() for name in (*methods.split(","), *extra_methods)]
    require_file(update_best, "it is read and extended")
    require_outputs([csv, update_best], (f for path in paths for f in files_read(path)))
    if update_best is not None:
        require_best_known(update_best)
    require_solver(solver)
    groups = compare_each(
        paths,
        names,
        time_limit=time_limit,
        iterations=iterations,
        gap=gap,
        threads=threads,
        seed=seed,
        solver=solver,
        options=read_options(option),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always", MethodWarning)
        warnings.showwarning = lambda message, *_: show.note(f"optsched: {one_line(str(message))}")
        results, interrupted = show.table(groups, quiet=as_json or csv == STANDARD_OUTPUT)
    show.note_timings(seconds_stopped())
    rows = [result.to_dict(with_solution=False) for result in results]
    if as_json:
        print_json(rows)
    if csv is not None:
        show.write_csv(csv, rows)
    if update_best is not None:
        changed = update(update_best, results)
        show.note(f"{update_best}: {changed} entries added or improved")
    if interrupted:
        return INTERRUPTED
    return DONE if all(_is_valid(r) for r in results) else INFEASIBLE


def _without_methods(paths: list[str]) -> tuple[list[str], list[str]]:
    """Split paths into instances and methods, for ``--methods heavy-edge exact``."""
    known = {name for methods in METHODS.values() for name in methods}
    extra_methods = [path for path in paths if path in known and not Path(path).exists()]
    instances = [path for path in paths if path not in extra_methods]
    if not instances:
        raise InputError("compare", "PATH", "none", "files, folders or shipped names")
    return instances, extra_methods


def check(
    file: InstanceFile,
    solution: Annotated[str, Argument(metavar="SOLUTION", help="Solution or run file.")],
    as_json: Json = False,
) -> int:
    """Check a solution or run file with code that is independent of the methods."""
    instance = load(file)
    report = check_solution(instance, solution)
    if as_json:
        print_json(report.to_dict())
    else:
        show.report(report, problem_for(instance))
    return DONE if report.feasible else INFEASIBLE


def explain(
    file: InstanceFile,
    solution: Annotated[
        str | None,
        Argument(metavar="SOLUTION", help="Solution file. [default: computed by --method]"),
    ] = None,
    method: Annotated[str | None, Option(metavar="M", help="Method that computes it.")] = None,
    option: Options = None,
    as_json: Json = False,
) -> int:
    """Break the objective down, or explain why the instance is infeasible."""
    if solution is not None:
        instance = load(file)
        report = check_solution(instance, solution, read_options(option) or None)
        if not report.feasible:
            show.report(report, problem_for(instance))
            return INFEASIBLE
    breakdown: Any = explain_solution(
        file, solution, method=method, options=read_options(option) or None
    )
    if as_json:
        print_json(breakdown.to_dict())
    else:
        show.breakdown(breakdown)
    return DONE


def methods(as_json: Json = False) -> int:
    """List problems and their methods."""
    rows = [
        {
            "problem": problem.name,
            "method": method.name,
            "kind": method.kind,
            "model": method.build is not None,
            "default": method.name in problem.defaults,
            "summary": method.summary,
        }
        for problem in PROBLEMS.values()
        for method in problem.methods
    ]
    if as_json:
        print_json(rows)
    else:
        show.methods(rows)
    return DONE


def _is_valid(result: Any) -> bool:
    return bool(result.only_bound if result.check is None else result.check.feasible)


def _exit_code(result: Any) -> int:
    if result.termination is Termination.INFEASIBLE:
        return INFEASIBLE
    if result.termination is Termination.ERROR:
        return FAILED
    done = result.solution is not None or result.only_bound
    return DONE if done else NO_SOLUTION
