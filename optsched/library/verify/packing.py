"""Packing: prices of CPU, memory and shares of GPUs (models/packing, "Certificate")."""

from math import gcd

import numpy as np

from .certificate import ROUNDING_RTOL, Document, RefusedError, numbers

MILLI = 1000
CLAIM_RTOL = 1e-9
"""Share of the cluster's GPUs by which a claimed bound may exceed the one that the prices prove."""


def packing_prices(instance: Document, certificate: Document) -> float:
    """Prove G - sum_k nodes_k (CPU_k u_k + memory_k v_k + GPUs_k z_k) - sum_t N_t r_t idle GPUs.

    z_k is the value of the most valuable filling of a GPU with shares at the prices of class k, and
    r_t the largest gain of a task above what it pays, over the classes whose nodes can take it.
    """
    classes: dict[tuple[int, int, int, str], int] = {}
    for node in instance["nodes"]:
        key = (node["cpu_milli"], node["memory_bytes"], node["gpus"], node["model"])
        classes[key] = classes.get(key, 0) + 1
    milli = [task["gpu_milli"] for task in instance["tasks"]]
    sizes = sorted({min(asked, MILLI) for asked in milli if asked} | {MILLI})
    count = len(classes)
    cpu = numbers(certificate["cpu"], count, "prices of CPU", 0)
    memory = numbers(certificate["memory"], count, "prices of memory", 0)
    if not isinstance(certificate["shares"], list) or len(certificate["shares"]) != count:
        raise RefusedError(f"no list of prices of shares for each of {count} classes")
    shares = [numbers(row, len(sizes), "prices of shares", 0) for row in certificate["shares"]]
    gain = np.zeros(len(milli))
    terms = []
    for k, ((cores, size, gpus, model), nodes) in enumerate(classes.items()):
        value = _filling(sizes, shares[k].tolist())
        terms += [nodes * cores * cpu[k], nodes * size * memory[k], nodes * gpus * value]
        for t, task in enumerate(instance["tasks"]):
            wanted = -(-milli[t] // MILLI)
            suits = not task.get("models") or model in task["models"]
            fits = task["cpu_milli"] <= cores and task["memory_bytes"] <= size and wanted <= gpus
            if not (milli[t] and suits and fits):
                continue
            share = wanted * shares[k][sizes.index(min(milli[t], MILLI))]
            paid = task["cpu_milli"] * cpu[k] + task["memory_bytes"] * memory[k] + share
            gain[t] = max(gain[t], milli[t] / MILLI - paid)
    terms += [task["count"] * r for task, r in zip(instance["tasks"], gain.tolist(), strict=True)]
    total = sum(node["gpus"] for node in instance["nodes"])
    proved = total - sum(terms) - ROUNDING_RTOL * (total + sum(terms))
    proved, claimed = max(proved, 0.0), float(certificate["bound"])
    if not claimed - proved <= CLAIM_RTOL * total:
        message = f"the claimed bound {claimed:.12g}: the prices prove {proved:.12g}"
        raise RefusedError(message, claimed - proved)
    return proved


def _filling(sizes: list[int], prices: list[float]) -> float:
    """Value of the most valuable set of shares of at most 1,000 milli."""
    unit = gcd(*sizes)
    best = [0.0]
    for room in range(1, MILLI // unit + 1):
        steps = [(size // unit, price) for size, price in zip(sizes, prices, strict=True)]
        filled = [best[room - step] + price for step, price in steps if step <= room]
        best.append(max(best[-1], *filled, 0.0))
    return best[-1]
