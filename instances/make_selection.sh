#!/bin/sh
# Makes the shipped selection instances again, byte for byte; run from the top of the checkout.
set -eu
make() {
    name=$1
    shift
    optsched generate selection --name "$name" -o instances/selection "$@"
}
make 3x6 --nodes 3 --jobs 6 --gpus-per-node 2 --seed 1
make 3x6-overdue --nodes 3 --jobs 6 --gpus-per-node 2 --overdue 0.5 --seed 2
make 5x10 --nodes 5 --jobs 10 --seed 1
make 10x20 --nodes 10 --jobs 20 --gpus-per-node 8 --seed 1
make 10x40 --nodes 10 --seed 1
make 12x6-light --nodes 12 --jobs 6 --gpus-per-node 8 --seed 1
make 12x48-distinct --nodes 12 --cost-classes 0 --seed 1
make 24x96-six-classes --nodes 24 --cost-classes 2 --seed 1
make 40x160 --nodes 40 --seed 1
make 100x400 --nodes 100 --bin-width 10 --seed 1
make 100x400-distinct --nodes 100 --cost-classes 0 --bin-width 10 --seed 1
