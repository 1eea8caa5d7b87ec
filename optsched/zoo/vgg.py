"""VGG19: configuration E of "Very Deep Convolutional Networks for Large-Scale Image Recognition".

Source: K. Simonyan and A. Zisserman, ICLR 2015, table 1.
"""

from __future__ import annotations

from optsched.zoo.convolution import convolution, linear, pooling
from optsched.zoo.network import Network, NetworkBuilder, Tensor

IMAGE = (3, 224, 224)
STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))
"""Channels and number of 3x3 convolutions of each stage; a 2x2 maximum pooling ends it."""
HIDDEN_FEATURES = 4096
CLASSES = 1000


def vgg19() -> Network:
    """Build VGG19: a chain of 16 convolutions, 5 poolings and 3 fully connected layers."""
    net = NetworkBuilder("VGG19", "image 3 x 224 x 224")
    x = Tensor(IMAGE)
    for stage, (channels, convolutions) in enumerate(STAGES, start=1):
        for number in range(1, convolutions + 1):
            x = convolution(net, f"conv{stage}_{number}", x, channels, 3, padding=1)
        x = pooling(net, f"pool{stage}", x, 2, stride=2)
    x = linear(net, "fc6", x, HIDDEN_FEATURES)
    x = linear(net, "fc7", x, HIDDEN_FEATURES)
    linear(net, "fc8", x, CLASSES)
    return net.build()
