"""The benchmark on real traces: windows and regimes are what its page says, on a trace made up."""

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
