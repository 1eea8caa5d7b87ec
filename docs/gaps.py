"""Write docs/gaps.md, and the summary's tables and picture: `python docs/gaps.py [--only ...]`.

Sweeps each problem's plan into a store of its own and puts its tables on the page; docs/results.md
gets the line of each family's first method, the paper's heuristic, and of First Fit beside it. With
`--only placement,online` the other sections keep their tables, with `--only ""` all. What makes a
row worth believing is in docs/gaps.toml, a sentence a family. Everything but the time ratios is
the same on every machine.
"""

import argparse
import re
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

from gap_picture import write_picture

from optsched.experiments import gap_table, read_plan, sweep
from optsched.experiments.report.table import FamilyTable
from optsched.experiments.report.table_formats import as_markdown, cells, headings
from optsched.library import shipped_plans
from optsched.problems import PROBLEMS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "gaps.md"
SUMMARY = ROOT / "docs" / "results.md"
"""Where the summaries stand, between marks."""
README = ROOT / "README.md"
SMALL = (
    ("placement", "efficient, 16 GPUs", "heavy-edge", "first-fit"),
    ("placement", "efficient, 32 GPUs", "heavy-edge", "first-fit"),
    ("placement", "efficient, 64 GPUs", "heavy-edge", "first-fit"),
    ("placement", "efficient, 64 GPUs", "heavy-edge", "repartition"),
    ("makespan", "160 x 20, strong", "sjf-bco", "local-search"),
    ("speed-profile", "AlexNet: late", "hull", "dichotomy"),
    ("rolling", "light: rho 0.2, 6 nodes", "sts", "price"),
    ("rolling", "saturated: rho 1.0, 6 nodes", "sts", "price"),
    ("online", "load 0.8, 40 servers", "a-srpt", "spwf-consolidated"),
)
"""The README's rows: plan, family, a paper's method, and one to compare it with."""
BASELINE = {"placement": ("heavy-edge", "first-fit")}
"""By plan the paper's method and the simplest one, which the summary shows beside it."""
PICTURE = ROOT / "docs" / "gaps.svg"
DEFENCE = ROOT / "docs" / "gaps.toml"
HEAD = """# Gap tables

Written by `python docs/gaps.py`; do not edit. One section a shipped plan, as `optsched sweep` and
`optsched table` give it. Excess is objective / best proven bound - 1; the interval is of its mean,
by bootstrap over the instances; only the time ratios depend on the machine. Draws of a generator
that give the same instance count once: "18 of 20 draws" are 18 different ones. The last column
counts the checked runs, and the others by how they ended: `no-solution` (a heuristic ended without
one), `infeasible` (proved), `time-limit`, failed. An excess marked "not comparable" belongs to a
method that is free of a rule of the problem, such as preemption online. Tables of selections show
the parts of the cost instead of the excess, as means over instances: jobs left waiting; expected
tardiness of the others; the nodes' energy until their first job ends, which (P1.1) pays; and until
their last one does, which (P1.1) does not see, so that equal optima may differ in it. Running more
jobs uses more energy. The excess is in `optsched table --csv`. Where a heuristic leaves jobs
waiting it is nearly all rho = 10 times the worst lateness that each of them could have, (20), over
an optimum that postpones no job.
`exact` is the optimum of (P1.1), `fewest-waiting` runs as many jobs as can and then costs least,
`same-jobs` is the optimum of the jobs that `sts` runs; each is proved, of its own problem. Tables
of packings show idle GPUs beside the best bound, which is often near 0: an excess says little then.
"""
OTHERS = """## Rows of the other tables

Why the rows of the other tables in docs/results.md may be believed.

"""
PAIRS = "How often the first of two methods has the lower objective, an equal one, the higher one."
PLANS = [n for n in (name.partition("/")[2] for name in shipped_plans()) if n in PROBLEMS]
"""One a problem; plans/small is a first try at all of them."""
IDLE = "idle GPUs"
EXCESS = ("mean excess %", "95% interval", "largest %", "proved %")
OF_PARTS = ("sts", "exact", "same-jobs", "fgd", "random", "offline")
"""Methods whose parts are summed up: the papers' heuristics, and what they are compared with."""


def main() -> None:
    """Sweep the plans, write the page, and put its summary where it stands too."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PLANS))
    kept = sections(PAGE.read_text(encoding="utf-8")) if PAGE.is_file() else {}
    for name in filter(None, parser.parse_args().only.split(",")):
        kept[f"plans/{name}"] = section(f"plans/{name}")
    sentences = tomllib.loads(DEFENCE.read_text(encoding="utf-8"))
    ordered = [
        explained(kept[name], sentences.get(name.partition("/")[2], {}))
        for name in sorted(shipped_plans(), key=place)
        if name in kept
    ]
    others = [f"- *{row}*. {said}\n" for row, said in sentences["readme"].items()]
    PAGE.write_text("\n".join([HEAD, *ordered, OTHERS + "".join(others)]), encoding="utf-8")
    summaries: dict[str, list[str]] = {"gaps": [], "parts": [], "idle": []}
    for text in ordered:
        head, *lines = summary_of(text)
        found = summaries["gaps" if EXCESS[0] in head else "idle" if IDLE in head else "parts"]
        found += lines[1:] if found else [head, *lines]
    write_picture(summaries["gaps"][2:], PICTURE)
    put_into(SUMMARY, summaries)
    put_into(README, {"small": small(kept), "baseline": [baseline(kept["plans/placement"])]})


def section(plan: str) -> str:
    """A plan's section: command, hash, summary, full tables."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "results.sqlite"
        standing = sweep(plan, store)
        tables = gap_table(store)
    print(f"{plan}: {standing.run} runs, {standing.failed} failed", flush=True)
    lines = "\n".join([*head(tables[0]), *(line for each in tables for line in summary(each))])
    return (
        f"## {plan}\n\n{standing.total} runs; plan's sha256 {read_plan(plan).sha256[:12]}\n\n"
        f"```sh\noptsched sweep {plan} --store results.sqlite\noptsched table results.sqlite\n"
        f"```\n\n{lines}\n\n{as_markdown(tables)}"
    )


def explained(text: str, sentences: Mapping[str, str]) -> str:
    """A section with a sentence or two before each table, in place of those it had."""
    blocks = [block for block in text.rstrip("\n").split("\n\n") if not block.startswith("> ")]
    explained, said = list[str](), ""
    for block in blocks:
        family = re.fullmatch(r"### (.*) \([a-z-]+, \d+ (?:instance|draw).*\)", block)
        if family is not None:
            said = sentences[family[1]]
        elif block.startswith("| plan |"):
            explained.append(f"> {summed_up(text)}")
        elif block.startswith("| pair |"):
            explained.append(f"> {PAIRS}")
        elif block.startswith("| method |"):
            explained.append(f"> {said}\n> {read_off(block)}")
        explained.append(block)
    return "\n\n".join(explained) + "\n"


def summed_up(text: str) -> str:
    """What a section's summary shows, and for placement what First Fit says of Heavy-Edge."""
    head = summary_of(text)[0]
    if IDLE in head:
        return (
            "GPUs left idle under FGD's policy, under a random one, and in the best packing that"
            " may refuse tasks, beside the least number that any packing leaves idle."
        )
    if EXCESS[0] not in head:
        return (
            "Parts of the cost by family: of STS, of the optimum, and of the optimum of its jobs."
        )
    first = "The first method of each family, the paper's heuristic where the family runs it."
    plan = text.partition("\n")[0].partition("/")[2]
    return f"{first} {baseline(text)}" if plan in BASELINE else first


def baseline(text: str) -> str:
    """In how many families the simplest method has the lower mean, and what follows."""
    method, simple = BASELINE[text.partition("\n")[0].partition("/")[2]]
    means = [means_of(family) for family in text.split("\n### ")[1:]]
    pairs = [(mean[method], mean[simple]) for mean in means]
    lower, higher = sum(b < a for a, b in pairs), sum(b > a for a, b in pairs)
    verdict = "no nearer" if lower >= higher else "nearer"
    return (
        f"`{simple}`, which looks at nothing but room, has a lower mean than `{method}` in {lower} "
        f"of {len(pairs)} families of placements and a higher one in {higher}: by this count "
        f"`{method}` is {verdict} to the optimum than the simplest method."
    )


def means_of(text: str) -> dict[str, float]:
    """The first figure of each method in a family's table: the mean excess, or jobs waiting."""
    return {m: float(mean) for m, mean in re.findall(r"(?m)^\| ([\w-]+) \| ([\d.]+) \|", text)}


def read_off(table: str) -> str:
    """The first figures of a family's first method and of the best other one."""
    means = means_of(table)
    first, *others = means
    best = min(others, key=means.__getitem__)
    paper, other = means[first], means[best]
    if IDLE in table:
        return f"On average `{first}` leaves {paper:.2f} GPUs idle, `{best}` {other:.2f}."
    if "jobs waiting" in table:
        return f"On average `{first}` leaves {paper:.2f} jobs waiting, `{best}` {other:.2f}."
    return f"On average `{first}` is {paper:.2f}% above the best bound, `{best}` {other:.2f}%."


def head(table: FamilyTable) -> list[str]:
    """The summary's first two lines."""
    shown = headings(table)[1:-3] if PROBLEMS[table.problem].parts else EXCESS
    names = ("plan", "family", "method", "instances", *shown)
    return [f"| {' | '.join(names)} |", f"|---|---|---|{'---:|' * (1 + len(shown))}"]


def summary(table: FamilyTable) -> list[str]:
    """The row of a family's first method that has a gap, and of the plan's baseline.

    Of parts, a row a method of `OF_PARTS`.
    """
    start, every = (table.plan, table.family), [cells(table, line) for line in table.lines]
    instances = str(table.instances)
    if table.draws > table.instances:
        instances += f" of {table.draws} draws"
    if PROBLEMS[table.problem].parts:
        shown = [row for row in every if row[0] in OF_PARTS] or every[:1]
        rows = [(row[0], instances, *row[1:-3]) for row in shown]
    else:
        at = next((i for i, line in enumerate(table.lines) if line.mean is not None), 0)
        beside = BASELINE.get(table.problem, ())[1:]
        shown = [every[at], *(row for row in every[at + 1 :] if row[0] in beside)]
        rows = [(row[0], instances, row[1], row[2], row[4], row[5]) for row in shown]
    return [f"| {' | '.join((*start, *row))} |" for row in rows]


def place(plan: str) -> tuple[int, str]:
    """Plans named after a problem first, as the package lists the problems."""
    names, name = list(PROBLEMS), plan.partition("/")[2]
    return (names.index(name) if name in names else len(names)), name


def summary_of(text: str) -> list[str]:
    """The summary of a section, its head included."""
    return text[text.index("| plan |") :].partition("\n\n")[0].splitlines()


def small(kept: Mapping[str, str]) -> list[str]:
    """The README's table: the mean excesses of two methods a row."""
    lines = [
        "| problem | instances | paper's method | excess % | beside it | excess % |",
        "|---|---|---|---:|---|---:|",
    ]
    for plan, family, *pair in SMALL:
        means = means_of(
            kept[f"plans/{plan}"].partition(f"\n### {family} (")[2].partition("\n### ")[0]
        )
        found = " | ".join(f"`{method}` | {means[method]:.2f}" for method in pair)
        lines.append(f"| {plan} | {family} | {found} |")
    return lines


def sections(page: str) -> dict[str, str]:
    """The page's sections by plan."""
    parts = re.split(r"(?m)^(?=## plans/)", page.partition(OTHERS.partition("\n")[0])[0])[1:]
    return {part[3:].splitlines()[0].strip(): part.rstrip("\n") + "\n" for part in parts}


def put_into(page: Path, summaries: Mapping[str, list[str]]) -> None:
    """Replace what stands between a page's marks."""
    text = page.read_text(encoding="utf-8")
    for name, lines in summaries.items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        assert marked.search(text), f"{page} has lost its marks <!-- {name} -->, <!-- /{name} -->"
        table = "".join(f"{line}\n" for line in lines)
        text = marked.sub(lambda m, table=table: f"{m[1]}{table}{m[2]}", text, count=1)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
