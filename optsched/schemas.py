"""JSON Schemas of the file formats, made from the classes that read them."""

from __future__ import annotations

from typing import Any

from optsched.problem import resolve
from optsched.problems import PROBLEMS

SCHEMAS: dict[str, str] = {
    name: reference
    for problem in PROBLEMS.values()
    for name, reference in (
        (problem.name, problem.instance),
        (f"{problem.name}-solution", problem.solution),
    )
} | {
    "cluster": "optsched.online.data.cluster:OnlineCluster",
    "catalogue": "optsched.online.data.catalogue:Catalogue",
}
del SCHEMAS["online"]  # a workload is a table: its schema is its columns


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a format such as "placement" or "placement-solution".

    Rules between fields (sums, transfers that must agree) are left to `optsched.load`.
    """
    made: dict[str, Any] = resolve(SCHEMAS[name]).model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
