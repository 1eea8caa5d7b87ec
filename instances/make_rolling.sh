#!/bin/sh
# Makes the shipped rolling instances again, but for three-by-hand; run from the top of the checkout.
set -eu
make() {
    name=$1
    shift
    optsched generate rolling --name "$name" -o instances/rolling --arrivals load "$@"
}
make light-6x60 --nodes 6 --load 0.2 --seed 1
make medium-6x60 --nodes 6 --load 0.6 --seed 2
make saturated-6x60 --nodes 6 --load 1.0 --seed 3
make sharing-6x60 --nodes 6 --load 0.8 --sharing --seed 4
make delay-3x30 --nodes 3 --load 0.6 --delay 120 --seed 5
make paper-20x200 --nodes 20 --arrivals poisson-low --seed 6
