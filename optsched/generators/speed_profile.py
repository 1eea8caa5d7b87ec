"""Speed-profile instances: one job of a network of sts, Fig. 2, on 1 to K GPUs of a node.

Speeds are k^x / t1 epochs per second, and power follows (1) with k working and K - k idle GPUs.
Chosen here, since the paper gives no such instance: t1 = 120 s, x = 0.8, 300 W per GPU.
"""

from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np

from optsched.declared import Between, Seed, flag, require_declared
from optsched.generators.arguments import checked
from optsched.generators.selection import BinWidth, SpeedUp, fig2_distribution
from optsched.speed_profile.instance import SCHEMA, SpeedProfileInstance
from optsched.speed_profile.power import node_power

Watts = Annotated[float, Between(0, 1e9)]


@dataclass(frozen=True)
class ProfileSettings:
    """The job and its node.

    Attributes
    ----------
    network : str
        Network with the distribution of epochs: AlexNet, ResNet, VGG16 or MobileNetV2.
    gpus : int
        Number of GPUs K.
    deadline : float
        Deadline d, seconds.
    epoch_time : float
        Seconds per epoch on one GPU.
    speedup : float
        Exponent x of the speed k^x on k GPUs.
    power : float
        Watts of a busy GPU.
    idle_power : float
        Watts of an idle GPU.
    bin_width : int
        Bin width of the distribution of epochs.
    """

    network: str = "AlexNet"
    gpus: Annotated[int, Between(1, 256)] = 8
    deadline: Annotated[float, Between(0, 1e12)] = 6000.0
    epoch_time: Annotated[float, Between(1e-3, 1e9)] = 120.0
    speedup: SpeedUp = 0.8
    power: Watts = 300.0
    idle_power: Watts = 0.0
    bin_width: BinWidth = 5

    def __post_init__(self) -> None:
        require_declared("generate speed-profile", self, flag)


@checked("generate speed-profile")
def generate_speed_profile(
    settings: ProfileSettings | None = None, *, seed: Seed = 0, name: str | None = None
) -> SpeedProfileInstance:
    """Generate one instance; equal arguments give equal instances.

    Parameters
    ----------
    settings : ProfileSettings, optional
        The job and its node.
    seed : int, optional
        Seed of every random choice.
    name : str, optional
        Name of the instance; by default one that states its arguments.

    Returns
    -------
    SpeedProfileInstance
        The instance.

    Examples
    --------
    >>> len(generate_speed_profile(seed=7).speeds)
    8
    """
    settings = settings or ProfileSettings()
    rng = np.random.default_rng(seed)
    work = fig2_distribution(settings.network, rng, bin_width=settings.bin_width)
    shares = [round(float(p), 6) for p in work.probabilities]
    sizes = range(1, settings.gpus + 1)
    return SpeedProfileInstance.from_dict(
        {
            "schema": SCHEMA,
            "version": 1,
            "name": name or f"{settings.network.lower()}-{settings.gpus}-s{seed}",
            "provenance": {
                "generator": "optsched generate speed-profile",
                "seed": seed,
                **asdict(settings),
            },
            "speeds": [round(k**settings.speedup / settings.epoch_time, 9) for k in sizes],
            "power": list(node_power(settings.gpus, settings.power, settings.idle_power)),
            "deadline": settings.deadline,
            "completed": 0,
            "work": {
                "values": [int(w) for w in work.values],
                "probabilities": [p / sum(shares) for p in shares],
            },
        },
        "generate speed-profile",
    )
