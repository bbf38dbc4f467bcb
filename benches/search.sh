#!/usr/bin/env bash
# Prints the table of docs/search.md: `elites` on spaces of kernel_tuner's public benchmark_hub, which has measurements of
# every point. Needs no GPU. The recordings (110 MB unpacked) are fetched with git at a fixed commit and are not part of this
# repository.
#
#   benches/search.sh [held-out|training] [OPTION...]
#
# Options are those of the example `search` of ncugate-campaign (--strategy random, --repeats 20). Its settings were
# compared on the spaces of `training` and of `held-out`.
# Environment: SPACES (folder for the recordings; target/spaces), HUB (a clone of benchmark_hub, or its address), KERNEL_TUNER
# (a Python with kernel_tuner: its strategies run on the same spaces, over an hour on two cores; SEEDS=10 takes a tenth of it;
# ends with 1 if one of them is better).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
search=(cargo run --release --quiet --manifest-path "$root/Cargo.toml" -p ncugate-campaign --example search --)
spaces=${SPACES:-$root/target/spaces}
hub=${HUB:-https://github.com/AutoTuningAssociation/benchmark_hub}
commit=8eeb99e7179e6838af95d392ac6c60cebfd8c434
milo=cachefiles
others="currently_unused/cachefiles/KernelTuner data"

which=held-out
case ${1:-} in
held-out | training)
    which=$1
    shift
    ;;
esac
case $which in
held-out)
    paths=("$milo/convolution_milo/"{A4000,W7800,MI250X} "$others/convolution/"{RTX_3090,RTX_Titan}
        "$milo/dedispersion_milo/"{W7800,A4000} "$others/gemm/"{RTX_3090,RTX_Titan} "$others/pnpoly/RTX_3090")
    ;;
training)
    paths=("$milo/convolution_milo/"{A100,A6000,W6600} "$others/convolution/"{RTX_2080_Ti,RTX_3060_laptop}
        "$milo/dedispersion_milo/"{A100,W6600} "$others/gemm/"{RTX_2080_Ti,RTX_3060_laptop} "$others/pnpoly/RTX_2080_Ti")
    ;;
esac

# The file of a space: kernel-chip.json. It is either complete or missing.
name_of() { echo "$spaces/$(basename "$(dirname "$1")")-$(basename "$1").json"; }

mkdir -p "$spaces"
for path in "${paths[@]}"; do
    file=$(name_of "$path")
    [[ -s $file ]] && continue
    if [[ -d $hub ]]; then
        clone=$hub
    else
        clone=$spaces/hub.git
        [[ -d $clone ]] || git clone --quiet --bare --filter=blob:none "$hub" "$clone"
    fi
    git -C "$clone" show "$commit:$path.json.gz" | gunzip >"$file.part"
    mv "$file.part" "$file"
done

files=()
for path in "${paths[@]}"; do files+=("$(name_of "$path")"); done
if [[ -z ${KERNEL_TUNER:-} ]]; then
    exec "${search[@]}" "${files[@]}" "$@"
fi
ours=$(mktemp)
trap 'rm -f "$ours"' EXIT
"${search[@]}" "${files[@]}" "$@" --json > "$ours"
"$KERNEL_TUNER" "$root/benches/search_beside.py" "$ours" "${files[@]}"
