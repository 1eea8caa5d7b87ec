"""Layer profiles of well-known networks, computed from their published architectures."""

from optsched.zoo.catalogue import MIXTURES as MIXTURES
from optsched.zoo.catalogue import MODELS as MODELS
from optsched.zoo.catalogue import profile_model as profile_model
from optsched.zoo.catalogue import profile_network as profile_network
from optsched.zoo.device import DEVICES as DEVICES
from optsched.zoo.device import V100 as V100
from optsched.zoo.device import device_named as device_named
