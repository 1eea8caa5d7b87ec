"""The layers of convolutional networks, added to a `NetworkBuilder`.

Tensors are (channels, height, width). Every function adds one layer and returns its output.
"""

from __future__ import annotations

from optsched.zoo.network import NetworkBuilder, Tensor

Size = int | tuple[int, int]
"""A height and a width; one integer stands for both."""


def convolution(
    net: NetworkBuilder,
    name: str,
    x: Tensor,
    channels: int,
    kernel: Size,
    *,
    stride: int = 1,
    padding: Size = 0,
    batch_norm: bool = False,
) -> Tensor:
    """Add a convolution with a bias, or followed by a batch norm that makes the bias idle.

    Parameters: weights C_out C_in k_h k_w, and C_out biases or the 2 C_out of the batch norm
    (scale and shift; the running statistics are not learned). FLOPs: 2 C_in k_h k_w for each
    element of the output.
    """
    height, width = _pair(kernel)
    shape = (channels, *_window_output(x, kernel, stride, padding))
    weights_per_channel = x.shape[0] * height * width
    extra = 2 if batch_norm else 1
    return net.add(
        name,
        (x,),
        shape,
        flops=2 * weights_per_channel * Tensor(shape).elements,
        parameters=channels * (weights_per_channel + extra),
    )


def pooling(
    net: NetworkBuilder, name: str, x: Tensor, kernel: int, *, stride: int, padding: int = 0
) -> Tensor:
    """Add a maximum or average pooling: one FLOP for each element of each window."""
    shape = (x.shape[0], *_window_output(x, kernel, stride, padding))
    return net.add(name, (x,), shape, flops=kernel * kernel * Tensor(shape).elements)


def global_pooling(net: NetworkBuilder, name: str, x: Tensor) -> Tensor:
    """Add an average over all the positions of each channel."""
    return net.add(name, (x,), (x.shape[0],), flops=x.elements)


def linear(net: NetworkBuilder, name: str, x: Tensor, features: int) -> Tensor:
    """Add a fully connected layer with a bias; the input is flattened."""
    return net.add(
        name,
        (x,),
        (features,),
        flops=2 * x.elements * features,
        parameters=x.elements * features + features,
    )


def residual_sum(net: NetworkBuilder, name: str, x: Tensor, skip: Tensor) -> Tensor:
    """Add the sum of a branch and of its skip connection."""
    if x.shape != skip.shape:
        raise ValueError(f"{name}: {x.shape} cannot be added to {skip.shape}")
    return net.add(name, (x, skip), x.shape, flops=x.elements)


def concatenation(net: NetworkBuilder, name: str, branches: tuple[Tensor, ...]) -> Tensor:
    """Add the concatenation of branches along the channels: a copy, no FLOPs."""
    positions = {branch.shape[1:] for branch in branches}
    if len(positions) != 1:
        raise ValueError(f"{name}: branches of different sizes {sorted(positions)}")
    channels = sum(branch.shape[0] for branch in branches)
    return net.add(name, branches, (channels, *branches[0].shape[1:]), flops=0)


def _window_output(x: Tensor, kernel: Size, stride: int, padding: Size) -> tuple[int, int]:
    """Height and width after a window slid over the padded input, rounded down."""
    _, height, width = x.shape
    (kernel_h, kernel_w), (padding_h, padding_w) = _pair(kernel), _pair(padding)
    return (
        (height + 2 * padding_h - kernel_h) // stride + 1,
        (width + 2 * padding_w - kernel_w) // stride + 1,
    )


def _pair(size: Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size
