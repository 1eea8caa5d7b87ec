"""The arc-flow model behind method ``columns``: numbered columns and rows, as HiGHS is given them.

A leader takes a node and leaves its other GPUs as a residue; arcs cut the residue into dedicated
slots and shared GPUs, by GPU type alone, since a follower's cost does not depend on the node.

- sets: job j, class v of N_v nodes, type t of v, configuration c of t (L: a leader's), u GPUs in
  use on a node, residue r = u - |L|; fill: how many of each fraction share a GPU, around the
  leading fraction lf or none
- columns, in this order: z_j waits; b[j,t,c] follows; x[t,r,k] cuts k dedicated GPUs off r,
  x[t,r,S] one shared GPU; g[t,fill,lf] shared GPUs filled so; l[j,v,L,u] leads;
  y[v,L,u] = sum_j l[j,v,L,u]. x, g and y are whole; z, b and l are so at a vertex
- (P1.1) min sum_j post_j z_j + sum late[j,t,c] b[j,t,c] + sum (late[j,t,L] + E[j,t,L] c_vu)
  l[j,v,L,u]
- (4') every j: z_j + sum b + sum l = 1
- (5') every v: sum l <= N_v
- (13'') every (t,r): sum of x that leave r <= sum of l with u - |L| = r, and of x that end at r
- (9') every t: sum of g without lf <= sum_r x[t,r,S]; every (t,lf): sum g <= sum of l with L = lf
- (11') every (t,c): sum_j b[j,t,c] <= sum_r x[t,r,c], for a fraction sum of g times its slots
- (16) sum l = min(|J|, |N|), where so many nodes must open
- (17) every (v,L,u): sum_j l = y

`programme` is the linear relaxation over some leaders, `with_integers` the whole; `arcs_in_pyomo`
names its columns and rows, `arc_decode` seats jobs by its values. Money is in units of
`Skeleton.unit` dollars. Symbol table: models/selection/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, vstack

from optsched.backends import MilpArrays
from optsched.errors import NotApplicableError
from optsched.selection.cost import NodeClass, Tables
from optsched.selection.models.packings import maximal_fills, read, written

MAX_FILLS = 2_000

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Everything but the leaders: arcs, fills, followers, and the numbers of the rows.

    Attributes
    ----------
    classes : tuple of NodeClass
        v; the true ones, or groups of nodes at their mean costs.
    arcs : list of (t, r, k)
        Cut k dedicated GPUs off residue r; k = 0: one shared GPU.
    fills : list of (t, fill, lf)
        Fill of a shared GPU, with the leading fraction's configuration or -1.
    followers : int array, (j, t, c) a row
        Followers that beat postponing.
    settled : int array
        Jobs that may not wait.
    """

    tables: Tables
    classes: tuple[NodeClass, ...]
    arcs: list[tuple[int, int, int]]
    fills: list[tuple[int, str, int]]
    followers: Ints
    settled: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @cached_property
    def unit(self) -> float:
        """Dollars of one unit of the model's money."""
        return self.tables.dollars

    @cached_property
    def first_rows(self) -> dict[str, int]:
        """The first row of each family: job, class, residue, plain, slot, led, opening; end."""
        kinds = self.tables.kinds
        widest, t = max(len(kind.configurations) for kind in kinds), len(kinds)
        sizes = [self.tables.jobs, len(self.classes), t * widest, t, t * widest, t * widest]
        sizes.append(int(self.tables.options.opens_exactly))
        names = ("job", "class", "residue", "plain", "slot", "led", "opening", "end")
        return dict(zip(names, (0, *accumulate(sizes)), strict=True))

    @cached_property
    def kinds(self) -> Ints:
        """The GPU type of each class."""
        return np.array([each.kind for each in self.classes], dtype=np.int64)

    @property
    def widest(self) -> int:
        """Configurations of the type that has most."""
        return int(self.tables.late.shape[2])

    def row(self, family: str, t: int, index: int = 0) -> int:
        """A row of a family numbered by type and index."""
        width = 1 if family == "plain" else self.widest
        return self.first_rows[family] + t * width + index

    def dollars(self, leaders: Ints) -> Floats:
        """late[j,t,L] + E[j,t,L] c_vu of leaders (j, v, L, u), one a row."""
        j, v, c, used = leaders.T
        kinds = self.kinds[v]
        energy = self.tables.expected[j, kinds, c] * self.rates[v, used - 1]
        return self.tables.late[j, kinds, c] + energy

    def rooms(self, t: int, fill: str, leader: int) -> list[tuple[int, int]]:
        """(configuration, slots) that a fill offers to followers."""
        fractions = self.tables.kinds[t].fractions
        counts = zip(fractions, read(fill), strict=True)
        return [(c, n - (c == leader)) for c, n in counts if n > (c == leader)]

    @cached_property
    def fill_rooms(self) -> list[tuple[Ints, Floats]]:
        """By type its fills' leaders, and slots offered to followers, fills x configurations."""
        found = []
        for t in range(len(self.tables.kinds)):
            here = [(fill, leader) for kind, fill, leader in self.fills if kind == t]
            rooms = np.zeros((len(here), self.widest))
            for row, (fill, leader) in zip(rooms, here, strict=True):
                for c, number in self.rooms(t, fill, leader):
                    row[c] = number
            found.append((np.array([leader for _, leader in here], dtype=np.int64), rooms))
        return found

    def uses(self, v: int) -> list[tuple[int, int]]:
        """(L, u) that a node of class v can have: leader's configuration, GPUs used."""
        each = self.classes[v]
        kind = self.tables.kinds[each.kind]
        return [
            (c, used)
            for c in kind.within(each.gpus)
            for used in range(kind.configurations[c].gpus, each.gpus + 1)
        ]

    def leader_costs(self, v: int) -> Floats:
        """Costs of class v's leaders, jobs x `uses`, dollars; infinite where not usable."""
        each = self.classes[v]
        c, used = np.array(self.uses(v)).T
        late, expected = self.tables.late[:, each.kind, c], self.tables.expected[:, each.kind, c]
        rates = np.array(each.cost_rate)[used - 1]
        fits = np.isfinite(late)
        energy = np.where(fits, expected, 0.0) * rates
        return np.where(fits, late + energy, np.inf)

    def all_leaders(self) -> Ints:
        """Every (j, v, L, u), one a row."""
        found = []
        for v in range(len(self.classes)):
            jobs, uses = np.nonzero(np.isfinite(self.leader_costs(v)))
            pairs = np.array(self.uses(v))[uses]
            found.append(np.column_stack([jobs, np.full(len(jobs), v), pairs]))
        return np.concatenate(found)

    def leader_columns(self, leaders: Ints) -> tuple[Floats, csr_array]:
        """Costs (in units) and coefficients of leader columns, one column a row."""
        jobs = (np.arange(len(leaders)), leaders[:, 0], 1.0)
        entries = [jobs, *self.node_entries(leaders[:, 1:])]
        columns = sparse(entries, (len(leaders), self.first_rows["end"]))
        return self.dollars(leaders) / self.unit, columns

    def node_entries(self, uses: Ints) -> list:
        """Coefficients of leaders (v, L, u), one a row, but those of the jobs' rows."""
        v, c, used = uses.T
        kinds, index, start = self.kinds[v], np.arange(len(v)), self.first_rows
        gpus, shares = self._sizes
        residue = used - gpus[kinds, c]
        left, shared = residue > 0, shares[kinds, c]
        entries = [
            (index, start["class"] + v, 1.0),
            (index[left], (start["residue"] + kinds * self.widest + residue)[left], -1.0),
            (index[shared], (start["led"] + kinds * self.widest + c)[shared], -1.0),
        ]
        if self.tables.options.opens_exactly:
            entries.append((index, np.full(len(index), start["opening"]), 1.0))
        return entries

    def programme(self, leaders: Ints) -> MilpArrays:
        """The linear programme over given leaders: z, b, x, g, l in that order."""
        cost, matrix = self.fixed
        more, columns = self.leader_columns(leaders)
        both = vstack([matrix, columns]).T
        lower, upper = self.row_bounds
        count = len(cost) + len(more)
        return MilpArrays(
            np.concatenate((cost, more)),
            csr_array(both),
            lower,
            upper,
            np.zeros(count),
            np.full(count, np.inf),
            np.zeros(count, dtype=bool),
        )

    def with_integers(self, leaders: Ints) -> MilpArrays:
        """The same with whole arcs and fills, and whole counts y[v,L,u] = sum_j l at its end."""
        base = self.programme(leaders)
        uses, inverse = np.unique(leaders[:, 1:], axis=0, return_inverse=True)
        first, rows = len(base.cost) - len(leaders), base.matrix.shape[0]
        leading = np.arange(len(leaders))
        entries = [
            (rows + inverse.ravel(), first + leading, 1.0),
            (rows + np.arange(len(uses)), len(base.cost) + np.arange(len(uses)), -1.0),
        ]
        old = base.matrix.tocoo()
        entries.append((old.coords[0], old.coords[1], old.data))
        integer = np.concatenate((base.integer, np.ones(len(uses), dtype=bool)))
        integer[self.slices["arcs"]] = True
        integer[self.slices["fills"]] = True
        count = len(integer)
        upper = np.full(count, np.inf)
        upper[self.slices["postponed"]][self.settled] = 0.0
        return MilpArrays(
            np.concatenate((base.cost, np.zeros(len(uses)))),
            sparse(entries, (rows + len(uses), count)),
            np.concatenate((base.row_lower, np.zeros(len(uses)))),
            np.concatenate((base.row_upper, np.zeros(len(uses)))),
            np.zeros(count),
            upper,
            integer,
        )

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each family of variables stands."""
        jobs, b = self.tables.jobs, len(self.followers)
        x, g = len(self.arcs), len(self.fills)
        ends = [0, *accumulate((jobs, b, x, g))]
        names = ("postponed", "followers", "arcs", "fills")
        made = {name: slice(a, e) for name, a, e in zip(names, ends, ends[1:], strict=False)}
        return {**made, "leaders": slice(ends[-1], None)}

    @cached_property
    def _sizes(self) -> tuple[Ints, NDArray[np.bool_]]:
        """GPUs of each configuration by type, and whether it shares."""
        gpus = np.zeros((len(self.tables.kinds), self.widest), dtype=np.int64)
        shares = np.zeros(gpus.shape, dtype=bool)
        for t, kind in enumerate(self.tables.kinds):
            for c, each in enumerate(kind.configurations):
                gpus[t, c], shares[t, c] = each.gpus, each.shares
        return gpus, shares

    @cached_property
    def rates(self) -> Floats:
        """Dollars per second by class and GPUs used, infinite beyond its GPUs."""
        most = max(each.gpus for each in self.classes)
        rates = np.full((len(self.classes), most), np.inf)
        for v, each in enumerate(self.classes):
            rates[v, : each.gpus] = each.cost_rate
        return rates

    @cached_property
    def row_bounds(self) -> tuple[Floats, Floats]:
        """What each row lies between."""
        start = self.first_rows
        lower, upper = np.full(start["end"], -np.inf), np.zeros(start["end"])
        lower[: self.tables.jobs] = upper[: self.tables.jobs] = 1.0
        sizes = [float(len(each.nodes)) for each in self.classes]
        upper[start["class"] : start["residue"]] = sizes
        lower[start["opening"] :] = upper[start["opening"] :] = self.tables.most_open
        return lower, upper

    @cached_property
    def fixed(self) -> tuple[Floats, csr_array]:
        """Costs and coefficients of z, b, x and g, one column a row."""
        jobs, where = self.tables.jobs, self.slices
        columns = where["fills"].stop
        cost = np.zeros(columns)
        cost[where["postponed"]] = self.tables.postponed / self.unit
        entries = [(np.arange(jobs), np.arange(jobs), 1.0)]
        if len(self.followers):
            j, t, c = self.followers.T
            cost[where["followers"]] = self.tables.late[j, t, c] / self.unit
            index = where["followers"].start + np.arange(len(j))
            entries.append((index, j, 1.0))
            entries.append((index, self.first_rows["slot"] + t * self.widest + c, 1.0))
        triples = [
            (where["arcs"].start + i, *each)
            for i, arc in enumerate(self.arcs)
            for each in self._arc_entries(*arc)
        ]
        triples += [
            (where["fills"].start + i, *each)
            for i, fill in enumerate(self.fills)
            for each in self._fill_entries(*fill)
        ]
        if triples:
            index, rows, values = np.array(triples).T
            entries.append((index.astype(np.int64), rows.astype(np.int64), values))
        return cost, sparse(entries, (columns, self.first_rows["end"]))

    def _arc_entries(self, t: int, r: int, k: int) -> list[tuple[int, float]]:
        entries = [(self.row("residue", t, r), 1.0)]
        if r > max(k, 1):
            entries.append((self.row("residue", t, r - max(k, 1)), -1.0))
        slot = self.row("slot", t, k - 1) if k else self.row("plain", t)
        return [*entries, (slot, -1.0)]

    def _fill_entries(self, t: int, fill: str, leader: int) -> list[tuple[int, float]]:
        gpu = self.row("plain", t) if leader < 0 else self.row("led", t, leader)
        rooms = [(self.row("slot", t, c), -float(n)) for c, n in self.rooms(t, fill, leader)]
        return [(gpu, 1.0), *rooms]


def skeleton_of(
    tables: Tables,
    classes: tuple[NodeClass, ...] | None = None,
    *,
    every_follower: bool = False,
) -> Skeleton:
    """Enumerate arcs, fills and followers: all, or those that beat postponing."""
    arcs, fills = [], []
    for t, kind in enumerate(tables.kinds):
        for r in range(1, kind.gpus):
            arcs += [(t, r, k) for k in range(1, r + 1)]
            arcs += [(t, r, 0)] if kind.fractions else []
        fractions = tuple(kind.configurations[c].fraction for c in kind.fractions)
        found = maximal_fills(fractions, MAX_FILLS)
        if found is None:
            name = f"too many fills of a GPU of {kind.name}"
            raise NotApplicableError("columns", name, f"at most {MAX_FILLS}")
        for fill in found:
            fills.append((t, written(fill), -1))
            pairs = zip(kind.fractions, fill, strict=True)
            fills += [(t, written(fill), c) for c, count in pairs if count]
    most = np.inf if every_follower else tables.postponed[:, None, None]
    worth = tables.late < most
    for t, kind in enumerate(tables.kinds):
        worth[:, t, len(kind.configurations) :] = False
    return Skeleton(tables, classes or tables.classes, arcs, fills, np.argwhere(worth))


def sparse(entries: list, shape: tuple[int, int]) -> csr_array:
    """A matrix of entries (rows, columns, values)."""
    rows = np.concatenate([np.asarray(e[0], dtype=np.int64) for e in entries])
    columns = np.concatenate([np.asarray(e[1], dtype=np.int64) for e in entries])
    values = np.concatenate([np.broadcast_to(e[2], np.shape(e[0])) for e in entries])
    return csr_array(coo_array((values.astype(float), (rows, columns)), shape=shape))
