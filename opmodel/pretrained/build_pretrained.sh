#!/bin/sh
# Trains the models that ship, from public data that does not: DFSIM_SHARED must name the folder with
# data/neusight, data/aiconfigurator.
# usage: DFSIM_SHARED=<path> [OUT=<folder>] opmodel/pretrained/build_pretrained.sh [DFSIM [MODEL...]]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
dfsim=$(realpath "${1:-$root/build/release/dfsim}")
out=${OUT:+$(realpath "$OUT")}
out=${out:-opmodel/pretrained}  # relative, as the reports show it
cd "$root"
[ $# -gt 0 ] && shift
models=${*:-a100 v100 t4 p100 h100 h200 epyc-milan epyc-genoa}
data=${DFSIM_SHARED:-}/data
for model in $models; do  # two were measured here, the others are trained on data that does not ship
  case $model in
    epyc-*) ;;
    *) : "${DFSIM_SHARED:?DFSIM_SHARED is not set: the folder that holds data/}" ;;
  esac
done
neusight=neusight:$data/neusight/neusight_ops_train.csv.gz

# aiconfigurator's tables of one system but those of collectives, which are not operators, and of
# TensorRT-LLM's attention on A100, whose kernels take up to twice as long as vLLM's.
tables() {
  find "$data/aiconfigurator/$1" -name '*.csv.gz' ! -path '*/comm/*' ! -path '*/attention/trtllm/*' |
    LC_ALL=C sort |
    sed 's/^/aiconfigurator:/'
}
# usage: train NAME ROUNDS PROFILES... ; 0 rounds = as many as help. Fewer where the issue is not the
# last tenth of a percent: all models together train in minutes.
train() {
  name=$1
  rounds=$2
  shift 2
  mkdir -p "$out/$name"
  "$dfsim" train "$@" --rounds "$rounds" --name "$name" --seed 1 --compact --no-rows -o "$out/$name" \
    > "$out/$name/training_report.txt"
  cat "$out/$name/training_report.txt"
}
for model in $models; do
  case $model in
    a100) train a100 0 "$neusight" $(tables a100_sxm) --only-device "NVIDIA A100-PCIE-40GB" \
            --only-device "NVIDIA A100 80GB PCIe" --only-device "NVIDIA A100-SXM4-80GB" ;;
    v100) train v100 500 "$neusight" --only-device "Tesla V100-PCIE-32GB" ;;
    t4) train t4 500 "$neusight" --only-device "Tesla T4" ;;
    p100) train p100 500 "$neusight" --only-device "Tesla P100-PCIE-16GB" ;;
    h100) train h100 500 $(tables h100_sxm) ;;
    epyc-milan | epyc-genoa)
      measured=datasets/measured/$model
      train "$model" 0 "$measured/ops.csv.gz" --overheads "$measured/overheads.json"
      "$dfsim" validate --runs "$measured/unseen_runs.csv" --model "$out/$model" \
        --fit-intervals | sed -n '/^intervals/,$p' | tee -a "$out/$model/training_report.txt" ;;
    h200) train h200 500 $(tables h200_sxm) ;;
    *) echo "unknown model '$model'; valid: a100 v100 t4 p100 h100 h200 epyc-milan epyc-genoa" >&2; exit 2 ;;
  esac
done
