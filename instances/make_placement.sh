#!/bin/sh
# Makes the shipped placement instances again, byte for byte; run from the top of the checkout.
set -eu
make() {
    name=$1
    shift
    optsched generate placement --name "$name" --seed 1 -o instances/placement "$@"
}
make vgg19-16 --model VGG19 --gpus 16
make vgg19-32 --model VGG19 --gpus 32
make vgg19-128 --model VGG19 --gpus 128 --stages 4
make resnet152-16 --model ResNet152 --gpus 16
make inception-v3-16 --model Inception-V3 --gpus 16
make inception-v3-32 --model Inception-V3 --gpus 32
make bert-large-16 --model BERT-large --gpus 16
make bert-large-32-tree --model BERT-large --gpus 32 --all-reduce double-tree
make xlnet-large-16 --model XLNet-large --gpus 16
make t5-11b-16 --model T5-11B --gpus 16
make gpt-6.7b-16 --model GPT-6.7B --gpus 16
make gpt-13b-32 --model GPT-13B --gpus 32
make gpt-175b-32x1 --model GPT-175B --gpus 32 --stages 32
make gpt-175b-64x1 --model GPT-175B --gpus 64 --stages 64
