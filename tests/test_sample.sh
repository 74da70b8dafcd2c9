#!/usr/bin/env bash
# run --sample from end to end, on the cycle model: what is left out is predicted, what cannot be left out is not.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "test_sample: $1" >&2
    exit 1
}
value() { grep -o "\"$2\": [^,}]*" "$1" | sed -n 1p | sed 's/.*: //'; }

# A GPU with room for all blocks of each launch: there is nothing to leave out but launches that are alike, and with one
# launch nothing at all: the same digits as without --sample.
"$ORRERY" run saxpy --gpu h200 --model cycle --threads 1 --json -q -o "$work/full.json"
"$ORRERY" run saxpy --gpu h200 --model cycle --threads 1 --sample --json -q -o "$work/same.json"
[ "$(value "$work/same.json" sample_size)" = 1 ] || fail "saxpy has one small launch, and some of it was left out"
full=$(sed -n '/"totals"/,$p' "$work/full.json" | grep -o '"cycles": [0-9.]*' | sed -n 1p)
same=$(sed -n '/"totals"/,$p' "$work/same.json" | grep -o '"cycles": [0-9.]*' | sed -n 1p)
[ "$full" = "$same" ] || fail "nothing was left out, but it is $same, not $full"

# Eighty equal launches of 240 equal blocks on two SMs: one is simulated, and of that some blocks; the first, whose code and
# data no cache has yet, is apart from the others. The buffers are right.
cat > "$work/many.launch" << END
module "$SOURCE/workloads/saxpy/saxpy.ptx"
size one n = 61440, rounds = 80
buffer x f32[n] value 1
buffer y f32[n] value 0
for k = 1 to rounds
    launch saxpy grid ceildiv(n, 256) block 256 args n, f32:2, x, y
end
expect y all 160
END
run() { "$ORRERY" run "$work/many.launch" --gpu h200 --set sm.count=2 --set tpc.count=1 --source ptx --model cycle -q --json "$@"; }
run --threads 1 > "$work/full.json"
run --threads 1 --sample --warm none --profile "$work/profile" > "$work/one.json"
[ -s "$work/profile" ] || fail "no profile was written"
grep -q '"clusters": 2, "simulated_launches": 1' "$work/one.json" || fail "eighty equal launches are not one cluster and the first"
grep -q '"buffers_checked": 1' "$work/one.json" || fail "the buffers were not checked"
awk -v s="$(value "$work/one.json" sample_size)" 'BEGIN { exit !(s > 0 && s <= 0.0125) }' || fail "more than one launch in eighty"
a=$(sed -n '/"totals"/,$p' "$work/full.json" | grep -o '"cycles": [0-9.]*' | sed -n 1p | sed 's/.*: //')
sampled() { sed -n '/"sample"/,$p' "$1" | grep -o '"cycles": [0-9.]*' | sed -n 1p | sed 's/.*: //'; }
b=$(sampled "$work/one.json")

# The same digits with the profile that was kept and with two threads, with and without warm caches.
strip() { sed '/"host"/,$d' "$1"; }
run --threads 2 --sample --warm none --profile "$work/profile" > "$work/two.json"
diff <(strip "$work/one.json") <(strip "$work/two.json") > /dev/null || fail "two threads, or the kept profile: other digits"
run --threads 1 --sample --profile "$work/profile" --warm functional > "$work/warm1.json"
run --threads 2 --sample --profile "$work/profile" --warm functional > "$work/warm2.json"
diff <(strip "$work/warm1.json") <(strip "$work/warm2.json") > /dev/null || fail "two threads, warm: other digits"
grep -q '"warm": "functional"' "$work/warm1.json" || fail "it does not say that caches were warm"
# All data stay in L2 from launch to launch, so without warm caches the one launch is simulated as if it were the first,
# and all are predicted too slow. With them it is as the others; TBPoint's own bound (lemma 4.1) is 10 %.
d=$(sampled "$work/warm1.json")
awk -v a="$a" -v b="$b" -v d="$d" 'BEGIN { exit !(b > a && d < a * 1.1 && d > a * 0.9) }' ||
    fail "simulated $a, predicted $b with cold and $d with warm caches"
# Both intervals hold the truth: what is not known of cold caches is in theirs.
for file in one warm1; do
    awk -v a="$a" -v p="$(sampled "$work/$file.json")" -v w="$(sed -n '/"sample"/,$p' "$work/$file.json" | grep -o '"bound": [0-9.e-]*' | sed -n 1p | sed 's/.*: //')" \
        'BEGIN { exit !(a >= p * (1 - w) - 1 && a <= p * (1 + w) + 1) }' || fail "$file: the interval of $(sampled "$work/$file.json") does not hold $a"
done
# Warm is what is done unless something else is asked for.
run --threads 1 --sample --profile "$work/profile" > "$work/usual.json"
diff <(strip "$work/usual.json") <(strip "$work/warm1.json") > /dev/null || fail "caches are not warm unless asked for"

# A whole H200, whose halves of L2 keep copies of each other's lines: the launch that is simulated finds them as it does when all are
# simulated, and takes as long (0.2 % more at most; without the copies it was 0.4 % more; and not 0.4 % less: ports are free when it begins).
whole() { "$ORRERY" run "$work/many.launch" --set n=270336 --set rounds=8 --no-check --gpu h200 --source ptx --model cycle -q --json --threads 1 "$@"; }
whole > "$work/full.json"
whole --sample --warm functional > "$work/some.json"
third() { grep -o '"index": 3, .*"cycles": [0-9.]*' "$1" | sed -n 1p | grep -o '"cycles": [0-9.]*' | sed -n 1p | sed 's/.*: //'; }
awk -v a="$(third "$work/full.json")" -v b="$(third "$work/some.json")" 'BEGIN { exit !(a > 0 && b < a * 1.002 && b > a * 0.996) }' ||
    fail "a launch of $(third "$work/full.json") cycles was predicted as $(third "$work/some.json")"

# The profile of another GPU is the same; that of another script is refused, and so is a damaged one.
"$ORRERY" run "$work/many.launch" --gpu v100 --source ptx --model cycle -q --threads 1 --sample --profile "$work/profile" > /dev/null
refuse() {
    if "$@" > "$work/out" 2> "$work/err"; then fail "was not refused: $*"; fi
    grep -q "$want" "$work/err" || fail "wrong message: $(cat "$work/err")"
}
want='code of saxpy differs from what was profiled\|is of other code'
"$ORRERY" sample profile saxpy --source ptx --profile "$work/ptx.profile" -q > /dev/null
refuse "$ORRERY" run saxpy --source sass --gpu h200 --model cycle -q --threads 1 --sample --profile "$work/ptx.profile"
want='other script\|another script\|is not what the profile'
refuse run --threads 1 --sample --profile "$work/profile" --set n=30720 --no-check
want='damaged'
head -c 60 "$work/profile" > "$work/short"
refuse run --threads 1 --sample --profile "$work/short"
want='needs a model that predicts time'
refuse "$ORRERY" run saxpy --sample
want='go with --sample'
refuse "$ORRERY" run saxpy --profile "$work/profile"

# A recorded stream is sampled as the script it came from: the same predictions.
"$ORRERY" record "$work/many.launch" --source ptx -q -o "$work/many.orr"
"$ORRERY" run "$work/many.orr" --gpu h200 --set sm.count=2 --set tpc.count=1 --model cycle -q --json --threads 1 --sample > "$work/stream.json"
c=$(sampled "$work/stream.json")
[ "$d" = "$c" ] || fail "from a stream $c, from the script $d"

# The abstract model leaves out thread blocks too: one long launch on two SMs.
long() {
    "$ORRERY" run "$work/many.launch" --set n=983040 --set rounds=1 --gpu h200 --set sm.count=2 --set tpc.count=1 --source ptx -q --json \
        --no-check --threads 1 --model "$@"
}
for model in cycle abstract; do
    long $model > "$work/full.json"
    long $model --sample > "$work/some.json"
    grep -q '"skipped_by_blocks": 0[.][1-9]' "$work/some.json" || fail "$model: no thread blocks were left out"
    a=$(sed -n '/"totals"/,$p' "$work/full.json" | grep -o '"cycles": [0-9.]*' | sed -n 1p | sed 's/.*: //')
    awk -v a="$a" -v b="$(sampled "$work/some.json")" 'BEGIN { exit !(b < a * 1.1 && b > a * 0.9) }' || fail "$model: more than 10 % off"
done

# Weights that all SMs store between products that few SMs read: where they are in an L2 of two halves follows from who stored them. Of twenty rounds most are
# left out, and the sum is within 2 %.
cat > "$work/train.ptx" << 'X'
.version 7.0
.target sm_70
.address_size 64
.visible .entry step(.param .u64 w) {
    .reg .b32 %r<6>;
    .reg .f32 %f<2>;
    .reg .b64 %a<3>;
    ld.param.u64 %a1, [w];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r1, 64, %r2;
    mul.wide.u32 %a2, %r3, 4;
    add.s64 %a1, %a1, %a2;
    ld.global.f32 %f1, [%a1];
    add.f32 %f1, %f1, 0f3f800000;
    st.global.f32 [%a1], %f1;
    ret;
}
.visible .entry product(.param .u64 w, .param .u64 y) {
    .reg .pred %q;
    .reg .b32 %r<6>;
    .reg .f32 %f<3>;
    .reg .b64 %a<4>;
    ld.param.u64 %a1, [w];
    ld.param.u64 %a3, [y];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r1, 64, %r2;
    mul.wide.u32 %a2, %r3, 4;
    add.s64 %a1, %a1, %a2;
    add.s64 %a3, %a3, %a2;
    mov.u32 %r4, 0;
    mov.f32 %f1, 0f00000000;
more:
    ld.global.f32 %f2, [%a1];
    add.f32 %f1, %f1, %f2;
    add.s64 %a1, %a1, 1024;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %q, %r4, 256;
    @%q bra more;
    st.global.f32 [%a3], %f1;
    ret;
}
X
cat > "$work/train.launch" << 'X'
module "train"
buffer w f32[65536] zero
buffer y f32[256] zero
for k = 1 to 20
    launch product grid 4 block 64 args w, y
    launch step grid 1024 block 64 args w
end
expect w all 20
X
train() { "$ORRERY" run "$work/train.launch" --gpu h200 --source ptx --model cycle --threads 2 -q --json "$@"; }
train > "$work/full.json"
train --sample > "$work/some.json"
a=$(sed -n '/"totals"/,$p' "$work/full.json" | grep -o '"cycles": [0-9.]*' | sed -n 1p | sed 's/.*: //')
b=$(sampled "$work/some.json")
awk -v s="$(value "$work/some.json" sample_size)" 'BEGIN { exit !(s > 0 && s < 0.2) }' || fail "rounds of training: hardly anything was left out"
awk -v a="$a" -v b="$b" 'BEGIN { exit !(a > 0 && b < a * 1.02 && b > a * 0.98) }' || fail "rounds of training take $a cycles, and $b are predicted"

# The mathematics: a table of 24 rows, a figure, and more than 95 % of the draws within 10 %.
"$ORRERY" sample model --csv "$work/m.csv" --plot "$work/m.svg" > "$work/m.txt"
[ "$(wc -l < "$work/m.csv")" = 25 ] || fail "sample model: not 24 rows"
grep -q '</svg>' "$work/m.svg" || fail "sample model: no figure"
awk -F, 'NR > 1 && $5 < 0.95 { exit 1 }' "$work/m.csv" || fail "lemma 4.1 does not hold"
grep -q '2 clusters' <<<"$("$ORRERY" sample profile "$work/many.launch" --source ptx -q)" || fail "sample profile"

# A study keeps what the full simulation said, and says the same of it the next time; of something else, or damaged, it is refused.
study() { "$ORRERY" sample study "$work/many.launch" --set rounds=8 --gpu h200 --set sm.count=2 --set tpc.count=1 --source ptx -q --threads 1 --full "$work/full" "$@"; }
study --no-check > "$work/first.txt"
study --no-check > "$work/second.txt"
cmp "$work/first.txt" "$work/second.txt" || fail "the full simulation that was kept is another one"
want='of another script'
refuse study --set n=30720 --no-check
head -c 100 "$work/full" > "$work/short"
mv "$work/short" "$work/full"
want='damaged'
refuse study --no-check
