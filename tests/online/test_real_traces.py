"""The benchmark on real traces: windows and regimes are what its page says, on a trace made up."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_without_the_data(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPTSCHED_DATA", raising=False)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    monkeypatch.setattr("sys.argv", ["real_traces.py"])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(ROOT / "benchmarks" / "real_traces.py"), run_name="__main__")
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "OPTSCHED_DATA: not set" in error


def test_the_three_numbers_of_philly_are_those_of_its_table() -> None:
    page = (ROOT / "docs" / "philly.md").read_text(encoding="utf-8")
    rows = {
        name: [float(cell.strip(" %").replace(",", "")) for cell in cells.split("|")[2:-1]]
        for name, cells in re.findall(r"(?m)^\| `([\w-]+)` (.+\|)$", page)
    }
    easy, held, stopped = (rows[name][0] for name in ("easy", "srpt-workload-hold", "las"))
    said = " ".join(page.partition("**Three numbers.**")[2].split())
    assert f"**{easy:.0f} hours** a job." in said
    assert f"**{held:.0f} hours**; one that stops" in said
    assert f"at 30 s a time, {stopped:.0f}." in said
    bound = float(re.findall(r"is below \*\*([\d.]+) hours\*\*", said)[0])
    assert easy / bound == pytest.approx(rows["easy"][2], rel=0.02)
    assert f"a factor of {rows['srpt-workload-hold'][2]:.1f} is left" in said
    lost = {name: row[3] for name, row in rows.items()}
    assert min(lost[name] for name in ("fifo", "easy", "spwf")) > 2.5 * lost["a-srpt"]
