"""`import openb`: the published tables, in a drawn order of arrival; faults in one line."""

import json
import os
from pathlib import Path

import pytest
from commands import printed, refusal

import optsched
from optsched.errors import InputError
from optsched.packing import openb
from optsched.packing.openb import read_openb

NODES = "sn,cpu_milli,memory_mib,gpu,model\na,8000,1024,2,T4\nb,16000,2048,4,G2\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
    "p0,1000,10,1,460,,LS\np1,2000,20,2,1000,T4|G2,LS\np2,500,5,0,0,,BE\np3,1000,10,1,460,,LS\n"
)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nodes.csv").write_text(NODES)
    Path("pods.csv").write_text(PODS)


def test_the_tables_become_an_instance() -> None:
    printed("import openb nodes.csv pods.csv --requested 0 --seed 3 -o i.json")
    instance = optsched.load("i.json")
    assert instance.to_dict() == read_openb("nodes.csv", "pods.csv", requested=0, seed=3).to_dict()
    assert [(n.name, n.gpus, n.model) for n in instance.nodes] == [("a", 2, "T4"), ("b", 4, "G2")]
    assert instance.nodes[0].memory_bytes == 1024 * 2**20
    types = {(t.cpu_milli, t.gpu_milli, t.models): t.count for t in instance.tasks}
    assert types == {(1000, 460, ()): 2, (2000, 2000, ("T4", "G2")): 1, (500, 0, ()): 1}
    orders = {read_openb("nodes.csv", "pods.csv", requested=0, seed=s).arrivals for s in range(9)}
    assert len(orders) > 1


@pytest.mark.parametrize("requested", [0.3, 1.3, 4.0])
def test_tasks_are_added_or_removed_up_to_what_is_requested(requested: float) -> None:
    instance = read_openb("nodes.csv", "pods.csv", requested=requested, seed=1)
    wanted = 1000 * requested * instance.gpus
    assert wanted - 2000 < instance.requested_milli <= wanted + 1000


def test_more_tasks_than_an_instance_may_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openb, "MAX_ARRIVALS", 20)
    with pytest.raises(InputError, match=r"pods.csv: requested: found more than 20 tasks"):
        read_openb("nodes.csv", "pods.csv", requested=4.0)


FAULTS = [
    ("nodes.csv", NODES.replace("gpu,", "gpus,"), "nodes.csv: line 1: found no column gpu"),
    ("nodes.csv", NODES.replace("16000", "x"), "nodes.csv: line 3: cpu_milli: found 'x'"),
    (
        "nodes.csv",
        NODES.replace("a,8", "b,8"),
        "nodes.csv and pods.csv: nodes[1].name: found 'b', expected",
    ),
    ("nodes.csv", NODES.splitlines()[0], "nodes.csv: found no row, expected at least one"),
    ("pods.csv", PODS.replace(",1,460,,LS\np1", ",1,-4,,LS\np1"), "pods.csv: line 2: gpu_milli:"),
    ("pods.csv", PODS.replace("2,1000", "2,500"), "pods.csv: line 3: gpu_milli: found 2 x 500"),
    ("pods.csv", PODS.replace(",BE", ""), "pods.csv: line 4: found 6 cells, expected 7"),
]


@pytest.mark.parametrize(("file", "text", "line"), FAULTS)
def test_faults_are_one_line(file: str, text: str, line: str) -> None:
    Path(file).write_text(text)
    assert line in refusal("import openb nodes.csv pods.csv -o i.json")
    assert not Path("i.json").exists()


def test_the_published_cluster() -> None:
    if "OPTSCHED_DATA" not in os.environ:
        pytest.skip("OPTSCHED_DATA is not set")
    folder = Path(os.environ["OPTSCHED_DATA"]) / "fgd"
    tasks = folder / "openb_pod_list_default.csv.gz"
    instance = read_openb(folder / "openb_node_list_gpu_node.csv", tasks, seed=42)
    assert (len(instance.nodes), instance.gpus, len(instance.tasks)) == (1213, 6212, 151)
    assert 1.299 < instance.requested_milli / 1000 / 6212 <= 1.3
    result = optsched.solve(instance, "fgd")
    share = 1 - result.objective / instance.gpus
    assert 0.95 < share < 0.96  # published: 95.39, standard deviation 0.08
    assert 0.998 < 1 - result.bound / instance.gpus < 1
    assert json.dumps(result.to_dict(with_solution=False))
