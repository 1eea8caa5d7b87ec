"""Sets of servers by bits beside Python's own, and pieces laid out by server."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.online.records import SERVER
from optsched.online.simulator.offers import set_free
from optsched.online.simulator.pieces import lay_out_pieces
from optsched.online.simulator.server_sets import add, all_free, discard, least, see_free


@pytest.mark.parametrize("servers", [1, 31, 32, 33, 1024, 1025, 40_000])
def test_the_least_server_of_a_set(servers: int) -> None:
    rng = np.random.default_rng(servers)
    made = all_free(servers, 2, by_index=True)
    members = set(range(servers))
    for _ in range(3):
        for server in rng.permutation(servers)[:300].tolist():
            (discard if server in members else add)(made, 2, server)
            members ^= {server}
            if members:
                assert least(made, 2) == min(members)
        for server in sorted(members)[:-2]:  # until next to none is left, and from there again
            discard(made, 2, server)
        members = set(sorted(members)[-2:])
        assert not members or least(made, 2) == min(members)


def test_free_gpus_move_a_server_between_the_sets() -> None:
    made = all_free(70, 4, by_index=True)
    for server, count in ((0, 0), (1, 3), (69, 1), (0, 2), (1, 0)):
        set_free(made, server, count)
    assert made.free[[0, 1, 69]].tolist() == [2, 0, 1]
    assert [int(least(made, row)) for row in (0, 1, 2, 4, 5)] == [1, 69, 0, 2, 0]
    assert made.histogram.tolist() == [1, 1, 1, 0, 67]
    assert made.total[0] == 67 * 4 + 3
    assert not made.bits[3].any()


@pytest.mark.parametrize("by_index", [False, True])
def test_sets_made_at_once_are_those_kept_step_by_step(by_index: bool) -> None:
    rng = np.random.default_rng(7)
    at_once, steps = (all_free(1100, 4, by_index) for _ in range(2))
    for _ in range(4):
        for server in rng.integers(0, 1100, 700).tolist():
            at_once.free[server] = count = int(rng.integers(0, 5))
            set_free(steps, server, count)
        see_free(at_once)
        for made, kept in zip(at_once[:3], steps[:3], strict=True):
            assert np.array_equal(made, kept)
        assert np.array_equal(at_once.bits, steps.bits)


def test_pieces_are_laid_out_by_job_and_server() -> None:
    """As sorting them says."""
    rng = np.random.default_rng(3)
    pieces = rng.integers(1, 5, 50)
    order = rng.permutation(50)
    first_piece = np.empty(50, dtype=np.int64)
    first_piece[order] = np.concatenate(([0], np.cumsum(pieces[order])[:-1]))
    server = rng.integers(0, 2**20, pieces.sum()).astype(np.int32)
    taken = rng.integers(1, 1025, pieces.sum()).astype(np.int32)
    kept = np.flatnonzero(rng.random(50) < 0.8)
    first, heap = np.empty(len(kept) + 1, np.int64), np.empty(pieces.max(), np.int64)
    by_server, gpus = np.empty((2, pieces[kept].sum()), np.int32)
    piece = (server << SERVER) | taken
    lay_out_pieces(kept, first_piece, pieces, piece, heap, (first, by_server, gpus))
    assert first[-1] == len(gpus)
    for at, job in enumerate(kept):
        held = range(first_piece[job], first_piece[job] + pieces[job])
        there = slice(first[at], first[at + 1])
        expected = sorted((server[piece], taken[piece]) for piece in held)
        assert list(zip(by_server[there], gpus[there], strict=True)) == expected
