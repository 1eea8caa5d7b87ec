#!/bin/sh
# Makes the shipped workloads again; run from the top of the checkout.
set -eu
make() {
    name=$1
    shift
    optsched generate workload -o "instances/online/$name" "$@"
}
make small-400x40 --small-groups 1 --jobs 400 --servers 40 --load 0.8 --seed 1
make testbed-75x14 --small-groups 1 --jobs 75 --servers 1 --gpus-per-server 14 --inter-bandwidth 1.28e11 \
    --intra-bandwidth 1.28e11 --load 0.8 --seed 2
make paper-37500x250 --small-groups 1 --jobs 37500 --servers 250 --load 0.8 --seed 3
make sliced-400x40 --small-groups 1 --jobs 400 --servers 40 --load 0.8 --seed 4 --slices 4 --inter-bandwidth 1.25e10
