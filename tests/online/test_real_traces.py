"""The benchmark on real traces says which data it lacks."""

import pytest
from scripts import script


def test_without_the_data(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPTSCHED_DATA", raising=False)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    monkeypatch.setattr("sys.argv", ["real_traces.py"])
    assert script("real_traces").main() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "OPTSCHED_DATA: not set" in line
