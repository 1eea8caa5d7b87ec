#!/bin/sh
# Makes the shipped placement instances again, byte for byte; run from the top of the checkout.
# The measured ones are made where OPTSCHED_DATA is set (PipeDream's layer profiles).
set -eu
make() {
    folder=$1
    name=$2
    shift 2
    optsched generate placement --name "$name" --seed 1 -o "$folder" "$@"
}

# The communication-bound set: one mini-batch shared by all GPUs, 10 Gbit/s, whatever fits.
bound() { make instances/placement/communication-bound "$@" --batch global --oversized; }
bound vgg19-16 --model VGG19 --gpus 16
bound vgg19-32 --model VGG19 --gpus 32
bound vgg19-128 --model VGG19 --gpus 128 --stages 4
bound resnet152-16 --model ResNet152 --gpus 16
bound inception-v3-16 --model Inception-V3 --gpus 16
bound inception-v3-32 --model Inception-V3 --gpus 32
bound bert-large-16 --model BERT-large --gpus 16
bound bert-large-32-tree --model BERT-large --gpus 32 --all-reduce double-tree
bound xlnet-large-16 --model XLNet-large --gpus 16
bound t5-11b-16 --model T5-11B --gpus 16
bound gpt-6.7b-16 --model GPT-6.7B --gpus 16
bound gpt-13b-32 --model GPT-13B --gpus 32
bound gpt-175b-32x1 --model GPT-175B --gpus 32 --stages 32
bound gpt-175b-64x1 --model GPT-175B --gpus 64 --stages 64

# The efficient set: a mini-batch a GPU, at the least of 10, 25, 50, 100 and 200 Gbit/s at which
# the plan is at least half as fast as that many GPUs could be; it fits into their memory. The
# zoo's models on 16 and 32 GPUs, and GPT-175B on its fewest, are in placement/ itself.
efficient() {
    model=$1
    gpus=$2
    gbits=$3
    shift 3
    case $model-$gpus in
        *-16 | *-32 | GPT-175B-64) folder=instances/placement ;;
        *) folder=instances/placement/efficient ;;
    esac
    name=$(echo "$model-$gpus-${gbits}g" | tr '[:upper:]' '[:lower:]')
    make "$folder" "$name" --model "$model" --gpus "$gpus" \
        --inter-bandwidth "$((gbits * 125))e6" "$@"
}
efficient VGG19 16 25
efficient VGG19 32 25
efficient VGG19 64 50
efficient VGG19 128 100
efficient ResNet152 16 100
efficient ResNet152 32 200
efficient ResNet152 64 200
efficient ResNet152 128 200
efficient Inception-V3 16 50
efficient Inception-V3 32 50
efficient Inception-V3 64 50
efficient Inception-V3 128 100
efficient BERT-large 16 50
efficient BERT-large 32 100
efficient BERT-large 64 100
efficient BERT-large 128 100
efficient XLNet-large 16 25
efficient XLNet-large 32 50
efficient XLNet-large 64 100
efficient XLNet-large 128 100
efficient T5-11B 16 10
efficient T5-11B 32 25
efficient T5-11B 64 25
efficient T5-11B 128 25
efficient GPT-6.7B 16 10
efficient GPT-6.7B 32 10
efficient GPT-6.7B 64 10
efficient GPT-6.7B 128 25
efficient GPT-13B 16 10
efficient GPT-13B 32 10
efficient GPT-13B 64 10
efficient GPT-13B 128 10
efficient GPT-175B 64 50 --stages 64 --device A100-TF32
efficient GPT-175B 128 50 --stages 48 --device A100-TF32

# The same of measured profiles, on the offers that seed 1 draws.
if [ -n "${OPTSCHED_DATA-}" ]; then
    measured() {
        name=measured-$2-$3-$4g
        case $3 in
            16) servers=7,5,4 ;;
            32) servers=8,7,7,5,4,1 ;;
            64) servers=8,8,7,7,7,7,5,4,4,3,3,1 ;;
            128) servers=8,8,7,7,7,7,7,7,7,7,6,5,5,5,4,4,4,4,3,3,3,3,2,2,1,1,1 ;;
        esac
        optsched import pipedream "$OPTSCHED_DATA/profiles/pipedream/$1.graph.txt" --gpus "$3" \
            --servers "$servers" --inter-bandwidth "$(($4 * 125))e6" --name "$name" \
            -o "instances/placement/efficient/$name.json"
    }
    measured image_classification__vgg16 vgg16 16 25
    measured image_classification__vgg16 vgg16 32 50
    measured image_classification__vgg16 vgg16 64 50
    measured image_classification__vgg16 vgg16 128 50
    measured image_classification__resnet101 resnet101 16 25
    measured image_classification__resnet101 resnet101 32 25
    measured image_classification__resnet101 resnet101 64 25
    measured image_classification__resnet101 resnet101 128 100
    measured translation__gnmt_large gnmt-large 16 50
    measured translation__gnmt_large gnmt-large 32 100
    measured translation__gnmt_large gnmt-large 64 100
    measured translation__gnmt_large gnmt-large 128 100
fi
