"""JSON Schemas of the file formats, made from the classes that read them."""

import inspect
from typing import Any

from optsched.problem import resolve
from optsched.problems import PROBLEMS
from optsched.schema import FIELDS

SCHEMAS: dict[str, str] = {
    name: reference
    for problem in PROBLEMS.values()
    for name, reference in (
        (problem.name, problem.instance),
        (f"{problem.name}-solution", problem.solution),
    )
} | {
    "workload": "optsched.online.data.workload_files:row_schema",
    "cluster": "optsched.online.data.cluster:OnlineCluster",
    "catalogue": "optsched.online.data.catalogue:Catalogue",
    "online-state": "optsched.online.state:OnlineState",
    "online-decision": "optsched.online.state:OnlineDecision",
    "plan": "optsched.experiments.plans.plan:plan_schema",
}
del SCHEMAS["online"]  # a workload is a table; "workload" is the schema of its rows


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a format, with description, unit and example by field.

    Rules between fields (sums, transfers that must agree) are left to `optsched.load`.

    Parameters
    ----------
    name : str
        Such as "placement", "placement-solution", "plan" (of a TOML file's content), "workload"
        (of a row of the table), "catalogue" or "cluster"; all are keys of `SCHEMAS`.

    Returns
    -------
    dict
        The schema. ``unit`` is next to ``description`` where a number has one.

    Examples
    --------
    >>> json_schema("cluster")["properties"]["inter_bandwidth"]["unit"]
    'bytes/s'
    """
    source = resolve(SCHEMAS[name])
    schema = source() if inspect.isfunction(source) else source.model_json_schema(by_alias=True)
    for part in (schema, *schema.get("$defs", {}).values()):
        if "description" in part:  # a docstring, without the section that repeats the fields
            part["description"] = inspect.cleandoc(part["description"].partition(FIELDS)[0])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
