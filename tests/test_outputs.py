"""What commands write: never over what they read, whole or not at all, compressed, or on "-"."""

import csv
import gzip
import io
import json
import math
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import printed, refusal, stderr_of
from processes import python

import optsched
from optsched.experiments.plans.plan import read_plan
from optsched.experiments.plans.units import expand
from optsched.experiments.store.store import Store
from optsched.files import json_text, read_document
from optsched.generators.online import generate_workload
from optsched.io.numerals import parse_integer, parse_real
from optsched.io.reading import csv_rows
from optsched.io.writing import csv_text, write_text
from optsched.library import find, shipped_folder
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.workload import Workload
from optsched.online.data.workload_files import read_workload, write_workload
from optsched.result import TracePoint

SHIPPED = shipped_folder()


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(find("placement/fig2")[0], "in.json")
    shutil.copytree(SHIPPED / "online" / "small-400x40", "w")
    Path("trace.csv").write_text(
        "job_id,user,num_gpu,submit_time,iterations,model_name,duration\na,u,1,0,10,m,100\n"
    )


def refused(line: str, *more: object) -> str:
    """The one line of a refusal, which leaves every file as it was."""
    before = contents()
    said = refusal(line, *more)
    assert contents() == before
    return said


def contents() -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(Path().rglob("*")) if p.is_file()}


# --- nothing is overwritten


OVER = """
solve in.json --method heavy-edge -o in.json
compare in.json --methods heavy-edge --csv in.json
compare . --methods heavy-edge --csv in.json
compare in.json --update-best ./in.json
compare in.json --csv x --update-best x
export in.json --method ilp --format lp -o in.json
simulate w --policy spjf --records w/workload.csv
simulate w --policy spjf --records w/catalogue.json
import chronus trace.csv -o trace.csv
import chronus trace.csv -o catalogue.json
generate workload --jobs 5 --like w/workload.csv -o w
generate rolling --trace t.json --nodes 3 --name t -o .
sweep in.json --store in.json
"""


@pytest.mark.parametrize("command", OVER.strip().splitlines())
def test_no_output_is_an_input_or_another_output(command: str) -> None:
    Path("t.json").write_text("submit_time\n0\n1\n")
    assert re.search("a file that is read|a path used for two outputs", refused(command))


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_links_are_seen_through(link: Any) -> None:
    link("in.json", "link.json")
    refused("solve in.json --method heavy-edge -o link.json")
    refused("solve link.json --method heavy-edge -o in.json")


@pytest.mark.parametrize("held", ["nonsense", '{"fig2": 3}'])
def test_best_known_is_read_before_the_work(held: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr("optsched.verbs.comparing.solve", work)
    Path("best.json").write_text(held)
    refused("compare in.json --methods heavy-edge --update-best best.json")


# --- standard output


def test_a_dash_is_standard_output() -> None:
    solution = json.loads(printed("solve in.json --method heavy-edge -o -"))
    assert solution["schema"] == "optsched/placement-solution"
    table = printed("compare in.json --methods heavy-edge --csv -")
    assert [row["method"] for row in csv.DictReader(io.StringIO(table))] == ["heavy-edge"]
    assert len(printed("simulate w --policy spjf --records -").splitlines()) == 401
    assert not Path("-").exists()


NO_DASH = """
solve in.json --method heavy-edge --json -o -
compare in.json --update-best -
import chronus trace.csv -o -
generate selection -o -
simulate w --policy spjf --json --records -
roll rolling/three-by-hand --records -
sweep plans/small --store -
reproduce a-srpt-table1 -o -
instances copy -
"""


@pytest.mark.parametrize("command", NO_DASH.strip().splitlines())
def test_a_dash_that_cannot_be_is_refused(command: str) -> None:
    assert "standard output" in refused(command)


# --- gzip


def test_gz_is_written_as_gz_and_the_same_twice() -> None:
    made, _ = generate_workload(50, OnlineCluster.of(4), seed=1)
    for name in ("a.csv.gz", "b.csv.gz"):
        write_workload(name, made)
    assert Path("a.csv.gz").read_bytes() == Path("b.csv.gz").read_bytes()
    write_workload("plain.csv", made)
    assert gzip.decompress(Path("a.csv.gz").read_bytes()) == Path("plain.csv").read_bytes()
    assert read_workload("a.csv.gz").job_id.tolist() == made.job_id.tolist()


def test_a_compressed_instance_is_read() -> None:
    Path("in.json.gz").write_bytes(gzip.compress(Path("in.json").read_bytes()))
    assert read_document("in.json.gz") == read_document("in.json")
    printed("solve in.json.gz --method heavy-edge -o out.json.gz")
    printed("check in.json out.json.gz")


BROKEN_GZ = {
    "truncated": lambda raw: raw[:-9],
    "a bit flipped": lambda raw: raw[:40] + bytes([raw[40] ^ 255]) + raw[41:],
    "a wrong sum": lambda raw: raw[:-8] + b"\0\0\0\0" + raw[-4:],
    "no gzip": lambda raw: b"job_id",
    "garbage behind": lambda raw: raw + b"garbage",
}


@pytest.mark.parametrize("how", BROKEN_GZ)
def test_a_damaged_gz_is_one_line(how: str) -> None:
    for name, command in {
        "w/workload.csv": "simulate w/workload.csv.gz --policy spjf",
        "trace.csv": "import chronus trace.csv.gz -o x.csv",
        "in.json": "solve in.json.gz",
    }.items():
        raw = gzip.compress(Path(name).read_bytes())
        Path(f"{name}.gz").write_bytes(BROKEN_GZ[how](raw))
        line = refused(command)  # a changed bit may be found in the text, before the sum
        assert "a damaged .gz" in line or how == "a bit flipped"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_bombs_and_endless_files_are_refused() -> None:
    bomb = gzip.compress(b"job_id,user,num_gpu,submit_time,duration\n" + b"\n" * 11_000_000)
    assert len(bomb) < 100_000
    Path("bomb.csv.gz").write_bytes(bomb)
    assert "expands more than 100 times" in refused("import chronus bomb.csv.gz -o x.csv")
    header = Path("w/workload.csv").read_text().splitlines()[0]
    Path("wide.csv").write_text("," * 900_000)
    Path("open.csv").write_text(f'{header}\n"\n' + '","\n' * 9)
    command = "simulate --policy spjf --cluster w/cluster.json --catalogue w/catalogue.json"
    assert "a line too long" in refused(command, "/dev/zero")
    assert "at most 1000" in refused(command, "wide.csv")
    assert "line 2: found an unclosed quote" in refused(command, "open.csv")


# --- cells and numbers


NASTY = ("=1+1", "+1+cmd", "-2+3", "@SUM(A1)", "\tx", "\rx", "'=1", "''=1", "'", "=", "-")
HARMLESS = ("", "a", "-1.5", "+3e4", "a=b", "'a", "1_0", "''")


@pytest.mark.parametrize("text", [*NASTY, *HARMLESS])
def test_cells_that_a_spreadsheet_runs_are_neutralised_and_come_back(text: str) -> None:
    written = csv_text([text, "z"], [(text, -1.5)])
    assert (written[0] in "'\"") == (text in NASTY) or text.startswith("'")
    if set(text) & set("\r\n"):  # no cell of ours has a line break
        return
    write_text("t.csv", written)
    with open("t.csv", newline="", encoding="utf-8") as stream:
        head, row = csv.reader(stream)
    assert text not in NASTY or not {head[0][0], row[0][0]} & set("=+-@\t\r")
    assert row[1] == "-1.5"
    assert [cells for _, cells in csv_rows("t.csv")] == [[text, "z"], [text, "-1.5"]]


def test_a_workload_of_formulas_round_trips() -> None:
    names = ["=cmd", "+a", "-b", "@c", "'=d", "e"]
    numbers = {"submit_time": range(6), "gpus": [1] * 6, "iterations": [1.5] * 6}
    made = Workload.of(**numbers, model=names, job_id=names)
    write_workload("x.csv", made)
    assert re.search(r"^[=+@-]", Path("x.csv").read_text(), re.M) is None
    back = read_workload("x.csv")
    assert back.job_id.tolist() == names
    assert back.model.text() == names


def test_only_plain_decimals_are_numbers() -> None:
    for text in ("1_0", "١", "1_0.5", "0x1", "nan", "inf", "1e", "1e400", " 1", "1 ", "", "1\n"):
        assert parse_real(text) is None
        assert parse_integer(text) is None
    assert [parse_real(t) for t in ("1", "-1.5e3", "+.5", "2.")] == [1, -1500, 0.5, 2]
    assert [parse_integer(t) for t in ("7", "-7", "1.0", "1e3")] == [7, -7, None, None]


NO_NUMBERS = """
solve in.json --seed 1_0
solve in.json --gap 0_0
solve in.json --time-limit ١
solve in.json --option backward_overlap=0_1
solve makespan/fig2 --option kappa=1_0
roll rolling/three-by-hand --policy price --option rounds=1_0
generate makespan --server-sizes 1_0 -o x
generate placement --gpus 1_6 -o x
simulate w --policy spjf --tau 1_0
"""


@pytest.mark.parametrize("command", NO_NUMBERS.strip().splitlines())
def test_the_command_line_takes_plain_numbers(command: str) -> None:
    refused(command)


def test_files_hold_plain_numbers() -> None:
    text = Path("w/workload.csv").read_text().splitlines()
    cells = text[1].split(",")
    for column, bad in ((1, "1_0"), (2, "1_0"), (3, "1_0.0"), (1, " 1"), (3, "١")):
        changed = [*cells[:column], bad, *cells[column + 1 :]]
        Path("w/workload.csv").write_text("\n".join([text[0], ",".join(changed), ""]))
        assert "line 2" in refused("simulate w --policy spjf")
    Path("trace.csv").write_text("job_id,num_gpu,submit_time,duration\na,1_0,0,5\nb,1,0,5\n")
    assert "1 kept" in stderr_of("import chronus trace.csv -o x.csv")


# --- JSON


def test_json_has_no_nan() -> None:
    held = json.loads(json_text({"a": [float("nan"), (float("inf"), 1.5)], "b": None}))
    assert held == {"a": [None, [None, 1.5]], "b": None}
    result = optsched.solve("placement/fig2", "heavy-edge")
    trace = (TracePoint(0.5, math.inf, -math.inf), TracePoint(1.0, 2.0, math.nan))
    made = replace(result, trace=trace).to_dict()
    assert made["trace"] == [[0.5, None, None], [1.0, 2.0, None]]


def test_tables_go_to_standard_output() -> None:
    family = "name = 'f'\ninstances = ['placement/fig2']\nmethods = ['heavy-edge']\n"
    Path("p.toml").write_text(f"[[families]]\n{family}")
    with Store("s.sqlite") as store:
        plan = read_plan("p.toml")
        store.register(plan.name, plan.sha256, plan.text, expand(plan))
    for option, begin in (("--latex", "% Needs"), ("--csv", "plan,"), ("--markdown", "### f")):
        assert printed("table s.sqlite", option, "-").startswith(begin)
    assert printed("report s.sqlite -o -").startswith("<!doctype html>")
    for two in ("--csv x --latex ./x", "--csv - --pairs -"):
        assert "two outputs" in refused(f"table s.sqlite {two}")
    for target in ("s.sqlite", "s.sqlite-wal"):
        assert "a file that is read" in refused("report s.sqlite -o", target)
    assert not Path("-").exists()


# --- plans and stores


def test_a_plan_with_an_endless_integer_is_one_line() -> None:
    Path("p.toml").write_text(f"name = {'9' * 5000}\n")
    assert "an invalid integer or date" in refused("sweep p.toml --store s.sqlite")


@pytest.mark.parametrize("name", ["n" * 5000, "placement/" + "n" * 5000, "a\0b"])
def test_names_that_no_file_can_have(name: str) -> None:
    Path("p.toml").write_text(f"[[families]]\nname = 'f'\ninstances = [{json.dumps(name)}]\n")
    for command in (
        *("solve", "check in.json", "compare in.json --update-best", "solve in.json -o"),
        *("simulate --policy spjf", "simulate w --policy spjf --records"),
        *("import chronus -o x.csv", "import chronus trace.csv -o"),
        "import pipedream --gpus 2 --servers 2 -o x",
        *("table", "table s.sqlite --csv", "sweep --store s.sqlite"),
        *("generate selection -o", "reproduce a-srpt-table1 -o"),
    ):
        refused(command, name)
    refused("sweep p.toml --store s.sqlite")


def test_a_store_with_broken_utf8_is_one_line() -> None:
    with Store("s.sqlite"):
        pass
    raw = Path("s.sqlite").read_bytes()
    for old, new in ((b"ON members (key)", b"ON members (k\xffy)"), (b"runs", b"ru\xffs")):
        assert old in raw
        Path("b.sqlite").write_bytes(raw.replace(old, new))
        for command in ("table b.sqlite", "report b.sqlite -o r.html"):
            refusal(command)


# --- extras


HIDDEN = """
import sys
hidden, argv = sys.argv[1], sys.argv[2:]
sys.modules[hidden] = None
import optsched
from optsched.cli import _code
sys.exit(_code(argv))
"""


RECORDS = "simulate w --policy spjf --records r.parquet"
SOLUTION = "solve in.json --solver scip -o x"


@pytest.mark.parametrize(
    ("hidden", "extra", "command"),
    [
        ("matplotlib", "plot", "reproduce a-srpt-table2 --quick -o out"),
        ("distributed", "cluster", "sweep plans/small --store o --dask tcp://x:1"),
        ("pyarrow", "online", "import chronus trace.csv -o x.parquet"),
        ("pyscipopt", "scip", "compare selection/3x6 --methods sts,minlp"),
        pytest.param("pyarrow", "online", RECORDS, marks=pytest.mark.full),
        pytest.param("pyscipopt", "scip", SOLUTION, marks=pytest.mark.full),
    ],
)
def test_extras_are_missed_before_the_work(hidden: str, extra: str, command: str) -> None:
    before = contents()
    done = python("-c", HIDDEN, hidden, *command.split(), code=2)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert f"pip install 'optsched[{extra}]'" in done.stderr
    assert contents() == before
