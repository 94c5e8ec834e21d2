#!/bin/sh
# Trains the kernel models that ship, from public tables that do not: DFSIM_SHARED must name the
# folder with data/aiconfigurator. Takes some 20 s; the same tables give the same bytes.
# usage: DFSIM_SHARED=<path> [OUT=<folder>] serving/kernels/build_kernels.sh [DFSIM]
set -eu
: "${DFSIM_SHARED:?DFSIM_SHARED is not set: the folder that holds data/}"
root=$(cd "$(dirname "$0")/../.." && pwd)
dfsim=$(realpath "${1:-$root/build/release/dfsim}")
out=${OUT:-$root/serving/kernels/pretrained}
data=$DFSIM_SHARED/data/aiconfigurator
mkdir -p "$out"
for folder in "$data"/*/gemm/*/*; do
  version=$(basename "$folder")
  framework=$(basename "$(dirname "$folder")")
  system=$(basename "$(dirname "$(dirname "$(dirname "$folder")")")")
  # NCCL is one for all frameworks; serving text needs no attention of image encoders.
  tables=$(find "$data/$system" -name '*.csv.gz' ! -path '*/encoder_attention/*' \
    \( -path "*/$framework/$version/*" -o -path '*/nccl/*' \) | LC_ALL=C sort)
  # shellcheck disable=SC2086  # paths without blanks, one word each
  "$dfsim" llm train --system "$system" --framework "$framework" --framework-version "$version" $tables -o "$out"
done
"$dfsim" llm train --card -o "$out"
