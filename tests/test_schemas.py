"""JSON Schemas: every field is described, every number has its unit, and files fit them."""

import itertools
import json
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from optsched.experiments.plans.plan import Family, Limits
from optsched.files import read_document
from optsched.io.schemas import SCHEMAS, json_schema
from optsched.library import shipped_folder, shipped_plans
from optsched.online.data.workload import COLUMNS
from optsched.online.data.workload_files import read_workload
from optsched.placement.instance import Stage
from optsched.problems import PROBLEMS

PLAIN_NUMBERS = {"version", "seed", "seeds", "first_seed"}
"""Fields that are numbers without a unit."""


def parts(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for model, part in [(schema["title"], schema), *schema.get("$defs", {}).items()]:
        for name, field in part.get("properties", {}).items():
            yield f"{model}.{name}", field


def leaves(field: Any) -> set[str]:
    """The plain types that a field may hold, however deep in arrays."""
    if isinstance(field, list):
        return set().union(*map(leaves, field))
    if not isinstance(field, dict) or not field:
        return set()
    inner = [field.get(key, {}) for key in ("anyOf", "items", "prefixItems")]
    inner.append(field.get("additionalProperties", {}))
    kinds = {field["type"]} if isinstance(field.get("type"), str) else set()
    return (kinds - {"array", "object", "null"}).union(*map(leaves, inner))


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_field_has_a_description_a_unit_and_an_example(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["description"]
    assert "Attributes" not in json.dumps(schema)
    fields = dict(parts(schema))
    assert len(fields) >= 5
    for path, field in fields.items():
        assert field.get("description", "").endswith("."), path
        held = leaves(field)
        if held & {"number", "integer"} and path.partition(".")[2] not in PLAIN_NUMBERS:
            assert field.get("unit"), path
        if held and "const" not in field:
            (example,) = field["examples"]
            jsonschema.validate(example, {**field, "$defs": schema.get("$defs", {})})


def test_each_problem_has_a_schema_for_its_instances_and_solutions() -> None:
    wanted = {f"{name}-solution" for name in PROBLEMS} | set(PROBLEMS) - {"online"}
    others = {"workload", "cluster", "catalogue", "plan", "online-state"}
    others |= {"online-decision"}
    assert set(SCHEMAS) == wanted | others


def test_what_ships_fits_its_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    folder = shipped_folder()
    seen = set()
    for path in sorted(folder.rglob("*.json")):
        document = read_document(path)
        name = str(document.get("schema", "")).removeprefix("optsched/")
        if name in SCHEMAS and name not in seen:
            jsonschema.validate(document, json_schema(name))
            seen.add(name)
    assert seen == set(PROBLEMS) - {"online"} | {"cluster", "catalogue"}
    for plan in shipped_plans():
        text = (folder / f"{plan}.toml").read_text(encoding="utf-8")
        jsonschema.validate(tomllib.loads(text), json_schema("plan"))


def test_the_schema_of_a_workload_is_that_of_its_rows() -> None:
    jsonschema, schema = pytest.importorskip("jsonschema"), json_schema("workload")
    table = read_workload(shipped_folder() / "online" / "small-400x40" / "workload.csv")
    numbers = (table.job_id, table.submit_time, table.gpus, table.iterations)
    columns = [column.tolist() for column in numbers]
    columns += [column.text() for column in (table.user, table.group, table.model)]
    for row in itertools.islice(zip(*columns, strict=True), 20):
        jsonschema.validate(dict(zip(COLUMNS, row, strict=True)), schema)
    without_gpus = dict(zip(COLUMNS, ("j", 0.0, 0, 1.0, "", "", "m"), strict=True))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(without_gpus, schema)


def test_a_plan_has_the_keys_that_its_reader_takes() -> None:
    schema = json_schema("plan")
    parts = {name: set(part["properties"]) for name, part in schema["$defs"].items()}
    assert parts["Family"] == set(Family.model_fields) - {"recipe_of"}
    assert parts["Limits"] == set(Limits.model_fields)
    assert set(schema["properties"]) == {"name", "description", "limits", "families"}


def test_a_docstring_has_the_fields_as_the_schema_says_them() -> None:
    field = json_schema("placement")["$defs"]["Stage"]["properties"]["forward_time"]
    doc = Stage.__doc__ or ""
    assert f"forward_time : float\n    {field['description']} Unit: {field['unit']}." in doc
    assert doc.count("Attributes") == 1
