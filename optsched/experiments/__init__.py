"""Sweeps and their result stores, gap tables, reports, and reproductions of the papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optsched.lazy_names import importer_of

if TYPE_CHECKING:
    from optsched.experiments.papers.artefacts import ARTEFACTS as ARTEFACTS
    from optsched.experiments.papers.artefacts import reproduce as reproduce
    from optsched.experiments.plans.plan import read_plan as read_plan
    from optsched.experiments.report.page import write_report as write_report
    from optsched.experiments.report.table import gap_table as gap_table
    from optsched.experiments.run.runner import sweep as sweep

_MODULES = {
    "ARTEFACTS": "papers.artefacts",
    "gap_table": "report.table",
    "read_plan": "plans.plan",
    "reproduce": "papers.artefacts",
    "sweep": "run.runner",
    "write_report": "report.page",
}
__all__ = [*_MODULES]
__getattr__ = importer_of(__name__, _MODULES)
