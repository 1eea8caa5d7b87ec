"""ResNet152, of "Deep Residual Learning for Image Recognition".

Source: K. He, X. Zhang, S. Ren and J. Sun, CVPR 2016, table 1. A stage that halves the image
does so in the 3x3 convolution of its first block, as the implementations in use do ("v1.5");
the paper does so in the 1x1 convolution before it. Parameters are the same, FLOPs 2% higher.
"""

from __future__ import annotations

from optsched.zoo.convolution import convolution, global_pooling, linear, pooling, residual_sum
from optsched.zoo.network import Network, NetworkBuilder, Tensor

IMAGE = (3, 224, 224)
STEM_CHANNELS = 64
STAGES = ((64, 3), (128, 8), (256, 36), (512, 3))
"""Channels inside a bottleneck, and number of bottleneck blocks, of each stage."""
EXPANSION = 4
"""Channels that leave a bottleneck, per channel inside it."""
CLASSES = 1000


def resnet152() -> Network:
    """Build ResNet152: 50 bottleneck blocks, each with the edge of its skip connection."""
    net = NetworkBuilder("ResNet152", "image 3 x 224 x 224")
    x = Tensor(IMAGE)
    x = convolution(net, "conv1", x, STEM_CHANNELS, 7, stride=2, padding=3, batch_norm=True)
    x = pooling(net, "pool1", x, 3, stride=2, padding=1)
    for stage, (channels, blocks) in enumerate(STAGES, start=2):
        for block in range(1, blocks + 1):
            # The pooling before stage 2 has already halved the image.
            stride = 2 if block == 1 and stage > 2 else 1
            x = _bottleneck(net, f"conv{stage}_{block}", x, channels, stride)
    x = global_pooling(net, "pool5", x)
    linear(net, "fc", x, CLASSES)
    return net.build()


def _bottleneck(net: NetworkBuilder, name: str, x: Tensor, channels: int, stride: int) -> Tensor:
    """Add 1x1, 3x3 and 1x1 convolutions and the sum with what entered."""
    wide = EXPANSION * channels
    y = convolution(net, f"{name}.reduce", x, channels, 1, batch_norm=True)
    y = convolution(
        net, f"{name}.spatial", y, channels, 3, stride=stride, padding=1, batch_norm=True
    )
    y = convolution(net, f"{name}.expand", y, wide, 1, batch_norm=True)
    if x.shape != y.shape:
        # A stage's first block changes the shape: its skip is a 1x1 convolution.
        x = convolution(net, f"{name}.project", x, wide, 1, stride=stride, batch_norm=True)
    return residual_sum(net, f"{name}.sum", y, x)
