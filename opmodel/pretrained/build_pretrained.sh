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
models=${*:-a100 v100 t4 p100 p4 l4 h100 h200 epyc-milan epyc-genoa epyc-turin xeon-cascade-lake prior}
data=${DFSIM_SHARED:-}/data
for model in $models; do  # four were measured here, the others are trained on data that does not ship
  case $model in
    epyc-* | xeon-*) ;;
    *) : "${DFSIM_SHARED:?DFSIM_SHARED is not set: the folder that holds data/}" ;;
  esac
done
neusight=neusight:$data/neusight/neusight_ops_train.csv.gz
second=neusight:$data/neusight/neusight_ops_second_recording.csv.gz  # months later, other boards

# usage: tables SYSTEM REGEX: aiconfigurator's tables of a system whose folders match.
tables() {
  find "$data/aiconfigurator/$1" -name '*.csv.gz' | grep -E "/($2)/" | LC_ALL=C sort |
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
# usage: every_second RUNS: the runs of every second network, by name.
every_second() {
  sed 1d "$1" | cut -d, -f1 | LC_ALL=C sort -u | awk 'NR % 2' |
    awk -F, 'NR == FNR {half[$1]; next} $1 in half' - "$1"
}
# usage: interval_runs FOLDER: runs of networks that no trees are fitted to: the list `tune`, and, where they
# were measured, a second list, or every second network of the only one; every second one of another day.
interval_runs() {
  cat "$1/interval_runs.csv"
  if [ -f "$1/second_test_runs.csv" ]; then
    sed 1d "$1/second_test_runs.csv"
  elif [ -f "$1/test_runs.csv" ]; then
    every_second "$1/test_runs.csv"
  fi
  [ ! -f "$1/another_day_runs.csv" ] || every_second "$1/another_day_runs.csv"
}
newest='(attention|encoder_attention|gemm)/vllm/0.24.0'
products="--only-op Gemm --only-op MatMul"
elementwise="--only-op Add --only-op Mul --only-op Div --only-op Pow --only-op Relu --only-op Gelu --only-op Tanh"
norms="--only-op Softmax --only-op LayerNormalization"
# Adds rows of other kinds of timing to a model: its other parts stay as they are.
extend() {
  name=$1
  rounds=$2
  shift 2
  "$dfsim" train "$@" --rounds "$rounds" --name "$name" --seed 1 --compact --no-rows \
    --extend "$out/$name" > "$out/$name/training_report.txt"  # has the parts of before, too
  cat "$out/$name/training_report.txt"
}
for model in $models; do
  case $model in
    a100)
      a100="NVIDIA A100-PCIE-40GB"
      train a100 0 "$neusight" --only-op Conv $elementwise --only-device "$a100" \
        --only-device "NVIDIA A100 80GB PCIe"
      # TensorRT-LLM's GEMMs alone: its attention takes up to twice as long as vLLM's.
      extend a100 0 $(tables a100_sxm 'attention/vllm|gemm/vllm|gemm/trtllm')
      extend a100 100 "$neusight" "$second" $products $norms --only-device "$a100" \
        --only-device "NVIDIA A100 80GB PCIe" ;;
    v100 | p100 | t4 | p4)
      lookup=
      case $model in
        v100) device="Tesla V100-PCIE-32GB" ;;
        p100) device="Tesla P100-PCIE-16GB" ;;
        t4) device="Tesla T4" lookup=--no-lookup ;;  # the first recording's boards were throttled
        p4) device="Tesla P4" lookup=--no-lookup ;;
      esac
      train "$model" 300 "$neusight" --only-op Conv $elementwise $lookup --only-device "$device"
      extend "$model" 100 "$neusight" "$second" $products $norms --only-device "$device" ;;
    l4)  # thirty shapes of a row-wise operator are few: those of the other boards help
      train l4 200 "$second" $norms
      extend l4 200 "$second" $products $elementwise --only-device "NVIDIA L4" ;;
    h100 | h200)  # one chip with other memory: the operators of either teach both
      case $model in
        h100) device="NVIDIA H100 80GB HBM3" ;;
        h200) device="NVIDIA H200" ;;
      esac
      train "$model" 300 $(tables "${model}_sxm" "$newest") datasets/measured/h100/ops.csv.gz \
        datasets/measured/h200/ops.csv.gz --lookup-device "$device"
      [ "$model" = h200 ] || extend "$model" 200 "$second" --only-device "$device" ;;
    prior)
      train prior 60 "$neusight" "$second" \
        $(for system in a100_sxm h100_sxm h200_sxm l40s; do tables "$system" '(gemm|attention)/vllm'; done) \
        --prior --no-lookup ;;
    epyc-milan | epyc-genoa | epyc-turin | xeon-cascade-lake)
      measured=datasets/measured/$model
      bare=  # the same machine by its roofs alone, where those were measured
      for file in datasets/measured/other-cpus/"${model##*epyc-}"-bare*.yaml \
        datasets/measured/other-cpus/"${model##xeon-}"-bare*.yaml; do
        [ ! -f "$file" ] || bare="$bare --bare $file"
      done
      train "$model" 0 "$measured/ops.csv.xz" --overheads "$measured/overheads.json" $bare
      fit=$(mktemp)
      interval_runs "$measured" > "$fit"
      "$dfsim" validate --runs "$fit" --model "$out/$model" --fit-intervals | sed -n '/^intervals/,$p' | tee -a "$out/$model/training_report.txt"
      rm -f "$fit" ;;
    *) echo "unknown model '$model'; valid: a100 v100 t4 p100 p4 l4 h100 h200 epyc-milan epyc-genoa epyc-turin xeon-cascade-lake prior" >&2; exit 2 ;;
  esac
done
# Cards of models elsewhere would land here.
[ "$out" != opmodel/pretrained ] || opmodel/pretrained/make_model_cards.py "$(date +%F)" $models
