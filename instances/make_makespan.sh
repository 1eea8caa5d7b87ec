#!/bin/sh
# Makes the shipped makespan instances again, byte for byte; run from the top of the checkout.
set -eu
make() {
    name=$1
    shift
    optsched generate makespan --name "$name" --seed 1 -o instances/makespan "$@"
}
make mixed-24x8 --jobs 24 --servers 8 --server-sizes 2,4,8 --largest-job 8 --slot 30
make mixed-24x8-strong --jobs 24 --servers 8 --server-sizes 2,4,8 --largest-job 8 --slot 30 --contention strong
make uniform-10x4 --jobs 10 --servers 4 --server-sizes 4 --largest-job 16 --slot 30
make uniform-10x4-strong --jobs 10 --servers 4 --server-sizes 4 --largest-job 16 --slot 30 --contention strong
make continuous-12x3 --jobs 12 --servers 3 --server-sizes 4,8 --largest-job 8 --progress continuous --contention strong
make paper-160x20
make paper-160x20-strong --contention strong
make large-1600x200 --jobs 1600 --servers 200
make large-1600x200-strong --jobs 1600 --servers 200 --contention strong
# Every job is larger than every server; jobs that pack badly, so that to span is worth its slowdown; jobs that pack
# well, where it is worth nothing.
make must-span-8x6 --jobs 8 --servers 6 --server-sizes 4 --sizes 5,6,7,8 --slot 15 --contention strong
make must-span-40x8 --jobs 40 --servers 8 --server-sizes 4 --sizes 5,6,7,8 --slot 5 --contention strong --horizon 4800
make spanning-pays-10x4 --jobs 10 --servers 4 --server-sizes 4 --sizes 3 --slot 15
make spanning-never-24x8 --jobs 24 --servers 8 --server-sizes 4 --sizes 1,2,4 --slot 15 --contention prohibitive
# Job sizes and their order: the first 160 jobs of at most 32 GPUs of Microsoft's Philly trace (CC-BY-4.0), in Sia's CSV.
if [ -n "${OPTSCHED_DATA:-}" ]; then
    philly="--trace $OPTSCHED_DATA/traces/philly_sia.csv.gz --trace-format philly-csv"
    make philly-160x20 $philly
    make philly-zoo-160x20 $philly --zoo --slot 10
fi
