"""Plans: what they expand to, and one line for every typo."""

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import refusal

from optsched.errors import InputError
from optsched.experiments.plans.plan import Limits, read_plan
from optsched.experiments.plans.units import expand
from optsched.library import find, shipped_folder
from optsched.problems import METHODS, PROBLEMS
from optsched.verbs.generating import generators

Written = Callable[[str], Path]
GOOD = """
name = "good"
[limits]
iterations = 5
[[families]]
name = "a"
instances = ["placement/fig2"]
methods = ["heavy-edge", "exact"]
seeds = 3
[[families]]
name = "b"
generator = "placement"
arguments = { model = "VGG19", gpus = 8, gpus_per_server = 4 }
count = 2
first_seed = 7
limits = { unit_time = 9 }
"""


def test_units_of_a_plan(tmp_path: Path, plan_file: Written) -> None:
    read = read_plan(plan_file(GOOD))
    planned = list(expand(read))
    assert [units[0].instance for _, units in planned] == ["fig2", "vgg19-8-s7", "vgg19-8-s8"]
    assert [len(units) for _, units in planned] == [6, 4, 4]
    assert planned[0][1][0].method == "heavy-edge"
    assert '"gpus_per_server":4' in planned[1][0]
    keys = [unit.key for _, units in planned for unit in units]
    assert len(set(keys)) == 14
    assert keys == [unit.key for _, units in expand(read) for unit in units]
    assert read.families[0].limits == Limits(iterations=5)
    assert read.families[1].limits == Limits(iterations=5, unit_time=9.0)


def test_globs_start_at_the_plan(tmp_path: Path, plan_file: Written) -> None:
    (tmp_path / "mine").mkdir()
    fig2 = find("placement/fig2")[0].read_text(encoding="utf-8")
    (tmp_path / "mine" / "own.json").write_text(fig2, encoding="utf-8")
    globs = '["mine/*.json", "placement/communication-bound/gpt-*"]'
    text = f'[[families]]\nname = "x"\ninstances = {globs}\n'
    names = [units[0].instance for _, units in expand(read_plan(plan_file(text)))]
    assert names == ["fig2", "gpt-13b-32", "gpt-175b-32x1", "gpt-175b-64x1", "gpt-6.7b-16"]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("seeds = 3", "sedes = 3", "families[0]: found unknown key 'sedes', expected 'seeds'"),
        ("iterations = 5", "iteration = 5", "limits: found unknown key 'iteration', expected 'it"),
        ("[[families]]", "[[familys]]", "unknown key 'familys', expected 'families'"),
        ('"heavy-edge"', '"heavy-egde"', "a.methods: found 'heavy-egde', expected 'heavy-edge'"),
        ('generator = "placement"', 'generator = "placment"', "'placment', expected 'placement'"),
        ('generator = "placement"', 'generator = "this:d"', "families.b.generator: found 'this:d'"),
        ("unit_time = 9", "bound = 1", "families[1].limits.bound: found 1, expected true or false"),
        ("gpus = 8,", "gpu = 8,", "families.b.arguments: found unknown key 'gpu', expected 'gpus'"),
        ('"VGG19"', '"VGG91"', "families.b.arguments.model: found 'VGG91', expected 'VGG19'"),
        ('"placement/fig2"', '"placement/fig3"', "families.a.instances: found 'placement/fig3'"),
        ("seeds = 3", "seeds = [1, 1]", "families[0].seeds: found [1, 1], expected a list of dist"),
        ("seeds = 3", "options = {speed = 1}", "families.a.options"),
        ("count = 2", "count = 0", "families[1].count: found 0, expected an integer in [1, "),
        ("count = 2", 'instances = ["x"]', "families[1]: found both, expected either"),
        ('name = "b"', 'name = "a"', "families: found 'a' twice, expected distinct names"),
        ("iterations = 5", "iterations = ", "not valid TOML (Invalid value"),
        ("iterations = 5", 'solver = "cplex"', "solver"),
        ("unit_time = 9", f"unit_time = {10**350}", "families[1].limits.unit_time: found"),
        ("unit_time = 9", "unit_time = nan", "families[1].limits.unit_time: found nan, expected a"),
        ("unit_time = 9", 'unit_time = "9"', "families[1].limits.unit_time: found '9', expected a"),
        ("gpus = 8,", 'gpus = "many",', "families.b.arguments.gpus: found 'many', expected an int"),
        ("gpus = 8,", "gpus = 8.0,", "families.b.arguments.gpus: found 8.0, expected an int"),
        ("gpus = 8,", "gpus = inf,", "families[1].arguments: found"),
        ("gpus = 8,", "gpus = 1979-05-27,", "families[1].arguments: found"),
        ("gpus = 8,", f"gpus = {2**70},", "families[1].arguments: found"),
        ("seeds = 3", "options = {overlap = nan}", "families[0].options: found"),
        ("count = 2", "count = 1_000_001", "families[1].count: found 1000001, expected an int"),
        ("seeds = 3", "seeds = 1_000_000", "found 2000002 units, expected at most 1000000"),
    ],
)
def test_a_typo(old: str, new: str, line: str, tmp_path: Path, plan_file: Written) -> None:
    assert old in GOOD
    path = plan_file(GOOD.replace(old, new))
    assert line in refusal("sweep --workers 1 --store", tmp_path / "results.sqlite", path)
    assert list(tmp_path.iterdir()) == [path]  # no store is left behind


OTHERS = """
[[families]]
name = "x"
generator = "{}"
{} = {{ {} }}
"""


@pytest.mark.parametrize(
    ("table", "entry", "line"),
    [
        ("rolling arguments", 'gpu_types = ["V100"]', "families.x.arguments.gpu_types: found"),
        ("rolling arguments", "load = true", "families.x.arguments.load: found True, expected a"),
        ("selection arguments", "speedup = -1.0", "families.x.arguments.speedup: found"),
        ("speed-profile arguments", "gpus = 0", "families.x.arguments.gpus: found 0"),
        ("makespan arguments", 'iterations = ""', "families.x.arguments.iterations: found ''"),
        ("makespan arguments", "iterations = {a = 1}", "families.x.arguments.iterations: found"),
        ("makespan arguments", "iteration_time = [0, 0]", "workload.iteration_time: found (0"),
        ("online options", "training_share = nan", "families[0].options: found"),
        ("online options", 'training_share = "x"', "families.x.options.training_share: found"),
        ("online options", "training_share = 2.0", "found 2.0, expected a finite number in [0, 1)"),
        ("online options", 'predictor = "prefect"', "options.predictor: found 'prefect', exp"),
        ("online options", 'forecast = "x"', "found an unknown option, expected one of predi"),
        ("online arguments", "size = [2]", "arguments: found unknown key 'size', expected 'siz"),
        ("online arguments", "load = -1", "load"),
        ("online options", "refit_interval = -1", "refit_interval: found -1, expected a finite"),
        ("online options", "refit_interval = 1e16", "refit_interval: found 1e+16, expected a fi"),
    ],
)
def test_a_bad_value_is_one_line(table: str, entry: str, line: str, plan_file: Written) -> None:
    path = plan_file(OTHERS.format(*table.split(), entry))
    with pytest.raises(InputError) as caught:
        list(expand(read_plan(path)))
    assert str(caught.value).startswith(f"{path}: ")
    assert line in str(caught.value)


def test_an_endless_plan() -> None:
    if Path("/dev/zero").exists():
        line = r"^/dev/zero: found more than \d+ bytes, expected at most \d+ bytes$"
        with pytest.raises(InputError, match=line):
            read_plan("/dev/zero")


def test_the_shipped_plans() -> None:
    """Cut by iterations or by their own nature, not by time."""
    for path in sorted((shipped_folder() / "plans").glob("*.toml")):
        read = read_plan(path)
        assert read.name == path.stem or path.stem not in PROBLEMS
        assert all(family.limits.time_limit is None for family in read.families)
        assert {family.generator for family in read.families} <= {None, *generators()}
    assert set(generators()) <= set(PROBLEMS) == set(METHODS)
