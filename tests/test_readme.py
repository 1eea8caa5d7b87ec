"""The README: its example runs, and its tables are what the commands print."""

import re
from pathlib import Path

import pytest
from processes import ROOT

import optsched


def read(name: str) -> str:
    """A file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


README, RESULTS = read("README.md"), read("docs/results.md")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks("python")
    exec(compile(example, "README.md", "exec"), {})  # our own file
    said = "38.1% above its own bound, 38.1% above the best known; optimal"
    assert said in capsys.readouterr().out


def test_two_commands_are_marked_for_ci() -> None:
    shell = blocks("sh")
    assert len(shell) == 2
    assert "optsched compare instances/placement" in shell[0]
    assert "pytest" in shell[1]
    for number in (1, 2):
        assert f"<!-- command {number} -->\n```sh\n{shell[number - 1]}```" in README


def rows_of(mark: str, page: str = RESULTS) -> list[str]:
    table = page.partition(f"<!-- {mark} -->\n")[2].partition(f"<!-- /{mark} -->")[0]
    return table.splitlines()[2:]


def test_its_small_table_is_the_gap_tables() -> None:
    page, rows = read("docs/gaps.md"), rows_of("small", README)
    assert len(rows) >= 5
    for row in rows:
        plan, family, *pairs = (cell.strip(" `") for cell in row.strip("| ").split("|"))
        section = page.partition(f"## plans/{plan}\n")[2].partition("\n## plans/")[0]
        table = section.partition(f"### {family} (")[2].partition("\n### ")[0]
        for method, mean in zip(pairs[::2], pairs[1::2], strict=True):
            assert f"\n| {method} | {mean} " in table, row


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (
            ["placement"],
            r"Over the (\d+) plans Heavy-Edge is ([\d.]+)% above the optimum on average and "
            r"([\d.]+)% at worst. First Fit, .*? is ([\d.]+)% above on average",
        ),
        (
            ["placement", "placement/efficient"],
            r"Over all (\d+) plans that reach half of their GPUs' speed or more .*? it is "
            r"([\d.]+)% above on average and ([\d.]+)% at worst, all optima proved; First Fit is "
            r"([\d.]+)% above",
        ),
        (
            ["placement/communication-bound"],
            r"Over the (\d+) stress tests .*? it is ([\d.]+)% above on average and ([\d.]+)% at "
            r"worst, where First Fit is ([\d.]+)% above",
        ),
    ],
)
def test_the_summary_is_the_commands(names: list[str], sentence: str) -> None:
    frame = optsched.compare(names, ["heavy-edge", "first-fit", "exact"], full=True)
    greedy, first_fit = (
        100 * frame[frame["method"] == method]["excess"] for method in ("heavy-edge", "first-fit")
    )
    assert (frame[frame["method"] == "exact"]["termination"] == "optimal").all()
    stated = re.search(sentence, " ".join(RESULTS.split()))
    figures = [f"{value:.2f}" for value in (greedy.mean(), greedy.max(), first_fit.mean())]
    assert list(stated.groups()) == [str(len(greedy)), *figures]


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
    kinds, page = "heuristic|exact|model|bound", read("docs/problems/placement.md")
    rows = dict(re.findall(rf"^\| `([\w-]+)` \| ({kinds}) \|", page, re.MULTILINE))
    methods = optsched.METHODS["placement"].values()
    assert rows == {method.name: method.kind for method in methods}


def test_the_figures_are_those_of_the_benchmarks() -> None:
    pages = sorted((ROOT / "docs" / "benchmarks").glob("*.md"))
    page = "".join(path.read_text(encoding="utf-8") for path in pages)
    rows = rows_of("figures")
    assert rows
    for row in rows:
        cells = re.fullmatch(r"\| .+ \| ([\d.]+)[% s]+\| ([\d.-]+) \| `(.+)` \|", row)
        assert cells is not None, row
        median, spread, command = cells.groups()
        section = page.partition(f"`python benchmarks/{command}`")[2].partition("\n## ")[0]
        assert re.search(rf"{re.escape(median)} (s )?\[{re.escape(spread)}\]", section), command


def test_the_claims_of_results_are_the_verdicts() -> None:
    page = read("docs/reproduction.md")
    rows = re.findall(r"^\| ([\w-]+, [\w. ]+): .* \| (\d+ of \d+) \| ", RESULTS, re.MULTILINE)
    assert len(rows) > 10
    for reference, count in rows:
        section = page.partition(f"\n## {reference}\n")[2].partition("\n## ")[0]
        assert f" | {count} |" in section, reference


def test_one_version_everywhere() -> None:
    assert f'\nversion = "{optsched.__version__}"\n' in read("pyproject.toml")
    assert f"\nversion: {optsched.__version__}\n" in read("CITATION.cff")


def test_every_row_of_the_gap_table_is_defended_in_a_sentence() -> None:
    families = [row.split(" | ")[:2] for row in (*rows_of("gaps"), *rows_of("parts"))]
    assert len(families) > 30
    for plan, family in families:
        section = read("docs/gaps.md").partition(f"## plans/{plan.removeprefix('| ')}\n")[2]
        sentence = re.search(rf"(?m)^### {re.escape(family)} \(.*\)\n\n> (.+\.)$", section)
        assert sentence is not None, (plan, family)
