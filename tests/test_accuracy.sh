#!/usr/bin/env bash
# The accuracy gate: how far each model is from what an H200 measured, against limits a little above what it was when they were
# written. It fails when accuracy rots, says by how much and which kernels are furthest off. A limit is only ever raised with the
# reason in the commit; when a model gets better, lower it.
#
# Small: all bundled workloads and tests/unseen, from machine code and from PTX; tests/features, and Hopper's own. Medium: a dozen scripts of the first and half a
# dozen of the second, from machine code. Each run of `orrery correlate` has one thread, and as many of them run as there are
# processors.
set -u
cd "$SOURCE" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

medium_workloads="saxpy reduce transpose_tiled histogram sgemm_tiled hotspot conv2d scan blackscholes kmeans dct8x8 srad lavamd \
    hgemm_tensor softmax convsep"
medium_unseen="fir adi compact embedding attention cipher philox"

# One line each: measurements, size, source, model, what is compared, how many kernels, the most that its mean absolute error may
# be in percent. `cycles`: elapsed cycles of kernels; a counter: its count.
limits() {
    cat <<'END'
workloads medium sass cycle      cycles                     24   3.6
workloads medium sass partial    cycles                     24  5.2
unseen    medium sass cycle      cycles                     14   3.1
workloads medium sass abstract   cycles                     24   5.2
unseen    medium sass partial    cycles                     14  8.7
workloads medium sass analytic   cycles                     24  11.9
unseen    medium sass abstract   cycles                     14   8.7
unseen    medium sass analytic   cycles                     14  10.9
workloads small  sass cycle      cycles                     96   3.6
workloads small  ptx  cycle      cycles                     96   4.4
unseen    small  sass cycle      cycles                     69   3.3
unseen    small  ptx  cycle      cycles                     69   6.4
hopper    small  sass cycle      cycles                     18   7.3
workloads small  sass partial    cycles                     96   4.9
workloads small  ptx  partial    cycles                     96   5.0
unseen    small  sass partial    cycles                     69   5.5
unseen    small  ptx  partial    cycles                     69  7.8
workloads small  sass abstract   cycles                     96   4.9
workloads small  ptx  abstract   cycles                     96   5.0
unseen    small  sass abstract   cycles                     69   5.5
unseen    small  ptx  abstract   cycles                     69   7.8
workloads small  sass analytic   cycles                     96  8.8
workloads small  ptx  analytic   cycles                     96  9.4
unseen    small  sass analytic   cycles                     69  9.4
unseen    small  ptx  analytic   cycles                     69  11.5
features  -      sass cycle      cycles                    133  10.0
features  -      ptx  cycle      cycles                    133  20.1
workloads small  sass functional smsp__inst_executed.sum   96   0.9
unseen    small  sass functional smsp__inst_executed.sum   69   0.1
workloads small  sass cycle      smsp__inst_executed.sum   96   0.2
workloads small  sass cycle      l1tex__t_sectors.sum      96   0.3
unseen    small  sass cycle      smsp__inst_executed.sum   69   0.1
unseen    small  sass cycle      l1tex__t_sectors.sum      69   0.1
END
}

# What `orrery correlate` says about one line of the table; further --set options of a GPU follow.
correlate() { # FILE SIZE SOURCE MODEL OPTIONS...
    local file=$1 size=$2 source=$3 model=$4 names=() name
    shift 4
    if [ "$size" = medium ]; then
        case $file in
        workloads) read -ra names <<<"$medium_workloads" ;;
        unseen) for name in $medium_unseen; do names+=("tests/unseen/$name.launch"); done ;;
        esac
    fi
    [ "$size" = - ] || names=(--size "$size" "${names[@]}")
    "$ORRERY" correlate "hardware/h200/$file.csv" --json -- --gpu h200 --source "$source" --model "$model" \
        --threads 1 --quiet --no-check "$@" "${names[@]}"
}

# judge RESULT WHAT COUNTER POINTS LIMIT: 0 when the error is within the limit; else says what is wrong.
judge() {
    awk -v what="$2" -v counter="$3" -v points="$4" -v limit="$5" '
        function number(name,   at) {
            at = index($0, "\"" name "\": ")
            return at ? substr($0, at + length(name) + 4) : "null"
        }
        function furthest(   text, all) {
            all = $0
            sub(/.*"worst": \[/, "", all)
            while (match(all, /"kernel": "[^"]*", "error": [-+0-9.e]*/)) {
                text = text (text == "" ? "" : ", ") substr(all, RSTART + 11, RLENGTH - 11)
                all = substr(all, RSTART + RLENGTH)
            }
            gsub(/", "error":/, "", text)
            return text
        }
        index($0, "\"" counter "\": {") && !seen {
            seen = 1
            is = number("mape")
            if (number("points") + 0 != points) {
                printf "%s, %s: %d kernels are compared, should be %d\n", what, counter, number("points"), points
                bad = 1
            }
            if (is ~ /^null/) { printf "%s, %s: no error is given\n", what, counter; bad = 1 }
            else if (is + 0 > limit) {
                printf "%s, %s: mean error %.2f %%, limit %.2f %%: %.2f points too much; furthest off (%%): %s\n", what, counter, is, limit, is - limit, furthest()
                bad = 1
            }
        }
        END {
            if (!seen) { printf "%s: %s is not in the result\n", what, counter; bad = 1 }
            exit bad
        }' "$1"
}

# ---- all of them ------------------------------------------------------------------------------
jobs=$(nproc 2>/dev/null || echo 2)
while read -r file size source model; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    correlate "$file" "$size" "$source" "$model" >"$work/$file.$size.$source.$model" 2>"$work/$file.$size.$source.$model.err" &
done < <(limits | awk '!seen[$1, $2, $3, $4]++ { print $1, $2, $3, $4 }')
wait
while read -r file size source model counter points limit; do
    result=$work/$file.$size.$source.$model
    [ ! -s "$result.err" ] || grep '^orrery:' "$result.err" | sed "s/^/$file $size $source $model: /" # kernels print there too
    judge "$result" "$file, $size, $source, $model" "$counter" "$points" "$limit" || failures=$((failures + 1))
done < <(limits)

# ---- the gate itself --------------------------------------------------------------------------
# A description with memory twice as far away must not pass.
correlate workloads small sass analytic --set dram.latency=1066 --set l2.latency=562 >"$work/wrong" 2>/dev/null
if judge "$work/wrong" "a wrong description" cycles 96 8.8 >"$work/said"; then
    echo "a description with memory twice as far away passes"
    failures=$((failures + 1))
elif ! grep -q "points too much; furthest off" "$work/said"; then
    echo "a description with memory twice as far away is refused for another reason: $(cat "$work/said")"
    failures=$((failures + 1))
fi

[ $failures = 0 ] || { echo "$failures limits are not kept"; exit 1; }
