"""The power model (1): so many GPUs on, the node's others idle."""

from __future__ import annotations

from collections.abc import Sequence


def node_power(gpus: int, on: float, idle: float) -> tuple[float, ...]:
    """P(s_k) = k P_on + (K - k) P_idle for k = 1..K, in watts; a node without work is off.

    Notes
    -----
    sts (1). With P_idle > 0 the power per epoch, Q = P / s, can fall before it rises: an idle GPU
    costs and brings nothing. Algorithm 1 as printed supposes that it never falls.
    """
    return tuple(k * on + (gpus - k) * idle for k in range(1, gpus + 1))


def energy_per_epoch(speeds: Sequence[float], power: Sequence[float]) -> tuple[float, ...]:
    """Q(s_k) = P(s_k) / s_k of (22), joules an epoch."""
    return tuple(p / s for s, p in zip(speeds, power, strict=True))
