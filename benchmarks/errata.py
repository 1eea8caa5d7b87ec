"""Write docs/errata.md: `python benchmarks/errata.py --page docs/errata.md`.

Every slip of the three papers that changes an answer, on an instance small enough to check by hand:
what the paper's words give on it, and what the corrected ones do. Both are computed here, the
corrected result by the package; nothing is copied. Without --page the page goes to standard output.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import errata_results as found

PAPERS = {
    "a-srpt": "Luo, Liu, Lee and Shroff, *Prediction-Assisted Online Distributed Deep Learning "
    "Workload Scheduling in GPU Clusters*",
    "sjf-bco": "Yu, Ji, Rajan and Liu, *On Scheduling Ring-All-Reduce Learning Jobs in "
    "Multi-Tenant GPU Clusters with Communication Contention*",
    "sts": "Filippini, Anselmi, Ardagna and Gaujal, *A Stochastic Approach for Scheduling AI "
    "Training Jobs in GPU-based Systems*",
}
HEAD = """# Errata

Written by `python benchmarks/errata.py --page docs/errata.md`; do not edit. Slips of the three
papers that change an answer, each on an instance small enough to check by hand: what the words as
printed give on it, and what the corrected words do. The mathematics is in
[models/](../models/README.md).
"""


@dataclass(frozen=True)
class Slip:
    """One slip: where, as printed and as corrected, on what, and both results."""

    where: str
    printed: str
    corrected: str
    on: str
    results: Callable[[], tuple[str, str]]


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path)
    page = parser.parse_args().page
    text = page_text()
    if page is None:
        print(text, end="")
    else:
        page.write_text(text, encoding="utf-8")


def page_text() -> str:
    """The whole page."""
    parts = [HEAD]
    for paper, reference in PAPERS.items():
        parts += [f"## {paper}", reference + ".", table(SLIPS[paper])]
        parts += ["Words and gaps, for which there is nothing to compute:", words(WORDS[paper])]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def table(slips: list[Slip]) -> str:
    """A row a slip."""
    rows = [
        "| where | as printed | corrected | instance | result as printed | corrected result |",
        "|---|---|---|---|---|---|",
    ]
    for slip in slips:
        cells = (slip.where, slip.printed, slip.corrected, slip.on, *slip.results())
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def words(rows: list[tuple[str, str, str]]) -> str:
    """A row a slip of the pen, or a gap."""
    lines = ["| where | as printed | read as |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


TINY_PLACEMENT = "`models/placement/tiny.json`"
TINY_MAKESPAN = "`models/makespan/tiny.json`"
TINY_SELECTION = "`models/selection/tiny.json`"
SLIPS: dict[str, list[Slip]] = {
    "a-srpt": [
        Slip(
            "(5)",
            "one fraction, the in-server seconds under it",
            "NIC bytes over the server's share, plus in-server bytes over $B_{intra}$",
            f"stage A on server 2 of the optimum of {TINY_PLACEMENT}",
            found.communication,
        ),
        Slip(
            "(6)",
            "the server's own $x_{s,m}$; its text: the minimum bandwidth between replicas",
            "the formula; the text is the option `all_reduce_bandwidth=bottleneck`",
            f"the optimum of {TINY_PLACEMENT}",
            found.all_reduce,
        ),
        Slip(
            "IV-B, job graph",
            "weight $2 d^{out}_{s-1} / k_{s-1} = 2 d^{in}_s / k_{s-1}$",
            "$2 d^{out}_{s-1} / k_s$, as in III-B",
            f"the pairs of A and B in {TINY_PLACEMENT}",
            found.pair_weights,
        ),
        Slip(
            "IV-B",
            "mapping is equivalent to a graph cut problem",
            "another objective: bytes cut, not the slowest stage",
            TINY_PLACEMENT,
            found.minimum_cut,
        ),
        Slip(
            "IV-B",
            "$\\tilde\\alpha^{min}$, Heavy-Edge on the fewest servers, is the minimum achievable",
            "an estimate: a balanced offer can be faster",
            "one stage, 12 replicas, $h$ = 200 MB, 8 GPUs a server, 10 Gbit/s",
            found.fewest_servers,
        ),
    ],
    "sjf-bco": [
        Slip(
            "before (8)",
            "$f$ linear in $k_j = \\xi_1 p_j$",
            "$\\max(1, \\cdot)$ of it: a link gives no more than it has",
            "a job alone on its links, $\\xi_1 = 0.5$, $a = 0.2$",
            found.lone_job,
        ),
        Slip(
            "(7), (8)",
            "$\\xi_1 = \\xi_2$, a share and seconds in one",
            "$\\xi_2 \\gamma_0$ in seconds for each server used",
            f"job a of {TINY_MAKESPAN} on two servers",
            found.overhead,
        ),
        Slip(
            "(5)",
            "$y_{js}$ positive",
            "$y_{js} \\ge 0$: a job need not use every server",
            f"{TINY_MAKESPAN} with one job of one worker",
            found.positive_workers,
        ),
        Slip(
            "Algorithms 2, 3",
            "a job's end is fixed when it starts",
            "every start and end changes the speed of those on the same links",
            f"{TINY_MAKESPAN} and a job c of 4 workers",
            found.frozen_ends,
        ),
        Slip(
            "Algorithm 1, lines 14-17",
            "at an infeasible $\\kappa$ the makespan so far stands",
            "it counts as the horizon",
            "`makespan/theorem5-2x1`, $\\theta = 2$",
            found.partial_schedule,
        ),
        Slip(
            "Theorem 5, Lemma 4",
            "SJF-BCO is $n_g \\varphi u/l$-approximate",
            "false as stated: step (b) of Lemma 4 compares sums over the GPUs of two schedules",
            "`makespan/theorem5-2x1`: two servers of one GPU, jobs of 1, 1 and 2 slots in this "
            "order; $n_g = \\varphi = u/l = 1$",
            found.theorem_five,
        ),
    ],
    "sts": [
        Slip(
            "(8)",
            "$\\sum_f \\phi_{jf} \\le 1$",
            "$= \\sum_n \\zeta_{jn}$: a job that runs has a fraction",
            TINY_SELECTION,
            found.selection("(8)"),
        ),
        Slip(
            "(12)",
            "$\\sigma_{jg} \\le \\Gamma_{gn} \\zeta_{jn}$ for all n",
            "$\\le \\sum_n \\Gamma_{gn} \\zeta_{jn}$",
            TINY_SELECTION,
            found.selection("(12)"),
        ),
        Slip(
            "(13)",
            "$\\sum_{j,g} \\Gamma_{gn} \\sigma_{jg} = k \\gamma_{nk}$ for all k",
            "$\\sum_g \\Gamma_{gn} u_g = \\sum_k k \\gamma_{nk}$, $\\sigma_{jg} \\le u_g$: a "
            "shared GPU counts once",
            TINY_SELECTION,
            found.selection("(13)"),
        ),
        Slip(
            "(16)",
            "$\\sum_n \\nu_n = \\min(\\lvert J \\rvert, \\lvert N \\rvert)$",
            "any number of nodes may be open",
            TINY_SELECTION,
            found.selection("(16)"),
        ),
        Slip(
            "(16) with (13)", "both", "neither", TINY_SELECTION, found.selection("(16) with (13)")
        ),
        Slip(
            "(19)",
            "one $\\tau_j$ for a random time",
            "a $\\tau_{js}$ for each value of $W_j$",
            TINY_SELECTION,
            found.selection("(19)"),
        ),
        Slip(
            "(20)",
            "$(H + \\bar T_j)(1 - \\sum_n \\zeta_{jn}) \\le d_j + \\bar\\tau_j$",
            "$(H + \\bar T_j - d_j)(1 - \\sum_n \\zeta_{jn}) \\le \\bar\\tau_j$: who runs is not "
            "postponed",
            TINY_SELECTION,
            found.selection("(20)"),
        ),
        Slip(
            "Algorithm 1, line 8",
            "$L := m$",
            "$L := m + 1$ when the time at $y_m = 0$ exceeds $d$",
            "`speed-profile/printed-loops`",
            found.algorithm_1("printed-loops"),
        ),
        Slip(
            "Algorithm 1, line 6",
            "(25) is always solved",
            "$U := m$ when the time at $y_m = w^{max}$ is within $d$; slack and infeasible first",
            "`speed-profile/printed-no-root`",
            found.algorithm_1("printed-no-root"),
        ),
        Slip(
            "Algorithm 1",
            "all speeds",
            "the lower hull of $(1/s, Q)$: with idle power Q need not grow with the speed",
            "`speed-profile/printed-wrong`",
            found.algorithm_1("printed-wrong"),
        ),
        Slip(
            "(26)",
            "$w^{max}/s_K + \\sum y_k s_k$",
            "$S_k = 1/s_k - 1/s_{k+1}$, defined below it, in place of $s_k$",
            "speeds 1 and 2, $y_1 = 4$, $w^{max} = 10$",
            found.rearranged,
        ),
        Slip(
            "(26)",
            "nothing for epochs done",
            "less $w_c / s_m$",
            "the same speeds, 2 of 10 epochs done, $d = 5$",
            found.started,
        ),
    ],
}
WORDS: dict[str, list[tuple[str, str, str]]] = {
    "a-srpt": [
        ("before (4)", "the communication time", "computation: it introduces (4)"),
        (
            "(5)",
            "$2 \\le s \\le S - 1$; first and last similarly",
            "an absent neighbour's term is 0",
        ),
        ("V-B", "no $\\tau$ is stated", "100, always printed: it decides much"),
        (
            "Table II",
            "no stage configurations are stated",
            "those of a plan, with the paper's row beside it",
        ),
        (
            "Theorem 1",
            "$\\alpha^{min}$",
            "a proven lower bound on $\\alpha$, so that no factor is too small; "
            "$\\tilde\\alpha$ is an estimate that a placement can beat",
        ),
    ],
    "sjf-bco": [
        ("(8)", "$w_j$ workers", "$G_j$: workers are GPUs"),
        ("(8)", "$\\varphi = 0$ is not spoken of", "no progress in that slot"),
        (
            "before (8)",
            "$\\gamma_j$ is proportional to the servers used",
            "so one server pays too, unless `overhead_on_one_server` is false",
        ),
        (
            "Algorithm 1",
            "$\\hat\\rho_j$ of a placement before there is one",
            "on the fewest servers at $p = 1$",
        ),
        ("Algorithms 2, 3", "available GPUs", "idle now, and $U + \\hat\\rho_j / u \\le \\theta$"),
        (
            "(12)",
            "every job follows the same schedule",
            "as printed: (10)-(13) select the best of an enumerated set, and do no more",
        ),
        (
            "section 5, Algorithm 2",
            "the text packs small jobs into servers in use; the algorithm takes the least used "
            "GPUs anywhere",
            "the algorithm; the text's is `packing=occupied`",
        ),
        (
            "Lemma 3",
            "makespan at most $n_g \\hat W_{max}$, which Lemma 2 calls $\\tilde\\theta_u$",
            "both sides with the run's $\\theta$ in the details of `sjf-bco`",
        ),
        (
            "Lemma 4",
            "$\\varphi$ as a ratio",
            "over schedules, of one job's times; not of two GPUs' busy times",
        ),
    ],
    "sts": [
        (
            "(8)",
            "fractions are one set",
            "each type's own (Table IV): $\\phi_{jf} + \\zeta_{jn} \\le 1$ where n's type lacks f",
        ),
        ("$F$", "the set of GPU fractions", "$F$ contains 1, with $b_1 = 1$"),
        ("(19), (20)", "due dates on a clock", "$d_j - T_c$, seconds from now"),
        ("(10)", "$i$ is free", "one sum over $i$, $n$ and $k \\ge 2$"),
        (
            "(17), (18)",
            "the first job to end on a node",
            "of least expected time, not the expectation of the least",
        ),
        ("(21)", "an expectation, not said whose", "$E[W_j]$ times the seconds of an epoch"),
        (
            "(24)",
            "$F$ is continuous",
            "of discrete values it has no exact root: bisect $\\lambda$ over "
            "$F^c_i \\Phi_k$ and interpolate at the jump",
        ),
        (
            "(28)",
            "the worst-case tardiness, in seconds, beside dollars",
            "$\\eta_j$ times it: a choice does not depend on the unit of money",
        ),
        (
            "before (28)",
            "the dynamic programme chooses the batch size too",
            "it does not here: nothing in the paper says how epochs or their times depend on it, "
            "and (P1) has no batch size",
        ),
        (
            "after (28)",
            "the dynamic programme's choice of GPUs",
            "each job it runs takes the fastest configuration available",
        ),
    ],
}

if __name__ == "__main__":
    main()
