#!/bin/sh
# Makes the shipped packings again, but for the one by hand; run from the top of the checkout.
set -eu
make() {
    name=$1
    shift
    optsched generate packing --name "$name" --seed 7 -o instances/packing "$@"
}
make mixed-8 --nodes 8
make shared-20 --nodes 20 --sharing 1.0 --cpu-only 0.2
make models-20 --nodes 20 --one-model 0.3
make several-40 --nodes 40 --sharing 0.3 --several 0.3
