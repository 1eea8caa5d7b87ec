"""VGG19, ResNet152 and Inception-V3."""

from __future__ import annotations

from dataclasses import dataclass

from optsched.zoo.convolution import (
    concatenation,
    convolution,
    global_pooling,
    linear,
    pooling,
    residual_sum,
)
from optsched.zoo.network import Network, NetworkBuilder, Tensor

CLASSES = 1000

VGG_STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))
"""Channels and number of 3x3 convolutions of each stage; a 2x2 maximum pooling ends it."""
VGG_HIDDEN_FEATURES = 4096

RESNET_STAGES = ((64, 3), (128, 8), (256, 36), (512, 3))
"""Channels inside a bottleneck, and number of bottleneck blocks, of each stage."""
RESNET_EXPANSION = 4
"""Channels that leave a bottleneck, per channel inside it."""


def vgg19() -> Network:
    """Build VGG19: a chain of 16 convolutions, 5 poolings and 3 fully connected layers.

    Source: K. Simonyan and A. Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
    Recognition", ICLR 2015, table 1, configuration E.
    """
    net = NetworkBuilder("VGG19", "image 3 x 224 x 224")
    x = Tensor((3, 224, 224))
    for stage, (channels, convolutions) in enumerate(VGG_STAGES, start=1):
        for number in range(1, convolutions + 1):
            x = convolution(net, f"conv{stage}_{number}", x, channels, 3, padding=1)
        x = pooling(net, f"pool{stage}", x, 2, stride=2)
    x = linear(net, "fc6", x, VGG_HIDDEN_FEATURES)
    x = linear(net, "fc7", x, VGG_HIDDEN_FEATURES)
    linear(net, "fc8", x, CLASSES)
    return net.build()


def resnet152() -> Network:
    """Build ResNet152: 50 bottleneck blocks, each with the edge of its skip connection.

    Source: K. He, X. Zhang, S. Ren and J. Sun, "Deep Residual Learning for Image Recognition",
    CVPR 2016, table 1. A stage that halves the image does so in the 3x3 convolution of its first
    block, as the implementations in use do ("v1.5"); the paper does so in the 1x1 convolution
    before it. Parameters are the same, FLOPs 2% higher.
    """
    net = NetworkBuilder("ResNet152", "image 3 x 224 x 224")
    x = Tensor((3, 224, 224))
    x = convolution(net, "conv1", x, 64, 7, stride=2, padding=3, batch_norm=True)
    x = pooling(net, "pool1", x, 3, stride=2, padding=1)
    for stage, (channels, blocks) in enumerate(RESNET_STAGES, start=2):
        for block in range(1, blocks + 1):
            # The pooling before stage 2 has already halved the image.
            stride = 2 if block == 1 and stage > 2 else 1
            x = _bottleneck(net, f"conv{stage}_{block}", x, channels, stride)
    x = global_pooling(net, "pool5", x)
    linear(net, "fc", x, CLASSES)
    return net.build()


def _bottleneck(net: NetworkBuilder, name: str, x: Tensor, channels: int, stride: int) -> Tensor:
    """Add 1x1, 3x3 and 1x1 convolutions and the sum with the block's input."""
    wide = RESNET_EXPANSION * channels
    y = convolution(net, f"{name}.reduce", x, channels, 1, batch_norm=True)
    y = convolution(
        net, f"{name}.spatial", y, channels, 3, stride=stride, padding=1, batch_norm=True
    )
    y = convolution(net, f"{name}.expand", y, wide, 1, batch_norm=True)
    if x.shape != y.shape:
        # A stage's first block changes the shape: its skip is a 1x1 convolution.
        x = convolution(net, f"{name}.project", x, wide, 1, stride=stride, batch_norm=True)
    return residual_sum(net, f"{name}.sum", y, x)


def inception_v3() -> Network:
    """Build Inception-V3: a stem and eleven blocks of parallel branches.

    Source: C. Szegedy, V. Vanhoucke, S. Ioffe, J. Shlens and Z. Wojna, "Rethinking the Inception
    Architecture for Computer Vision", 2015 (CVPR 2016), table 1 and figures 5 to 7; channels of the
    branches, which the paper omits, from the authors' release. The auxiliary head, which serves
    training only and ends no path to the output, is left out.
    """
    net = NetworkBuilder("Inception-V3", "image 3 x 299 x 299")
    x = _stem(net, Tensor((3, 299, 299)))
    for block, pool_channels in enumerate((32, 64, 64), start=1):
        x = _block_35(_Block(net, f"mixed35_{block}"), x, pool_channels)
    x = _reduction_17(_Block(net, "reduce17"), x)
    for block, channels in enumerate((128, 160, 160, 192), start=1):
        x = _block_17(_Block(net, f"mixed17_{block}"), x, channels)
    x = _reduction_8(_Block(net, "reduce8"), x)
    for block in (1, 2):
        x = _block_8(_Block(net, f"mixed8_{block}"), x)
    x = global_pooling(net, "pool", x)
    linear(net, "fc", x, CLASSES)
    return net.build()


@dataclass(frozen=True)
class _Block:
    """One block under construction; its layers' names begin with the block's."""

    net: NetworkBuilder
    name: str

    def conv(
        self, name: str, x: Tensor, channels: int, height: int, width: int, stride: int = 1
    ) -> Tensor:
        """Add a convolution; with stride 1 it keeps the image's size."""
        padding = (height // 2, width // 2) if stride == 1 else 0
        return convolution(
            self.net,
            f"{self.name}.{name}",
            x,
            channels,
            (height, width),
            stride=stride,
            padding=padding,
            batch_norm=True,
        )

    def pool(self, x: Tensor, stride: int) -> Tensor:
        """Add a 3x3 pooling; with stride 1 it keeps the image's size."""
        padding = 1 if stride == 1 else 0
        return pooling(self.net, f"{self.name}.pool", x, 3, stride=stride, padding=padding)

    def join(self, *branches: Tensor) -> Tensor:
        """Add the concatenation that ends the block."""
        return concatenation(self.net, f"{self.name}.concat", branches)


def _stem(net: NetworkBuilder, x: Tensor) -> Tensor:
    """Add the convolutions and poolings that bring 299 x 299 pixels down to 35 x 35."""
    x = convolution(net, "stem.1", x, 32, 3, stride=2, batch_norm=True)
    x = convolution(net, "stem.2", x, 32, 3, batch_norm=True)
    x = convolution(net, "stem.3", x, 64, 3, padding=1, batch_norm=True)
    x = pooling(net, "stem.pool1", x, 3, stride=2)
    x = convolution(net, "stem.4", x, 80, 1, batch_norm=True)
    x = convolution(net, "stem.5", x, 192, 3, batch_norm=True)
    return pooling(net, "stem.pool2", x, 3, stride=2)


def _block_35(block: _Block, x: Tensor, pool_channels: int) -> Tensor:
    """Add a 35 x 35 block (figure 5): 1x1, 5x5, double 3x3 and pooled branches."""
    single = block.conv("1x1", x, 64, 1, 1)
    five = block.conv("5x5.reduce", x, 48, 1, 1)
    five = block.conv("5x5", five, 64, 5, 5)
    double = block.conv("3x3.reduce", x, 64, 1, 1)
    double = block.conv("3x3.1", double, 96, 3, 3)
    double = block.conv("3x3.2", double, 96, 3, 3)
    pooled = block.conv("pool.project", block.pool(x, 1), pool_channels, 1, 1)
    return block.join(single, five, double, pooled)


def _reduction_17(block: _Block, x: Tensor) -> Tensor:
    """Add the block that brings 35 x 35 down to 17 x 17."""
    single = block.conv("3x3", x, 384, 3, 3, stride=2)
    double = block.conv("double.reduce", x, 64, 1, 1)
    double = block.conv("double.1", double, 96, 3, 3)
    double = block.conv("double.2", double, 96, 3, 3, stride=2)
    return block.join(single, double, block.pool(x, 2))


def _block_17(block: _Block, x: Tensor, channels: int) -> Tensor:
    """Add a 17 x 17 block (figure 6): 7x7 convolutions split into 1x7 and 7x1."""
    single = block.conv("1x1", x, 192, 1, 1)
    seven = block.conv("7x7.reduce", x, channels, 1, 1)
    seven = block.conv("7x7.1", seven, channels, 1, 7)
    seven = block.conv("7x7.2", seven, 192, 7, 1)
    double = block.conv("double.reduce", x, channels, 1, 1)
    double = block.conv("double.1", double, channels, 7, 1)
    double = block.conv("double.2", double, channels, 1, 7)
    double = block.conv("double.3", double, channels, 7, 1)
    double = block.conv("double.4", double, 192, 1, 7)
    pooled = block.conv("pool.project", block.pool(x, 1), 192, 1, 1)
    return block.join(single, seven, double, pooled)


def _reduction_8(block: _Block, x: Tensor) -> Tensor:
    """Add the block that brings 17 x 17 down to 8 x 8."""
    three = block.conv("3x3.reduce", x, 192, 1, 1)
    three = block.conv("3x3", three, 320, 3, 3, stride=2)
    seven = block.conv("7x7.reduce", x, 192, 1, 1)
    seven = block.conv("7x7.1", seven, 192, 1, 7)
    seven = block.conv("7x7.2", seven, 192, 7, 1)
    seven = block.conv("7x7.3", seven, 192, 3, 3, stride=2)
    return block.join(three, seven, block.pool(x, 2))


def _block_8(block: _Block, x: Tensor) -> Tensor:
    """Add an 8 x 8 block (figure 7): branches that fork into 1x3 and 3x1 at their end."""
    single = block.conv("1x1", x, 320, 1, 1)
    three = block.conv("3x3.reduce", x, 384, 1, 1)
    three_wide = block.conv("3x3.wide", three, 384, 1, 3)
    three_tall = block.conv("3x3.tall", three, 384, 3, 1)
    double = block.conv("double.reduce", x, 448, 1, 1)
    double = block.conv("double.1", double, 384, 3, 3)
    double_wide = block.conv("double.wide", double, 384, 1, 3)
    double_tall = block.conv("double.tall", double, 384, 3, 1)
    pooled = block.conv("pool.project", block.pool(x, 1), 192, 1, 1)
    return block.join(single, three_wide, three_tall, double_wide, double_tall, pooled)
