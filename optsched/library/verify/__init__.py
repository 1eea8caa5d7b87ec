"""Verification of certificates of lower bounds, with numpy alone and no solver.

`python -m verify INSTANCE.json CERTIFICATE.json`, run next to a copy of this folder, prints the
proved bound or the reason why there is none. The instance is the plain JSON of its file. The
verifier trusts nothing in the certificate: it recomputes the bound from the prices and the instance
and shares no code with the methods that find certificates. A wrong price weakens a bound, but
never makes it false.

Every certificate is a dual solution of a relaxation: prices (dual values) of a scarce resource
(replicas, GPU time, slots on GPUs, the deadline). The bound is the minimum cost of any schedule at
these prices minus the maximum income of the resource. Some certificates are trees that branch on
integers, at most k or more, with prices for each leaf; their bound is the minimum over the leaves.
"""

import json
import math
import sys
from collections.abc import Callable, Sequence

import numpy as np

from .certificate import Document
from .certificate import RefusedError as RefusedError
from .makespan import columns, contention
from .over_time import multiplier, online_prices, rolling_prices
from .packing import packing_prices
from .placement import pattern_branches, patterns
from .selection import selection_branches, selection_prices

Verifier = Callable[..., float]
VERIFIERS: dict[tuple[str, str], Verifier] = {
    ("placement", "patterns"): patterns,
    ("placement", "branches"): pattern_branches,
    ("makespan", "columns"): columns,
    ("makespan", "contention"): contention,
    ("selection", "prices"): selection_prices,
    ("selection", "branches"): selection_branches,
    ("speed-profile", "multiplier"): multiplier,
    ("rolling", "prices"): rolling_prices,
    ("online", "prices"): online_prices,
    ("packing", "prices"): packing_prices,
}
"""Verifiers by problem and kind of certificate."""
ENUMERATION = "enumeration"


def verify(instance: Document, certificate: Document, options: Document | None = None) -> float:
    """Return the lower bound that a certificate proves for all solutions of an instance.

    `options` are the problem's, by default the default ones; they change placements and
    selections. Raises RefusedError if nothing is proved.
    """
    problem = str(instance.get("schema")).removeprefix("optsched/")
    kind = certificate.get("kind")
    if kind == ENUMERATION:
        method = certificate.get("method", "the method named")
        raise RefusedError(f"a proof by enumeration: only a run of {method} repeats it")
    verifier = VERIFIERS.get((problem, str(kind)))
    if verifier is None:
        known = ", ".join(name for of_problem, name in VERIFIERS if of_problem == problem)
        raise RefusedError(f"a certificate of kind {kind!r}: for {problem} it is {known or 'none'}")
    read_with = {"options": options} if problem in ("placement", "selection") else {}
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            bound = float(verifier(instance, certificate, **read_with))
    except RefusedError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise RefusedError(f"it cannot be read: {type(error).__name__} {error}"[:200]) from None
    if not math.isfinite(bound):
        raise RefusedError("the prices overflow")
    return bound


def main(paths: Sequence[str]) -> int:
    """Verify a certificate's file for an instance's file; 0 when it proves a bound."""
    if len(paths) != 2:
        print("usage: python -m verify INSTANCE.json CERTIFICATE.json", file=sys.stderr)
        return 2
    documents = []
    for path in paths:
        with open(path, encoding="utf-8") as stream:
            documents.append(json.load(stream))
    try:
        print(f"proved: at least {verify(*documents)!r}")
    except RefusedError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 1
    return 0
