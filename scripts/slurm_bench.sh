#!/bin/sh
# A bench as a Slurm job array: one shard per task, merged by a job that waits for all of them.
#
#   scripts/slurm_bench.sh SUITE SHARDS FOLDER [more options of systole bench]
#
# FOLDER is shared by the nodes; the result is FOLDER/SUITE.jsonl. A task that was stopped goes on where it was when the
# same command is given again. SYSTOLE names the program (default: the built one beside this script).
set -eu
if [ $# -lt 3 ]; then
  echo "usage: scripts/slurm_bench.sh SUITE SHARDS FOLDER [options of systole bench]" >&2
  exit 2
fi
suite=$1 shards=$2 folder=$3
shift 3
root=$(cd "$(dirname "$0")/.." && pwd)
program=${SYSTOLE:-$root/build/release/compiler/driver/systole}
[ -x "$program" ] || { echo "$program is not there: run scripts/build, or set SYSTOLE" >&2; exit 2; }
mkdir -p "$folder"
name=$(basename "$suite" .yaml)

array=$(sbatch --parsable --job-name="systole-$name" --array="1-$shards" --output="$folder/%a.log" --wrap="
  '$program' bench '$suite' --shard \$SLURM_ARRAY_TASK_ID/$shards --jobs \${SLURM_CPUS_PER_TASK:-1} \
    --output '$folder/$name.'\$SLURM_ARRAY_TASK_ID'.jsonl' $*")
merge=""
for shard in $(seq 1 "$shards"); do
  merge="$merge --merge '$folder/$name.$shard.jsonl'"
done
last=$(sbatch --parsable --job-name="systole-$name-merge" --dependency="afterany:$array" --output="$folder/merge.log" --wrap="
  '$program' bench '$suite' $merge --output '$folder/$name.jsonl' $*")
echo "array $array, merge $last: $folder/$name.jsonl"
