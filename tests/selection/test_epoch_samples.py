"""Epochs-to-target samples: a small file by hand, bad rows, and the published file."""

import os
from pathlib import Path

import pytest
from commands import printed, refusal

import optsched
from optsched.uncertainty.epoch_samples import read_epoch_samples

TEXT = """dataset,network,batch_size,target_epoch
cifar,resnet,64,3
cifar,resnet,64,3
cifar,resnet,128,5
cifar,resnet,128,inf
cifar,resnet,128,
cifar,alexnet,64,nan
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "samples.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_groups_and_distribution(tmp_path: Path) -> None:
    alexnet, resnet = read_epoch_samples(written(tmp_path, TEXT))
    assert (alexnet.key, alexnet.epochs, alexnet.unfinished) == (("cifar", "alexnet"), (), 1)
    assert (resnet.epochs, resnet.unfinished) == ((3.0, 3.0, 5.0), 2)
    assert resnet.distribution.values.tolist() == [3, 5]
    assert resnet.distribution.probabilities == pytest.approx([2 / 3, 1 / 3])
    with pytest.raises(ValueError, match="at least one"):
        _ = alexnet.distribution
    finer = read_epoch_samples(tmp_path / "samples.csv", by=("network", "batch_size"))
    keys = [("alexnet", "64"), ("resnet", "128"), ("resnet", "64")]
    assert [group.key for group in finer] == keys


MEASURED = """dataset,network,target_metric,target_epoch
cifar,resnet,0.5,4
cifar,resnet,0.5,4
cifar,resnet,0.5,2.5
cifar,resnet,0.9,40
cifar,resnet,0.9,
cifar,alexnet,0.9,nan
"""


@pytest.mark.parametrize("problem", ["selection", "rolling"])
def test_generated_jobs_have_measured_epochs(tmp_path: Path, problem: str) -> None:
    """Each job is of a kind that reached its target, with its distribution."""
    path = str(written(tmp_path, MEASURED))
    made = optsched.generate(problem, seed=1, nodes=3, jobs=20, epochs=path)
    works = {job.kind: (job.epochs.values, job.epochs.probabilities) for job in made.jobs}
    assert works == {
        "cifar/resnet/0.5": ((2.5, 4), pytest.approx((1 / 3, 2 / 3), abs=1e-6)),
        "cifar/resnet/0.9": ((40,), (1.0,)),
    }
    options = "--nodes 3 --jobs 20 --seed 1 --name m --epochs"
    printed(f"generate {problem} {options}", path, "-o", tmp_path)
    assert optsched.load(tmp_path / "m.json").to_dict()["jobs"] == made.to_dict()["jobs"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("network,target_epoch\na,3\n", "samples.csv: line 1: found no dataset, expected"),
        (MEASURED.replace("2.5", "soon"), "samples.csv: line 4: found 'soon', expected a positive"),
        ("dataset,network,target_epoch\na,b,0\n", "samples.csv: line 2: found '0', expected"),
        ("dataset,network,target_epoch\na,b,\n", "samples.csv: found no run that reached its"),
        (
            "dataset,network,target_epoch\n" + "".join(f"a,b,{n}\n" for n in range(1, 1002)),
            "samples.csv: a/b: found 1001 distinct numbers of epochs, expected at most 1000",
        ),
    ],
)
def test_bad_samples_generate_nothing(tmp_path: Path, text: str, line: str) -> None:
    path = written(tmp_path, text)
    assert line in refusal("generate selection --epochs", path, "-o", tmp_path / "made")
    assert not (tmp_path / "made").exists()


@pytest.mark.skipif("OPTSCHED_DATA" not in os.environ, reason="OPTSCHED_DATA is unset")
def test_the_published_file() -> None:
    path = Path(os.environ["OPTSCHED_DATA"]) / "traces" / "zeus_summary_train.csv.gz"
    groups = {group.key: group for group in read_epoch_samples(path, ("dataset", "network"))}
    assert len(groups) == 6
    resnet = groups["imagenet", "resnet50"]
    assert (len(resnet.epochs), resnet.unfinished) == (342, 152)
    assert resnet.distribution.max_epochs == 77
    assert resnet.distribution.mean == pytest.approx(7.8, abs=0.05)
