"""Reproductions of the papers' tables and figures, each a named artefact."""

from __future__ import annotations

from optsched.experiments.artefacts import ARTEFACTS, reproduce

__all__ = ["ARTEFACTS", "reproduce"]
