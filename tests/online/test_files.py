"""workload.csv, .parquet, catalogue.json, cluster.json: round trips and refusals in one line."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optsched.errors import InputError
from optsched.generators.online import generate_workload
from optsched.online.data.catalogue import Catalogue, read_catalogue, write_catalogue
from optsched.online.data.cluster import OnlineCluster, read_cluster
from optsched.online.data.workload_files import read_workload, write_workload

HEADER = "job_id,submit_time,gpus,iterations,user,group,model\n"


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_round_trip(tmp_path: Path, ending: str) -> None:
    """Also of walltimes, where one job has none and where no job has one."""
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    made, catalogue = generate_workload(200, OnlineCluster.of(4), seed=3)
    for walltime in (None, np.array([np.nan, *[3600.5] * 199])):
        workload = replace(made, walltime=walltime)
        write_workload(tmp_path / f"w.{ending}", workload)
        read = read_workload(tmp_path / f"w.{ending}")
        assert read.lists() == workload.lists()
        assert (read.walltime is None) == (walltime is None)
    write_catalogue(tmp_path / "catalogue.json", catalogue)
    assert read_catalogue(tmp_path / "catalogue.json") == catalogue


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "CSV"),
        ("a,b\n1,2\n", "a column job_id"),
        (HEADER.replace("model", "model,extra"), "found 'extra'"),
        (HEADER + "j,x,1,1,u,g,m\n", "line 2: submit_time: found 'x'"),
        (HEADER + "j,nan,1,1,u,g,m\n", "line 2: submit_time"),
        (HEADER + "j,inf,1,1,u,g,m\n", "line 2: submit_time"),
        (HEADER + "j,0,1,1,u,g,m\nk,0,1.5,1,u,g,m\n", "line 3: gpus: found '1.5'"),
        (HEADER + "j,0,0,1,u,g,m\n", "line 2: gpus"),
        (HEADER + "j,0,1,0,u,g,m\n", "line 2: iterations"),
        (HEADER + "j,0,1,-3,u,g,m\n", "line 2: iterations"),
        (HEADER + ",0,1,1,u,g,m\n", "line 2: job_id"),
        (HEADER + "j,0,1,1,u,g,\n", "line 2: model"),
        (HEADER + "j,0,1,1,u,g,m\nj,0,1,1,u,g,m\n", "line 3: job_id"),
        (HEADER + "j,0,1,1,u,g,m,8,9\n", "CSV|columns"),
    ],
)
def test_bad_csv(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "w.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=expected) as error:
        read_workload(path)
    assert "\n" not in str(error.value)


def test_bad_bytes_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_bytes(HEADER.encode() + b"\xff\xfe\x00,0,1,1,u,g,m\n")
    with pytest.raises(InputError):
        read_workload(path)
    with pytest.raises(InputError, match="readable"):
        read_workload(tmp_path / "none.csv")
    (tmp_path / "w.parquet").write_bytes(b"PAR1 no")
    pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="parquet"):
        read_workload(tmp_path / "w.parquet")


FLIPPED = """
import sys
from pathlib import Path
from optsched.errors import InputError
from optsched.online.data.workload_files import read_workload
path = Path(sys.argv[1])
good = path.read_bytes()
refused = 0
footer = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
for place in range(footer, len(good), int(sys.argv[2])):
    path.write_bytes(good[:place] + bytes([good[place] ^ 8]) + good[place + 1 :])
    try:
        read_workload(path)
    except InputError:
        refused += 1
print(refused)
"""


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.full)])
def test_no_broken_footer_ends_the_process(tmp_path: Path, step: int) -> None:
    """pyarrow calls terminate where it looks at a column whose statistics do not fit its level."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "w.parquet"
    write_workload(path, generate_workload(20, seed=1)[0])
    command = [sys.executable, "-c", FLIPPED, path, str(step)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100 / step


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"servers": 0}, "servers"),
        ({"servers": 2.5}, "servers"),
        ({"servers": 2**20, "gpus_per_server": 1024}, "at most"),
        ({"gpus_per_server": 10**9}, "gpus_per_server"),
        ({"inter_bandwidth": 0}, "inter_bandwidth"),
        ({"nic": 1}, "nic"),
        ({"version": 2}, "version"),
    ],
)
def test_bad_clusters(tmp_path: Path, change: dict, expected: str) -> None:
    document = {**OnlineCluster.of().to_dict(), **change}
    (tmp_path / "c.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=expected):
        read_cluster(tmp_path / "c.json")


def test_bad_catalogue() -> None:
    document = {"schema": "optsched/catalogue", "version": 1}
    with pytest.raises(InputError, match="models"):
        Catalogue.from_dict(document)
    with pytest.raises(InputError, match=r"models\.a"):
        Catalogue.from_dict({**document, "models": {"a": {"model": "x"}}})
