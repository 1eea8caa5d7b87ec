"""Instances by name, what is known of each, and who proved it."""

from __future__ import annotations

from optsched.library.shipped import BEST_KNOWN as BEST_KNOWN
from optsched.library.shipped import ONLINE as ONLINE
from optsched.library.shipped import PLANS as PLANS
from optsched.library.shipped import WORKLOAD as WORKLOAD
from optsched.library.shipped import copy_shipped as copy_shipped
from optsched.library.shipped import files_behind as files_behind
from optsched.library.shipped import find as find
from optsched.library.shipped import load as load
from optsched.library.shipped import shipped_folder as shipped_folder
from optsched.library.shipped import shipped_names as shipped_names
from optsched.library.shipped import shipped_plans as shipped_plans
from optsched.library.shipped import workload_folder as workload_folder
