"""The tables of a result store. Raise SCHEMA when one changes."""

from __future__ import annotations

SCHEMA = 1
APPLICATION = 0x6F707473
"""SQLite's application id: "opts" in ASCII."""

TIMES = ("build_time", "solve_time", "unit_time", "finished")
"""Columns that differ between two runs of one unit."""

TABLES = """
CREATE TABLE instances (
    sha256 TEXT PRIMARY KEY, problem TEXT NOT NULL, name TEXT NOT NULL, document TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE plans (
    name TEXT PRIMARY KEY, sha256 TEXT NOT NULL, text TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE members (
    plan TEXT NOT NULL, number INTEGER NOT NULL, family TEXT NOT NULL, key TEXT NOT NULL,
    sha256 TEXT NOT NULL, method TEXT NOT NULL, options TEXT NOT NULL, settings TEXT NOT NULL,
    seed INTEGER NOT NULL, version TEXT NOT NULL, PRIMARY KEY (plan, number)
) WITHOUT ROWID;
CREATE INDEX members_by_key ON members (key);
CREATE TABLE results (
    key TEXT PRIMARY KEY, sha256 TEXT NOT NULL, problem TEXT NOT NULL, instance TEXT NOT NULL,
    method TEXT NOT NULL, options TEXT NOT NULL, settings TEXT NOT NULL, seed INTEGER NOT NULL,
    version TEXT NOT NULL, status TEXT NOT NULL, message TEXT, termination TEXT NOT NULL,
    objective REAL, bound REAL, bound_source TEXT, chosen TEXT, solver TEXT, solver_version TEXT,
    feasible INTEGER, violations TEXT, details TEXT, solution TEXT,
    build_time REAL, solve_time REAL, unit_time REAL, finished TEXT
) WITHOUT ROWID;
CREATE TABLE runs (
    number INTEGER PRIMARY KEY, plan TEXT NOT NULL, command TEXT NOT NULL, workers TEXT NOT NULL,
    environment TEXT NOT NULL, started TEXT NOT NULL
);
"""
