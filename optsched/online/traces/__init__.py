"""Importers of published traces, one function a format.

Each streams its file and yields `TraceRow`s or `Rejected` rows; `optsched.online.traces.importing`
collects them, counts what was dropped or changed, and draws each group's configuration.

Rules for every format, all counted in the report: a row that cannot be read is dropped, with its
line; a missing or negative submission is dropped; a missing, zero or negative duration is dropped;
0 GPUs (CPU jobs) are dropped; fractional GPUs are rounded up, since jobs here do not share a GPU;
unsorted rows are sorted by (submission, row).
"""

from __future__ import annotations

from optsched.online.traces.importing import FORMATS, import_trace
from optsched.online.traces.trace import ImportReport, Trace

__all__ = ["FORMATS", "ImportReport", "Trace", "import_trace"]
