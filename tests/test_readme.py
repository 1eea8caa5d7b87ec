"""The README: its example runs, and its tables are what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import optsched

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks("python")
    exec(compile(example, "README.md", "exec"), {})  # our own file
    assert (
        "38.1% above its own bound, 38.1% above the best known; optimal" in capsys.readouterr().out
    )


def test_two_commands_are_marked_for_ci() -> None:
    shell = blocks("sh")
    assert len(shell) == 2
    assert "optsched compare instances/placement" in shell[0]
    assert "pytest" in shell[1]
    for number in (1, 2):
        assert f"<!-- command {number} -->\n```sh\n{shell[number - 1]}```" in README


def test_it_fits_on_a_screen_or_two() -> None:
    assert len(README.splitlines()) <= 100


def test_its_small_table_is_the_gap_tables() -> None:
    page = (ROOT / "docs" / "gaps.md").read_text(encoding="utf-8")
    rows = rows_of("small")
    assert len(rows) >= 5
    for row in rows:
        plan, family, *pairs = (cell.strip(" `") for cell in row.strip("| ").split("|"))
        section = page.partition(f"## plans/{plan}\n")[2].partition("\n## plans/")[0]
        table = section.partition(f"### {family} (")[2].partition("\n### ")[0]
        for method, mean in zip(pairs[::2], pairs[1::2], strict=True):
            assert f"\n| {method} | {mean} |" in table, row


def test_the_summary_is_the_commands() -> None:
    excess = 100 * optsched.compare("placement", ["heavy-edge", "exact"]).groupby("method")[
        "excess"
    ].get_group("heavy-edge")
    stated = re.search(
        r"Over the (\d+) shipped instances Heavy-Edge is ([\d.]+)% above the optimum on average "
        r"and ([\d.]+)% at worst",
        " ".join(RESULTS.split()),
    )
    assert stated is not None
    assert stated.groups() == (str(len(excess)), f"{excess.mean():.2f}", f"{excess.max():.2f}")


def test_the_efficient_sets_summary_is_the_commands() -> None:
    frame = optsched.compare("placement/efficient", ["heavy-edge", "exact"], full=True)
    excess = 100 * frame[frame["method"] == "heavy-edge"]["excess"]
    assert (frame[frame["method"] == "exact"]["termination"] == "optimal").all()
    stated = re.search(
        r"Over the (\d+) plans that reach half of their GPUs' speed or more .* it is "
        r"([\d.]+)% above on average and ([\d.]+)% at worst, all optima proved",
        " ".join(RESULTS.split()),
    )
    assert stated is not None
    assert stated.groups() == (str(len(excess)), f"{excess.mean():.2f}", f"{excess.max():.2f}")


def test_every_command_it_names_exists() -> None:
    from optsched.cli import app

    known = {c.name or c.callback.__name__ for c in app.registered_commands if c.callback}
    known |= {group.name for group in app.registered_groups}
    named = set(re.findall(r"\boptsched ([a-z]+)\b", "\n".join(blocks("text"))))
    assert named
    assert named <= known


def test_its_quick_shell_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they stand there, but for sweeps and reproductions, which take longer."""
    from optsched.cli import execute

    monkeypatch.chdir(tmp_path)
    lines = [re.split(r"  +", line)[0] for line in "".join(blocks("text")).splitlines()]
    quick = [line for line in lines if line.split()[1] not in ("sweep", "reproduce")]
    assert len(quick) >= 3
    for line in quick:
        assert execute(line.split()[1:]) == 0, line


def test_the_rows_of_placements_table_are_the_methods() -> None:
    page = (ROOT / "docs" / "problems" / "placement.md").read_text(encoding="utf-8")
    kinds = "heuristic|exact|model|bound"
    rows = dict(re.findall(rf"^\| `([\w-]+)` \| ({kinds}) \|", page, re.MULTILINE))
    methods = optsched.METHODS["placement"].values()
    assert rows == {method.name: method.kind for method in methods}


def test_the_sizes_are_those_of_the_benchmark() -> None:
    page = (Path(__file__).parents[1] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    measured = dict(re.findall(r"^(\w+) +\+?(\d+) +\d+$", page, re.MULTILINE))
    stated = re.search(
        r"the base takes (\d+) MB, online adds (\d+), plot (\d+), scip (\d+), cluster (\d+) "
        r"and sweep (\d+)",
        " ".join(RESULTS.split()),
    )
    assert stated is not None
    names = ("base", "online", "plot", "scip", "cluster", "sweep")
    assert stated.groups() == tuple(measured[name] for name in names)


def test_the_figures_are_those_of_the_benchmarks() -> None:
    page = (Path(__file__).parents[1] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    table = RESULTS.partition("<!-- figures -->")[2].partition("<!-- /figures -->")[0]
    rows = re.findall(r"^\| .+ \| ([\d.]+)[% s]+\| ([\d.-]+) \| `(.+)` \|$", table, re.MULTILINE)
    assert len(rows) == len(table.strip().splitlines()) - 2
    for median, spread, command in rows:
        section = page.partition(f"`python benchmarks/{command}`")[2].partition("\n## ")[0]
        assert re.search(rf"{re.escape(median)} (s )?\[{re.escape(spread)}\]", section), command


def test_links_lead_somewhere() -> None:
    root = Path(__file__).parents[1]
    for page in (*root.glob("*.md"), *root.glob("*/*.md")):
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_table_two_is_the_verdicts() -> None:
    page = (Path(__file__).parents[1] / "docs" / "reproduction.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| `a-srpt-table2` \|.*$", page, re.MULTILINE)
    ours = dict(re.findall(r"(VGG19|GPT-175B) ([\d.%, ]+) at 10, 25, 50, 100, 200 Gbit/s", row))
    stated = dict(re.findall(r"^\| (VGG19|GPT-175B) \| ([\d.% |]+) \|$", RESULTS, re.MULTILINE))
    assert set(stated) == {"VGG19", "GPT-175B"}
    assert {model: cells.split(" | ") for model, cells in stated.items()} == {
        model: cells.split(", ") for model, cells in ours.items()
    }


def test_figures_six_to_eight_are_the_verdicts() -> None:
    page = (Path(__file__).parents[1] / "docs" / "reproduction.md").read_text(encoding="utf-8")
    stated = " ".join(RESULTS.partition("Online, at the paper's sizes")[2].split())
    for figure, words in (
        (6, "is below every baseline in {} runs"),
        (7, "in {} of Fig. 7"),
        (8, "in {} of Fig. 8"),
    ):
        section = page.partition(f"## a-srpt-fig{figure}:")[2].partition("\n## ")[0]
        ours = re.search(r"below every baseline in (\d+ of \d+) runs", section)
        assert ours is not None
        assert words.format(ours[1]) in stated
    page = (Path(__file__).parents[1] / "docs" / "beyond.md").read_text(encoding="utf-8")
    cells = re.search(r"below the best baseline in (\d+ of \d+) cells", page)
    assert cells is not None
    assert f"in {cells[1]} cells of a map" in stated
    assert "It fails where four jobs in ten are of groups not met before" in stated
    _, _, fails = page.partition("## a-srpt-map:")[2].partition("\n## ")[0].partition("Fails")
    for cell in ("40% (1.5, 2)", "tau 0 (1.5, 2)", "best-fit-last (0.5, 0.8, 1)", "0% (0.5);"):
        assert cell in fails


def test_sts_over_time_is_the_verdicts() -> None:
    page = (Path(__file__).parents[1] / "docs" / "beyond.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| `sts-map` \|.*$", page, re.MULTILINE)
    held = re.findall(r"(\d+ of \d+) cells \(Fig\. \d: ([^)]+)\)", row)
    ours = {words: count for count, words in held}
    stated = " ".join(RESULTS.partition("Over time, against")[2].partition("\n\n")[0].split())
    means = re.findall(r"(?m)^\| rolling \| \w+: rho [^|]+\| sts \| \d+ \| ([\d.]+) \|", RESULTS)
    light, medium, full = (f"{float(value):.0f}%" for value in means)
    assert f"STS costs {light} more at rho 0.2, {medium} at 0.6 and {full} at 1.0" in stated
    for words, claim in (
        ("total cost below the rivals', mean of four", "four rivals' on average in"),
        ("total cost below the rivals', least of four", "32% below each of them in"),
        ("energy below DP's", "67% below DP's in"),
        ("energy below avgDP's", "32% below avgDP's in"),
    ):
        assert f"{claim} {ours[words]}" in stated


def test_table_two_is_the_benchmarks() -> None:
    """Excess to the digit, times to the digits that the RESULTS gives."""
    page = (Path(__file__).parents[1] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    stated = re.findall(
        r"^\| (?:VGG19|GPT-175B), [^|]* \| ([\d.]+%) \(([\d.]+%)\) \| ([\d.]+) ms \| (\d+) ms \|$",
        RESULTS,
        re.MULTILINE,
    )
    assert len(stated) == 2
    for case, (mean, largest, exact, rival) in zip(
        ("VGG19/32", "GPT-175B 32x1"), stated, strict=True
    ):
        rows = {
            method: cells.split()
            for method, cells in re.findall(rf"^{case} +([a-z-]+) +(.*)$", page, re.MULTILINE)
        }
        assert rows["heavy-edge"][3:5] == [mean, largest]
        assert abs(float(rows["exact"][1]) - float(exact)) <= 0.006
        assert abs(float(rows["ilp-vertex"][1]) - float(rival)) <= 0.6


def test_one_version_everywhere() -> None:
    root = Path(__file__).parents[1]
    stated = {
        re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)[1]  # type: ignore[index]
        for name, pattern in (
            ("pyproject.toml", r'^version = "(.+)"$'),
            ("CITATION.cff", r"^version: (.+)$"),
        )
    }
    assert stated == {optsched.__version__}


def test_steps_to_contribute_are_few() -> None:
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (.+)\n\n((?:(?!## ).*\n)+)", text, re.MULTILINE))
    assert {"Add a method", "Add a problem", "Add an importer", "Releases"} <= set(sections)
    for heading, body in sections.items():
        assert len(body.strip().splitlines()) <= 10, heading


def test_the_real_traces_are_those_of_their_page() -> None:
    page = (Path(__file__).parents[1] / "docs" / "real-traces.md").read_text(encoding="utf-8")
    stated = " ".join(RESULTS.partition("On real traces")[2].partition("\n\n")[0].split())
    counts = {
        row[0]: row[1:]
        for row in re.findall(
            r"(?m)^\| a-srpt, knowing (.+?) \| (\d+ of 70) \| \d+ of 70 \| (\d+ of 70) \|$", page
        )
    }
    own, squeezed = counts["the group's mean so far"]
    assert f"in {own} windows with the traces' own times, and in {squeezed}" in stated
    own, squeezed = (count.removesuffix(" of 70") for count in counts["the true length"])
    assert f"with the true lengths, in {own} and {squeezed}." in stated
    whole, no_delay, no_machine = (
        [float(value) for value in re.findall(r"([\d.]+) \[", line)]
        for name in ("a-srpt", "without its delays", "without the virtual machine")
        for line in re.findall(rf"(?m)^\| {name} \|(.*)$", page.partition("taken apart")[2])
    )
    longest = max(a / b for a, b in zip(no_delay, whole, strict=True))
    assert 5 <= longest < 6
    near = [a / b <= 1.1 for a, b in zip(no_machine, whole, strict=True)]
    assert (sum(near), len(near)) == (5, 7)


def test_what_stops_jobs_on_real_traces_is_that_of_the_page() -> None:
    page = (Path(__file__).parents[1] / "docs" / "real-traces.md").read_text(encoding="utf-8")
    stated = " ".join(RESULTS.partition("Policies that stop jobs")[2].partition("\n\n")[0].split())
    part = page.partition("## Policies that stop jobs")[2].partition("\n## ")[0]
    rows = {
        name: [float(cell.split()[0]) for cell in cells.split("|")]
        for name, cells in re.findall(r"(?m)^\| (muri-\d), load 2 \| (.+) \|$", part)
    }
    first = [rows["muri-1"], rows["muri-2"]]
    turns = [row[at] for row in first for at in (0, 1)]
    assert f"{min(turns):.2f} to {max(turns):.2f} of the best baseline's flow" in stated
    held = [row[at] for row in first for at in (4, 5)]
    assert f"with {min(held):.1f} to {max(held):.1f} times the GPU time" in stated
    takes = [row[7] for row in first]
    assert f"takes {min(takes):.0f} to {max(takes):.0f} times" in stated
    third = rows["muri-3"]
    assert f"{third[0]:.1f} to {third[1]:.1f} times. `srpt-preemptive`" in stated
    assert max(third[4:8]) < 1.05  # no placement is slow
    remaining = [row[2] for row in first]
    assert f"{min(remaining):.1f} to {max(remaining):.1f} times on the first two" in stated


def test_what_offers_cost_who_stops_jobs_is_that_of_the_page() -> None:
    page = (Path(__file__).parents[1] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    found = re.findall(r"(?m)^  ([\w-]+), most +.*; total flow ([\d.]+) \[.*-(.*)\] times$", page)
    medians = {name: f"{float(ratio):.1f}" for name, ratio, _ in found}
    stated = " ".join(RESULTS.split())
    told = ", ".join(medians[name] for name in ("las", "srpt-preemptive"))
    assert f"spend {told} and {medians['max-min']} times as long" in stated
    assert f"up to {max(float(most) for *_, most in found):,.0f} times" in stated


def test_the_measured_times_are_those_of_their_page() -> None:
    page = (Path(__file__).parents[1] / "docs" / "measured.md").read_text(encoding="utf-8")
    means = [float(value) for value in re.findall(r"(?m)^\| mean \| ([\d.]+)% \|", page)]
    assert len(means) == 2
    low, high = (round(value) for value in sorted(means))
    assert f"within {low} to {high}% on average" in " ".join(RESULTS.split())


def rows_of(mark: str) -> list[str]:
    """A table's rows, without its head."""
    page = README if mark == "small" else RESULTS
    return (
        page.partition(f"<!-- {mark} -->\n")[2].partition(f"<!-- /{mark} -->")[0].splitlines()[2:]
    )


def test_the_parts_of_selections_are_as_said() -> None:
    page = (Path(__file__).parents[1] / "docs" / "gaps.md").read_text(encoding="utf-8")
    parts: dict[str, dict[str, list[float]]] = {}
    for row in rows_of("parts"):
        assert row in page.splitlines()
        _, family, method, _, *values = row.strip("| ").split(" | ")
        parts.setdefault(family, {})[method] = [float(value) for value in values]
    pairs = [(each["sts"], each["same-jobs"]) for each in parts.values() if "sts" in each]
    assert len(pairs) == len(parts) - 1 > 5
    tardiness, energy = ([sts[i] / same[i] for sts, same in pairs] for i in (1, 2))
    assert (
        f"it pays {min(tardiness):.1f} to {max(tardiness):.1f} times the tardiness and "
        f"{min(energy):.1f} to {max(energy):.1f} times the energy of their optimum"
    ) in " ".join(RESULTS.split())
    section = page.partition("## plans/selection\n")[2].partition("\n## ")[0]
    both = re.findall(r"(?m)^\| (exact|fewest-waiting) \| ([\d.]+ \| [\d.]+ \| [\d.]+) \|", section)
    assert len(both) == 2 * len(pairs)
    assert [x for name, x in both if name == "exact"] == [x for name, x in both if name != "exact"]


def test_every_row_of_the_gap_table_is_defended_in_a_sentence() -> None:
    page = (Path(__file__).parents[1] / "docs" / "gaps.md").read_text(encoding="utf-8")
    rows = [*rows_of("gaps"), *rows_of("parts")]
    families = [row.split(" | ")[:2] for row in rows]
    assert len(families) > 30
    for plan, family in families:
        section = page.partition(f"## plans/{plan.removeprefix('| ')}\n")[2]
        sentence = re.search(rf"(?m)^### {re.escape(family)} \(.*\)\n\n> (.+\.)$", section)
        assert sentence is not None, (plan, family)


def test_so_is_every_row_with_numbers_of_the_other_tables() -> None:
    page = (Path(__file__).parents[1] / "docs" / "gaps.md").read_text(encoding="utf-8")
    given = page.partition("## Rows of the other tables\n")[2]
    defended = set(re.findall(r"(?m)^\| (.+) \| .+\. \|$", given))
    marked = {row for mark in ("gaps", "parts") for row in rows_of(mark)}
    rows = re.findall(r"(?m)^\| [^ |].* \|$(?!\n\|---)", RESULTS)
    numbers = [row for row in rows if re.search(r"\| -?\d[\d.,]*%? ?(?:s |ms )?[|(]", row)]
    assert {row.strip("| ").split(" | ")[0] for row in numbers if row not in marked} == defended
