"""Tables and figures of the papers that state no result, and where their content is here."""

from __future__ import annotations

OTHERS = (
    ("a-srpt, Fig. 1", "three kinds of parallelism, drawn", "the job model of models/placement"),
    ("a-srpt, Fig. 2", "an example of a placement", "the instance placement/fig2"),
    ("a-srpt, Fig. 3", "the idea of A-SRPT, drawn", "models/online"),
    ("sjf-bco, Table 1", "notation", "models/makespan"),
    ("sjf-bco, Fig. 1", "a ring of three workers, drawn", "models/makespan"),
    ("sjf-bco, Fig. 2", "two ways to place two jobs", "the instance makespan/fig2"),
    ("sjf-bco, Fig. 3", "the idea of SJF-BCO, drawn", "models/makespan"),
    ("sts, Fig. 1", "the framework, drawn", "models/rolling"),
    ("sts, Tables I, II", "notation", "models/selection"),
    (
        "sts, Table III",
        "prices of GPUs by the hour",
        "what `optsched generate selection` draws from",
    ),
    ("sts, Table IV", "fractions of GPUs", "what `optsched generate selection` draws from"),
)
"""Where, what, and where here."""
