"""Arc-flow model of method ``columns``, as arrays for HiGHS.

A leader takes a node and leaves its other GPUs as a residue; arcs cut the residue into dedicated
slots and shared GPUs, by GPU type alone, since a follower's cost does not depend on the node.

- sets: job j, class v of N_v nodes, type t of v, configuration c of t (L: a leader's), u GPUs in
  use on a node, residue r = u - |L|; fill: how many of each fraction share a GPU, around the
  leading fraction lf or none
- columns, in this order: z_j waits; b[j,t,c] follows; x[t,r,k] cuts k dedicated GPUs off r,
  x[t,r,S] one shared GPU; g[t,fill,lf] shared GPUs filled so; l[j,v,L,u] leads;
  y[v,L,u] = sum_j l[j,v,L,u]. x, g, y are integer; z, b, l are integral at every vertex
- rows: "Model 4" in models/selection/README.md

`relaxation` is the linear relaxation over some leaders, `with_integers` the whole; `arcs_in_pyomo`
names its columns and rows, `arc_decode` places jobs by its values. Money is in units of
`Tables.money_unit` dollars.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, vstack

from optsched.arrays import Floats as Floats
from optsched.arrays import Ints as Ints
from optsched.backends.arrays import MilpArrays
from optsched.selection.cost import NodeClass, Tables
from optsched.selection.models.packings import decode_counts, fills_by_leader


@dataclass(frozen=True, eq=False)
class ArcFlow:
    """Arc-flow model without leader columns: arcs, fills, followers, row numbers."""

    tables: Tables
    classes: tuple[NodeClass, ...]
    """The true classes v, or groups of nodes at their mean costs."""
    arcs: list[tuple[int, int, int]]
    """(t, r, k): cut k dedicated GPUs off residue r; k = 0: one shared GPU."""
    fills: list[tuple[int, str, int]]
    """(t, fill, lf): a shared GPU's fill, with the leader's configuration or -1."""
    followers: Ints
    """(j, t, c) in each row: followers cheaper than postponing, or all."""
    must_run: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Jobs that may not be postponed."""

    @cached_property
    def first_rows(self) -> dict[str, int]:
        """The first row of each family of constraints, and the number of all rows ("end")."""
        types = len(self.tables.kinds)
        table = types * self.max_configurations
        sizes = {"job": self.tables.jobs, "class": len(self.classes), "residue": table}
        sizes |= {"shared_gpu": types, "slot": table, "leader_gpu": table}
        sizes["opening"] = int(self.tables.options.opens_exactly)
        return dict(zip((*sizes, "end"), (0, *accumulate(sizes.values())), strict=True))

    @cached_property
    def kinds(self) -> Ints:
        """The GPU type of each class."""
        return np.array([node_class.kind for node_class in self.classes], dtype=np.int64)

    @property
    def max_configurations(self) -> int:
        return int(self.tables.tardiness_cost.shape[2])

    def row(self, family: str, t: int, index: int = 0) -> int:
        """A row of a family numbered by type and index."""
        width = 1 if family == "shared_gpu" else self.max_configurations
        return self.first_rows[family] + t * width + index

    def dollars(self, leaders: Ints) -> Floats:
        """late[j,t,L] + E[j,t,L] c_vu of leaders (j, v, L, u), one a row."""
        j, v, c, used = leaders.T
        kinds = self.kinds[v]
        energy = self.tables.expected[j, kinds, c] * self.rates[v, used - 1]
        return self.tables.tardiness_cost[j, kinds, c] + energy

    def follower_slots(self, t: int, fill: str, leader: int) -> list[tuple[int, int]]:
        """(configuration, slots) that a fill offers to followers."""
        fractions = self.tables.kinds[t].fractions
        counts = zip(fractions, decode_counts(fill), strict=True)
        return [(c, n - (c == leader)) for c, n in counts if n > (c == leader)]

    @cached_property
    def slots_by_fill(self) -> list[tuple[Ints, Floats]]:
        """By type its fills' leaders, and slots offered to followers, fills x configurations."""
        slots_by_type = []
        for t in range(len(self.tables.kinds)):
            fills = [(fill, leader) for kind, fill, leader in self.fills if kind == t]
            slots = np.zeros((len(fills), self.max_configurations))
            for row, (fill, leader) in zip(slots, fills, strict=True):
                for c, number in self.follower_slots(t, fill, leader):
                    row[c] = number
            slots_by_type.append((np.array([leader for _, leader in fills], dtype=np.int64), slots))
        return slots_by_type

    def leader_uses(self, v: int) -> list[tuple[int, int]]:
        """(L, u) that a node of class v can have: leader's configuration, GPUs used."""
        node_class = self.classes[v]
        kind = self.tables.kinds[node_class.kind]
        return [
            (c, used)
            for c in kind.configurations_within(node_class.gpus)
            for used in range(kind.configurations[c].gpus, node_class.gpus + 1)
        ]

    def leader_costs(self, v: int) -> Floats:
        """Costs of class v's leaders, jobs x `leader_uses`, dollars; infinite where not usable."""
        node_class = self.classes[v]
        c, used = np.array(self.leader_uses(v)).T
        tardiness_cost = self.tables.tardiness_cost[:, node_class.kind, c]
        expected = self.tables.expected[:, node_class.kind, c]
        rates = np.array(node_class.cost_rate)[used - 1]
        fits = np.isfinite(tardiness_cost)
        return np.where(fits, tardiness_cost + np.where(fits, expected, 0.0) * rates, np.inf)

    def all_leaders(self) -> Ints:
        """Every (j, v, L, u), one a row."""
        leaders_by_class = []
        for v in range(len(self.classes)):
            jobs, uses = np.nonzero(np.isfinite(self.leader_costs(v)))
            pairs = np.array(self.leader_uses(v))[uses]
            leaders_by_class.append(np.column_stack([jobs, np.full(len(jobs), v), pairs]))
        return np.concatenate(leaders_by_class)

    def leader_columns(self, leaders: Ints) -> tuple[Floats, csr_array]:
        """Costs (in units) and coefficients of leader columns, one column a row."""
        jobs = (np.arange(len(leaders)), leaders[:, 0], 1.0)
        entries = [jobs, *self.node_entries(leaders[:, 1:])]
        columns = sparse(entries, (len(leaders), self.first_rows["end"]))
        return self.dollars(leaders) / self.tables.money_unit, columns

    def node_entries(self, uses: Ints) -> list:
        """Coefficients of leaders (v, L, u), without the job rows."""
        v, c, used = uses.T
        kinds, index, start = self.kinds[v], np.arange(len(v)), self.first_rows
        gpus, shares = self._sizes
        residue, first = used - gpus[kinds, c], kinds * self.max_configurations
        has_residue, is_shared = residue > 0, shares[kinds, c]
        entries = [
            (index, start["class"] + v, 1.0),
            (index[has_residue], (start["residue"] + first + residue)[has_residue], -1.0),
            (index[is_shared], (start["leader_gpu"] + first + c)[is_shared], -1.0),
        ]
        if self.tables.options.opens_exactly:
            entries.append((index, np.full(len(index), start["opening"]), 1.0))
        return entries

    def relaxation(self, leaders: Ints) -> MilpArrays:
        """The LP relaxation over given leaders: columns z, b, x, g, l in that order."""
        cost, matrix = self.base_columns
        leader_costs, columns = self.leader_columns(leaders)
        lower, upper = self.row_bounds
        count = len(cost) + len(leader_costs)
        return MilpArrays(
            np.concatenate((cost, leader_costs)),
            csr_array(vstack([matrix, columns]).T),
            lower,
            upper,
            np.zeros(count),
            np.full(count, np.inf),
            np.zeros(count, dtype=bool),
        )

    def with_integers(self, leaders: Ints) -> MilpArrays:
        """MILP: integer arcs, fills and counts y[v,L,u] = sum_j l (last columns)."""
        base = self.relaxation(leaders)
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
        integer[self.slices["arcs"]] = integer[self.slices["fills"]] = True
        count = len(integer)
        upper = np.full(count, np.inf)
        upper[self.slices["postponed"]][self.must_run] = 0.0
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
        """Column range of each variable family."""
        sizes = {"postponed": self.tables.jobs, "followers": len(self.followers)}
        sizes |= {"arcs": len(self.arcs), "fills": len(self.fills)}
        ends = (*accumulate(sizes.values()), None)
        pairs = zip((*sizes, "leaders"), (0, *ends), ends, strict=False)
        return {name: slice(first, end) for name, first, end in pairs}

    @cached_property
    def _sizes(self) -> tuple[Ints, NDArray[np.bool_]]:
        """GPUs of each configuration by type, and whether it shares."""
        gpus = np.zeros((len(self.tables.kinds), self.max_configurations), dtype=np.int64)
        shares = np.zeros(gpus.shape, dtype=bool)
        for t, kind in enumerate(self.tables.kinds):
            for c, configuration in enumerate(kind.configurations):
                gpus[t, c], shares[t, c] = configuration.gpus, configuration.shares
        return gpus, shares

    @cached_property
    def rates(self) -> Floats:
        """Dollars per second by class and GPUs used, infinite beyond its GPUs."""
        max_gpus = max(node_class.gpus for node_class in self.classes)
        rates = np.full((len(self.classes), max_gpus), np.inf)
        for v, node_class in enumerate(self.classes):
            rates[v, : node_class.gpus] = node_class.cost_rate
        return rates

    @cached_property
    def row_bounds(self) -> tuple[Floats, Floats]:
        start = self.first_rows
        lower, upper = np.full(start["end"], -np.inf), np.zeros(start["end"])
        lower[: self.tables.jobs] = upper[: self.tables.jobs] = 1.0
        sizes = [float(len(node_class.nodes)) for node_class in self.classes]
        upper[start["class"] : start["residue"]] = sizes
        lower[start["opening"] :] = upper[start["opening"] :] = self.tables.max_open_nodes
        return lower, upper

    @cached_property
    def base_columns(self) -> tuple[Floats, csr_array]:
        """Costs and coefficients of z, b, x and g, one column a row."""
        jobs, columns_of = self.tables.jobs, self.slices
        columns = columns_of["fills"].stop
        cost = np.zeros(columns)
        cost[columns_of["postponed"]] = self.tables.postponement_cost / self.tables.money_unit
        entries = [(np.arange(jobs), np.arange(jobs), 1.0)]
        if len(self.followers):
            j, t, c = self.followers.T
            cost[columns_of["followers"]] = (
                self.tables.tardiness_cost[j, t, c] / self.tables.money_unit
            )
            index = columns_of["followers"].start + np.arange(len(j))
            entries.append((index, j, 1.0))
            entries.append((index, self.first_rows["slot"] + t * self.max_configurations + c, 1.0))
        triples = [
            (columns_of["arcs"].start + i, *entry)
            for i, arc in enumerate(self.arcs)
            for entry in self._arc_entries(*arc)
        ]
        triples += [
            (columns_of["fills"].start + i, *entry)
            for i, fill in enumerate(self.fills)
            for entry in self._fill_entries(*fill)
        ]
        if triples:
            index, rows, values = np.array(triples).T
            entries.append((index.astype(np.int64), rows.astype(np.int64), values))
        return cost, sparse(entries, (columns, self.first_rows["end"]))

    def _arc_entries(self, t: int, r: int, k: int) -> list[tuple[int, float]]:
        entries = [(self.row("residue", t, r), 1.0)]
        if r > max(k, 1):
            entries.append((self.row("residue", t, r - max(k, 1)), -1.0))
        slot = self.row("slot", t, k - 1) if k else self.row("shared_gpu", t)
        return [*entries, (slot, -1.0)]

    def _fill_entries(self, t: int, fill: str, leader: int) -> list[tuple[int, float]]:
        gpu = self.row("shared_gpu", t) if leader < 0 else self.row("leader_gpu", t, leader)
        slots = [
            (self.row("slot", t, c), -float(n)) for c, n in self.follower_slots(t, fill, leader)
        ]
        return [(gpu, 1.0), *slots]


def arc_flow_of(
    tables: Tables,
    classes: tuple[NodeClass, ...] | None = None,
    *,
    every_follower: bool = False,
) -> ArcFlow:
    """Enumerate arcs, fills and followers: all, or those that beat postponing."""
    arcs, fills = [], []
    for t, kind in enumerate(tables.kinds):
        for r in range(1, kind.gpus):
            arcs += [(t, r, k) for k in range(1, r + 1)]
            arcs += [(t, r, 0)] if kind.fractions else []
        fills += [(t, fill, leader) for fill, leader in fills_by_leader(kind, "columns")]
    max_cost = np.inf if every_follower else tables.postponement_cost[:, None, None]
    is_worthwhile = tables.tardiness_cost < max_cost
    for t, kind in enumerate(tables.kinds):
        is_worthwhile[:, t, len(kind.configurations) :] = False
    return ArcFlow(tables, classes or tables.classes, arcs, fills, np.argwhere(is_worthwhile))


def sparse(entries: list, shape: tuple[int, int]) -> csr_array:
    """A matrix of entries (rows, columns, values)."""
    rows = np.concatenate([np.asarray(e[0], dtype=np.int64) for e in entries])
    columns = np.concatenate([np.asarray(e[1], dtype=np.int64) for e in entries])
    values = np.concatenate([np.broadcast_to(e[2], np.shape(e[0])) for e in entries])
    return csr_array(coo_array((values.astype(float), (rows, columns)), shape=shape))
