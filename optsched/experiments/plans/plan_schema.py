"""The JSON Schema of a sweep plan: of what its TOML says, as `read_plan` reads it."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from optsched.declared import About, Seed
from optsched.experiments.plans.plan import Count, Limits

_NAME = {"type": "string", "maxLength": 500}
_NAMES = {"anyOf": [_NAME, {"type": "array", "items": _NAME, "minItems": 1, "uniqueItems": True}]}
_LIMITS = {"$ref": "#/$defs/Limits"}


def plan_schema() -> dict[str, Any]:
    """The schema; that names exist and methods fit the problem is left to `read_plan`."""
    seed, count = TypeAdapter(Seed).json_schema(), TypeAdapter(Count).json_schema()
    seeds = {"anyOf": [count, {"type": "array", "items": seed, "minItems": 1, "uniqueItems": True}]}
    limits = TypeAdapter(Limits).json_schema() | {"additionalProperties": False}
    family = {
        "name": _of(_NAME, "The name of its table.", example="placement"),
        "instances": _of(
            _NAMES,
            "Shipped names, files, folders or globs, relative to the plan's folder.",
            example=["placement/vgg19-16"],
        ),
        "generator": _of(
            _NAME, "Instead of instances, a kind of `optsched generate`.", example="placement"
        ),
        "arguments": _of(
            {"type": "object"},
            "What the generator is given, by name.",
            example={"model": "GPT-13B", "gpus": 32},
        ),
        "count": _of(count, "Instances that the generator makes.", "instances", 20),
        "first_seed": _of(seed, "The seed of the first; the others follow.", example=0),
        "methods": _of(
            _NAMES,
            "What is run; by default the methods of `optsched compare`.",
            example=["heavy-edge", "exact"],
        ),
        "seeds": _of(seeds, "Each method runs once a seed: a list, or how many.", example=5),
        "options": _of(
            {"type": "object"},
            "The problem's options, by name.",
            example={"all_reduce_bandwidth": "bottleneck"},
        ),
        "limits": _of(_LIMITS, "The plan's, with these on top."),
    }
    one_source = [{"required": ["instances"]}, {"required": ["generator"]}]
    families = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Family"}}
    return {
        "title": "Plan",
        "description": "A sweep: families of instances, and what is run on them.",
        **_object(
            {
                "name": _of(_NAME, "The plan's name; by default the file's.", example="small"),
                "description": _of(_NAME, "What it is for.", example="Heuristics and bounds"),
                "limits": _of(_LIMITS, "What a method may use on one instance."),
                "families": _of(families, "Instances that belong together, with their methods."),
            },
            ["families"],
        ),
        "$defs": {"Limits": limits, "Family": _object(family, ["name"]) | {"oneOf": one_source}},
    }


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "additionalProperties": False}
    return made | {"properties": properties, "required": required}


def _of(schema: dict[str, Any], says: str, unit: str = "", example: Any = None) -> dict[str, Any]:
    return schema | About(says, unit, example).keywords
