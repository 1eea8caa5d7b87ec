"""Importers of published traces, one function a format.

Each streams its file and yields `TraceRow`s or `Rejected` rows; `optsched.online.traces.importing`
collects them, counts what was dropped or changed, and draws each group's configuration.

Rules for every format, all counted in the report: a row that cannot be read is dropped, with its
line; a missing or negative submission is dropped; a missing, zero or negative duration is dropped;
0 GPUs (CPU jobs) are dropped; fractional GPUs are rounded up, since jobs here do not share a GPU;
unsorted rows are sorted by (submission, row).
"""

from __future__ import annotations

from optsched.lazy_names import importer_of

_HERE = "optsched.online.traces"

FORMATS = {
    "pai": f"{_HERE}.formats:read_pai",
    "philly-csv": f"{_HERE}.formats:read_philly_csv",
    "philly-json": f"{_HERE}.philly_json:read_philly_json",
    "helios": f"{_HERE}.formats:read_helios",
    "muri": f"{_HERE}.formats:read_muri",
    "chronus": f"{_HERE}.formats:read_chronus",
    "gavel": f"{_HERE}.formats:read_gavel",
    "swf": f"{_HERE}.formats:read_swf",
}
"""Importers by the name of `optsched import`."""
__getattr__ = importer_of(
    __name__, {"ImportReport": "trace", "Trace": "trace", "import_trace": "importing"}
)
