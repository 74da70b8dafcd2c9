#!/usr/bin/env bash
# The traces of bench/mktraces.c are those that Accel-Sim ran for the figures of bench/traces: the first 16 digits of
# their sha256 were noted then. The two large ones take long, so `BENCH_ALL=1` asks for them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

check() { # NAME SUM
    "$BUILD/mktraces" "$folder" "$1"
    local sum
    sum=$(sha256sum "$folder/$1/kernel-1.traceg")
    if [ "${sum:0:16}" != "$2" ]; then
        echo "$1: the trace has the sum ${sum:0:16}, not $2"
        exit 1
    fi
    rm "$folder/$1/kernel-1.traceg"
}

check powreal 070b6a5a2ad32241
check gather ad90b6d495aeca11
check saxpy b5c517e42d3c91e5
check saxpy_lo b332e20ffea4e9cd
if [ -n "${BENCH_ALL:-}" ]; then
    check compute 0d7174fde1de9fdf
    check matmul b61da5b2c554ac1f
fi
grep -qx 'MemcpyHtoD,0x0000000040000000,4194304' "$folder/saxpy_lo/kernelslist.g"
if "$BUILD/mktraces" "$folder" nonsense 2>/dev/null; then
    echo "a trace that does not exist was made"
    exit 1
fi
