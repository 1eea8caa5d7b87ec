"""The benchmark on real traces says which data it lacks."""

import runpy

import pytest
from processes import ROOT


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
