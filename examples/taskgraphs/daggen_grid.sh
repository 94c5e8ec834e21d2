#!/bin/sh
# Makes the random graphs on which docs/guides/compare-schedulers.md compares policies that decide
# when a task becomes ready: daggen's parameters fat, density, regularity and jump, a ratio of
# communication to computation from 0.2 to 8, and 4 and 16 devices whose speeds spread tenfold.
#
#   daggen_grid.sh DFSIM FOLDER [TASKS]
set -eu
dfsim=$1
folder=$2
tasks=${3:-200}
mkdir -p "$folder"
seed=0
for devices in 4 16; do
  for fat in 0.2 0.5 0.8; do
    for density in 0.2 0.8; do
      for regularity in 0.2 0.8; do
        for jump in 2 4; do
          for ccr in 0.2 0.8 4 8; do
            seed=$((seed + 1))
            "$dfsim" generate --shape daggen --tasks "$tasks" --devices "$devices" --fat "$fat" \
              --density "$density" --regularity "$regularity" --jump "$jump" --ccr "$ccr" \
              --speed-spread 10 --seed "$seed" \
              -o "$folder/d${devices}_fat${fat}_den${density}_reg${regularity}_jump${jump}_ccr${ccr}.json"
          done
        done
      done
    done
  done
done
