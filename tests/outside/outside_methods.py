"""A method of placement, and a policy over time, from outside."""

from optsched.problem import Method


def server_by_server(instance, options, settings):
    """Fill the servers one after another, stage by stage; the solution as plain data."""
    free, counts = list(instance.free_gpus), []
    for stage in instance.job.stages:
        left, row = stage.replicas, []
        for server, has in enumerate(free):
            row.append(min(left, has))
            free[server] -= row[-1]
            left -= row[-1]
        counts.append(row)
    document = {"schema": "optsched/placement-solution", "version": 1}
    return {**document, "instance": instance.name, "counts": counts}


class LatestFirst:
    """The job that came last goes first, on one GPU of the first node that has one free."""

    def schedule(self, view):
        from optsched.rolling.simulator.engine import Plan
        from optsched.selection.assignment import Placement

        seats, taken = {}, set()
        for job in sorted(range(len(view.jobs)), key=lambda j: -view.jobs[j]):
            for n, node in enumerate(view.world.instance.nodes):
                free = [gpu for gpu in range(node.gpus) if (n, gpu) not in taken]
                if free and view.tables.seconds[job, view.tables.kind_of[n], 0] < float("inf"):
                    taken.add((n, free[0]))
                    seats[job] = Placement(n, (free[0],), 0)
                    break
        return Plan(seats)


METHODS = {
    "placement": Method(
        "server-by-server",
        "heuristic",
        "fills the servers one after another",
        "outside_methods:server_by_server",
    ),
    "rolling": Method(
        "latest-first", "policy", "last come, first served", "outside_methods:LatestFirst"
    ),
}
