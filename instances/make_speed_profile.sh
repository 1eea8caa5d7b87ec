#!/bin/sh
# Makes the shipped speed profiles again, but for those by hand; run from the top of the checkout.
set -eu
make() {
    name=$1
    shift
    optsched generate speed-profile --name "$name" --seed 7 -o instances/speed-profile "$@"
}
make alexnet-8 --network AlexNet
make resnet-8 --network ResNet
make vgg16-8 --network VGG16
make mobilenetv2-8 --network MobileNetV2
make idle-power-8 --network MobileNetV2 --idle-power 60 --deadline 3600
make idle-power-slack --network MobileNetV2 --idle-power 60 --deadline 12000
make infeasible --network MobileNetV2 --deadline 1000
