"""Layer profiles of real networks, and the planner that makes pipeline stages of them."""

from optsched.profiles.choice import Choice, choose_plan
from optsched.profiles.memory import Training, bytes_per_gpu
from optsched.profiles.pipedream import read_pipedream
from optsched.profiles.planner import Plan, plan_stages, plans, stage_table, stage_times
from optsched.profiles.profile import Layer, LayerProfile, Totals

__all__ = [
    "Choice",
    "Layer",
    "LayerProfile",
    "Plan",
    "Totals",
    "Training",
    "bytes_per_gpu",
    "choose_plan",
    "plan_stages",
    "plans",
    "read_pipedream",
    "stage_table",
    "stage_times",
]
