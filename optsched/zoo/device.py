"""Devices: how long a layer takes, by a roofline and a stated efficiency.

Source of the model: S. Williams, A. Waterman and D. Patterson, "Roofline: An Insightful Visual
Performance Model for Multicore Architectures", Communications of the ACM 52(4), 2009.
"""

from dataclasses import dataclass, replace

from optsched.errors import InputError, shown, suggestion

BYTES_PER_NUMBER = 4
"""Single precision, for activations and parameters alike: that of all devices but `A100_BF16`."""

BACKWARD_PER_FORWARD = 2.0
"""A backward pass computes gradients with respect to inputs and to weights: a product each."""


@dataclass(frozen=True)
class Device:
    """A device by its data sheet, and its assumed efficiency."""

    name: str
    """The device and the arithmetic it is used with."""
    peak_flops: float
    """FLOP/s of the data sheet."""
    memory_bandwidth: float
    """Bytes/s between the device and its memory, of the data sheet."""
    memory_bytes: float
    """Memory, of the data sheet, in decimal gigabytes: the few percent by which the chips hold more
    go to the driver and to fragments."""
    source: str
    """Where the peaks and the memory are published."""
    efficiency: float = 0.5
    """Fraction of either peak that layers reach, in (0, 1]. An assumption, not a measurement."""
    bytes_per_number: int = BYTES_PER_NUMBER
    """Of an activation, a parameter and its gradient."""

    def __post_init__(self) -> None:
        if not 0 < self.efficiency <= 1:
            raise InputError("zoo", "efficiency", repr(self.efficiency), "a number in (0, 1]")

    def seconds(self, flops: float, moved_bytes: float) -> float:
        """Return the time of `flops` operations that move `moved_bytes`: the slower decides."""
        return max(flops / self.peak_flops, moved_bytes / self.memory_bandwidth) / self.efficiency


V100 = Device(
    "NVIDIA V100 SXM2, fp32",
    *(15.7e12, 900e9, 32e9),
    "NVIDIA V100 Tensor Core GPU data sheet, 2020",
)
"""The default device."""

A100 = Device(
    "NVIDIA A100 SXM4 40 GB, fp32 without tensor cores",
    *(19.5e12, 1555e9, 40e9),
    "NVIDIA A100 Tensor Core GPU Architecture white paper, 2020",
)
"""In the same arithmetic as `V100`; its tensor cores (TF32: 156 TFLOP/s) are left idle."""

A100_TF32 = Device(
    "NVIDIA A100 SXM4 80 GB, TF32",
    *(156e12, 2039e9, 80e9),
    "NVIDIA A100 Tensor Core GPU data sheet, 2021",
)
"""Numbers are kept in four bytes, so nothing but the time differs from single precision."""

A100_BF16 = replace(
    A100_TF32, name="NVIDIA A100 SXM4 80 GB, bfloat16", peak_flops=312e12, bytes_per_number=2
)
"""Mixed precision, in which large language models are trained."""

H100_TF32 = Device(
    "NVIDIA H100 NVL 94 GB, TF32",
    *(417.5e12, 3900e9, 94e9),
    "NVIDIA H100 NVL GPU product brief, 2024; half of the peak that sparsity gives",
)
"""The GPU of a-srpt's testbed (V-A)."""

DEVICES = {
    "V100": V100,
    "A100": A100,
    "A100-TF32": A100_TF32,
    "A100-BF16": A100_BF16,
    "H100-TF32": H100_TF32,
}
"""The devices by the name of the command line."""


def device_named(name: str) -> Device:
    """Find a device.

    Parameters
    ----------
    name : str
        A key of `DEVICES`, such as V100 or A100-BF16.

    Returns
    -------
    Device
        The device.

    Raises
    ------
    InputError
        For an unknown name.

    Examples
    --------
    >>> device_named("V100").name
    'NVIDIA V100 SXM2, fp32'
    """
    if name not in DEVICES:
        raise InputError("zoo", "device", shown(name), suggestion(name, DEVICES))
    return DEVICES[name]
