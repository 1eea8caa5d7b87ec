"""Compiled decisions and those of plain Python give the same runs."""

import random

import pytest
from oracles.rolling_policies import PlainPrice, PlainSts

from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.result import Settings
from optsched.rolling.instance import RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.by_name import make_policy
from optsched.rolling.simulator.engine import simulate_rolling
from optsched.rolling.simulator.world import World


def case(seed: int) -> tuple[RollingInstance, RollingOptions]:
    """A drawn workload: nodes of several sizes and costs, unordered distributions, work begun."""
    draw = random.Random(seed)
    sharing = seed % 2 == 1
    settings = rolling_settings(
        draw.choice([1, 2, 3, 5, 8]),
        jobs=draw.choice([5, 12, 24]),
        gpus_per_node=draw.choice([1, 2, 4, 8]),
        cost_classes=draw.choice([0, 1, 2]),
        bin_width=draw.choice([1, 5]),
        sharing=sharing,
        reconfiguration_delay=draw.choice([0.0, 0.0, 60.0, 1000.0]),
        arrivals="load",
        load=draw.choice([0.2, 0.6, 1.0, 2.5]),
    )
    document = generate_rolling(settings, seed=seed).to_dict()
    for node in document["nodes"][1:] if seed % 3 else ():
        first = next(n for n in document["nodes"] if n["gpu_type"] == node["gpu_type"])
        if node is not first and draw.random() < 0.5:
            node["gpus"] = draw.randint(1, node["gpus"])
            node["cost_rate"] = node["cost_rate"][: node["gpus"]]
    for job in document["jobs"]:
        epochs = job["epochs"]
        if draw.random() < 0.3:
            pairs = list(zip(epochs["values"], epochs["probabilities"], strict=True))
            draw.shuffle(pairs)
            epochs["values"], epochs["probabilities"] = map(list, zip(*pairs, strict=True))
        if draw.random() < 0.2:
            job["completed_epochs"] = min(epochs["values"]) * draw.random()
        if draw.random() < 0.1:
            job["tardiness_weight"] = 0.0
        if draw.random() < 0.2:
            job["due_date"] = max(job["submit_time"] - 5000 * draw.random(), 0.0)
    options = {"sharing": "on" if sharing else "off", "strict": draw.choice(["off", "off", "on"])}
    return RollingInstance.from_dict(document, "drawn"), RollingOptions.from_dict(options)


@pytest.mark.parametrize(
    "seed", [*range(100, 104), *(pytest.param(s, marks=pytest.mark.full) for s in range(104, 400))]
)
def test_compiled_sts_is_plain_sts(seed: int) -> None:
    given, options = case(seed)
    world = World(given, options)
    for name in ("sts", "sts-postprocessing"):
        compiled = simulate_rolling(world, make_policy(name, world, Settings()), seed=seed)
        plain = PlainSts(world, postprocessing=name != "sts")
        assert compiled.same_run(simulate_rolling(world, plain, seed=seed))


@pytest.mark.parametrize(
    "seed", [*range(100, 103), *(pytest.param(s, marks=pytest.mark.full) for s in range(103, 400))]
)
def test_compiled_price_is_plain_price(seed: int) -> None:
    """Every event of the run, where multipliers are searched from the last ones and prices cleared
    among fewer and fewer bidders."""
    given, options = case(seed)
    world = World(given, options)
    compiled = simulate_rolling(world, make_policy("price", world, Settings()), seed=seed)
    assert compiled.same_run(simulate_rolling(world, PlainPrice(world), seed=seed))
