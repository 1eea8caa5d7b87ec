"""Importers of traces, by the name of `optsched import`.

Each streams its file and yields a `TraceRow` or a `RejectedRow` for every row;
`optsched.online.traces.trace` collects them and counts what was dropped or changed.
"""

from optsched.lazy_names import importer_of

FORMATS = (
    *("pai", "philly-csv", "philly-json", "helios", "muri", "chronus", "gavel", "swf"),
    *("csv", "sacct", "kubernetes"),
)

__getattr__ = importer_of(
    __name__, {"ImportReport": "trace", "Trace": "trace", "import_trace": "importing"}
)
