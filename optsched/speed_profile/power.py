"""Power model (1): k GPUs on, the others idle."""

from collections.abc import Sequence


def node_power(gpus: int, on: float, idle: float) -> tuple[float, ...]:
    """P(s_k) = k P_on + (K - k) P_idle for k = 1..K, in watts; a node without work is off.

    Parameters
    ----------
    gpus : int
        K.
    on : float
        P_on, watts of a GPU in use.
    idle : float
        P_idle, watts of one that is not.

    Returns
    -------
    tuple of float
        Watts, with 1..K in use.

    Notes
    -----
    sts (1). With P_idle > 0 the power per epoch, Q = P / s, can fall before it rises: idle GPUs
    consume power. Algorithm 1 as printed supposes that it never falls.

    Examples
    --------
    >>> node_power(3, 300.0, 20.0)
    (340.0, 620.0, 900.0)
    """
    return tuple(k * on + (gpus - k) * idle for k in range(1, gpus + 1))


def energy_per_epoch(speeds: Sequence[float], power: Sequence[float]) -> tuple[float, ...]:
    """Q(s_k) = P(s_k) / s_k of (22), joules an epoch.

    Parameters
    ----------
    speeds : sequence of float
        Epochs/s, with 1..K GPUs.
    power : sequence of float
        Watts, likewise.

    Returns
    -------
    tuple of float
        Joules an epoch.

    Examples
    --------
    >>> energy_per_epoch((0.5, 0.75), (300.0, 600.0))
    (600.0, 800.0)
    """
    return tuple(p / s for s, p in zip(speeds, power, strict=True))
