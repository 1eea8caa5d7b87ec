"""Layer profiles of real networks, and the planner that makes pipeline stages of them."""

from optsched.profiles.choice import Choice as Choice
from optsched.profiles.choice import Training as Training
from optsched.profiles.choice import bytes_per_gpu as bytes_per_gpu
from optsched.profiles.choice import choose_plan as choose_plan
from optsched.profiles.pipedream import read_pipedream as read_pipedream
from optsched.profiles.pipedream import write_pipedream as write_pipedream
from optsched.profiles.planner import Plan as Plan
from optsched.profiles.planner import plan_stages as plan_stages
from optsched.profiles.planner import plans as plans
from optsched.profiles.planner import stage_table as stage_table
from optsched.profiles.planner import stage_times as stage_times
from optsched.profiles.profile import Layer as Layer
from optsched.profiles.profile import LayerProfile as LayerProfile
