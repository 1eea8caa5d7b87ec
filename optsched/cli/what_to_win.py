"""``optsched what-to-win``: a page on what a better scheduler would win on a trace."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from optsched.cli.exit_codes import DONE
from optsched.cli.progress import RunProgress
from optsched.cli.settings import Seed, require_folder
from optsched.cli.show import note
from optsched.declared import Between, require
from optsched.declared import Seed as SeedRange
from optsched.errors import InputError, require_extras
from optsched.io.outputs import require_outputs
from optsched.online.data.cluster import MAX_SERVERS, OnlineCluster, read_cluster


def what_to_win(
    trace: Annotated[
        str, Argument(metavar="TRACE", help="A workload, or a trace that `optsched import` reads.")
    ],
    output: Annotated[str, Option("-o", metavar="DIR", help="Output folder.")],
    cluster: Annotated[
        str | None, Option(metavar="FILE", help="cluster.json. [default: beside a workload]")
    ] = None,
    servers: Annotated[
        int | None, Option(metavar="N", help="Number of servers, in place of --cluster.")
    ] = None,
    gpus_per_server: Annotated[
        int, Option("--gpus-per-server", metavar="G", help="With --servers: GPUs of each.")
    ] = 8,
    lengths: Annotated[
        Literal["trace", "cost-model"],
        Option(
            help="A job runs as long as the trace says, or longer where its GPUs are scattered.",
        ),
    ] = "trace",
    seed: Seed = 0,
) -> int:
    """Write a page: waiting under several schedulers, and how much of today's could be saved."""
    from optsched.experiments.what_to_win.page import FILES, write_page
    from optsched.experiments.what_to_win.study import study_trace
    from optsched.experiments.what_to_win.trace import cluster_beside, read_subject, workload_file

    source = "what-to-win"
    require_folder(output)
    require(source, "--seed", seed, SeedRange)
    require(source, "--servers", servers, Annotated[int, Between(1, MAX_SERVERS)] | None)
    require_extras(["matplotlib"])
    if cluster is not None and servers is not None:
        raise InputError(source, "", "--cluster and --servers", "one of them")
    require_outputs((Path(output) / name for name in FILES), [workload_file(trace), cluster])
    machine = None if cluster is None else read_cluster(cluster)
    if servers is not None:
        network = cluster_beside(trace) or OnlineCluster.of()
        bandwidths = network.inter_bandwidth, network.intra_bandwidth
        machine = OnlineCluster.of(servers, gpus_per_server, *bandwidths)
    subject = read_subject(trace, machine, lengths, seed)
    with RunProgress() as progress:
        study = study_trace(subject, seed=seed, progress=progress)
    write_page(study, output)
    saved = study.mean(study.today) - study.mean(study.best(False) or study.today)
    note(
        f"wrote {Path(output) / FILES[0]}: {study.mean(study.today):.2f} hours of waiting per job "
        f"under {study.today}; {study.best(False)} saves {saved:.2f}, no order saves more than "
        f"{study.mean(study.today) - study.least_running_on:.2f}"
    )
    return DONE
