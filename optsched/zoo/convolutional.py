"""Convolutional networks: their layers, added to a `NetworkBuilder`, and three well-known ones.

Tensors are (channels, height, width). A function of a layer adds it and returns its output.
"""

from optsched.zoo.network import Network, NetworkBuilder, Tensor

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
    x = Tensor((3, 299, 299))
    x = convolution(net, "stem.1", x, 32, 3, stride=2, batch_norm=True)
    x = convolution(net, "stem.2", x, 32, 3, batch_norm=True)
    x = convolution(net, "stem.3", x, 64, 3, padding=1, batch_norm=True)
    x = pooling(net, "stem.pool1", x, 3, stride=2)
    x = convolution(net, "stem.4", x, 80, 1, batch_norm=True)
    x = convolution(net, "stem.5", x, 192, 3, batch_norm=True)
    x = pooling(net, "stem.pool2", x, 3, stride=2)
    for block, pool_channels in enumerate((32, 64, 64), start=1):
        x = _inception_block(net, f"mixed35_{block}", x, _BLOCK_35, pool_channels)
    x = _inception_block(net, "reduce17", x, _REDUCTION_17)
    for block, channels in enumerate((128, 160, 160, 192), start=1):
        x = _inception_block(net, f"mixed17_{block}", x, _block_17(channels), 192)
    x = _inception_block(net, "reduce8", x, _REDUCTION_8)
    for block in (1, 2):
        x = _inception_block(net, f"mixed8_{block}", x, _BLOCK_8, 192)
    x = global_pooling(net, "pool", x)
    linear(net, "fc", x, CLASSES)
    return net.build()


Branch = tuple[tuple[str, int, int, int, int], ...]
"""A chain of convolutions: name, channels, height, width, stride."""
_BLOCK_35: tuple[Branch, ...] = (
    (("1x1", 64, 1, 1, 1),),
    (("5x5.reduce", 48, 1, 1, 1), ("5x5", 64, 5, 5, 1)),
    (("3x3.reduce", 64, 1, 1, 1), ("3x3.1", 96, 3, 3, 1), ("3x3.2", 96, 3, 3, 1)),
)
"""Figure 5."""
_REDUCTION_17: tuple[Branch, ...] = (
    (("3x3", 384, 3, 3, 2),),
    (("double.reduce", 64, 1, 1, 1), ("double.1", 96, 3, 3, 1), ("double.2", 96, 3, 3, 2)),
)
_REDUCTION_8: tuple[Branch, ...] = (
    (("3x3.reduce", 192, 1, 1, 1), ("3x3", 320, 3, 3, 2)),
    (
        ("7x7.reduce", 192, 1, 1, 1),
        ("7x7.1", 192, 1, 7, 1),
        ("7x7.2", 192, 7, 1, 1),
        ("7x7.3", 192, 3, 3, 2),
    ),
)
_BLOCK_8: tuple[Branch, ...] = (
    (("1x1", 320, 1, 1, 1),),
    (("3x3.reduce", 384, 1, 1, 1), ("3x3.wide", 384, 1, 3, 1), ("3x3.tall", 384, 3, 1, 1)),
    (
        ("double.reduce", 448, 1, 1, 1),
        ("double.1", 384, 3, 3, 1),
        ("double.wide", 384, 1, 3, 1),
        ("double.tall", 384, 3, 1, 1),
    ),
)
"""Figure 7: the layers called wide and tall fork from the layer before them."""


def _block_17(channels: int) -> tuple[Branch, ...]:
    """Branches of figure 6: 7x7 convolutions split into 1x7 and 7x1."""
    seven = (("7x7.reduce", channels, 1, 1, 1), ("7x7.1", channels, 1, 7, 1))
    double = (
        ("double.reduce", channels, 1, 1, 1),
        ("double.1", channels, 7, 1, 1),
        ("double.2", channels, 1, 7, 1),
        ("double.3", channels, 7, 1, 1),
        ("double.4", 192, 1, 7, 1),
    )
    return (("1x1", 192, 1, 1, 1),), (*seven, ("7x7.2", 192, 7, 1, 1)), double


def _inception_block(
    net: NetworkBuilder,
    block: str,
    x: Tensor,
    branches: tuple[Branch, ...],
    pool_channels: int | None = None,
) -> Tensor:
    """Add parallel branches, a pooled one and their concatenation.

    With stride 1 convolutions keep the image's size. A block without `pool_channels` halves the
    image, and its pooled branch has no convolution.
    """

    def add(y: Tensor, name: str, channels: int, height: int, width: int, stride: int) -> Tensor:
        return convolution(
            net,
            f"{block}.{name}",
            y,
            channels,
            (height, width),
            stride=stride,
            padding=(height // 2, width // 2) if stride == 1 else 0,
            batch_norm=True,
        )

    outputs = []
    for branch in branches:
        y, fork = x, x
        for layer in branch:
            if layer[0].endswith(".wide"):
                fork = y
                outputs.append(add(fork, *layer))
            else:
                y = add(fork if layer[0].endswith(".tall") else y, *layer)
        outputs.append(y)
    if pool_channels is None:
        outputs.append(pooling(net, f"{block}.pool", x, 3, stride=2))
    else:
        pooled = pooling(net, f"{block}.pool", x, 3, stride=1, padding=1)
        outputs.append(add(pooled, "pool.project", pool_channels, 1, 1, 1))
    return concatenation(net, f"{block}.concat", tuple(outputs))
