"""The benchmark library: instances, best values, bounds and their proofs."""

from optsched.library.shipped import BEST_KNOWN as BEST_KNOWN
from optsched.library.shipped import WORKLOAD as WORKLOAD
from optsched.library.shipped import copy_shipped as copy_shipped
from optsched.library.shipped import files_read as files_read
from optsched.library.shipped import find as find
from optsched.library.shipped import load as load
from optsched.library.shipped import shipped_files as shipped_files
from optsched.library.shipped import shipped_folder as shipped_folder
from optsched.library.shipped import shipped_names as shipped_names
from optsched.library.shipped import shipped_plans as shipped_plans
from optsched.library.shipped import workload_folder as workload_folder
