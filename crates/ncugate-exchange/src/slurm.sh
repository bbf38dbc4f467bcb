#!/bin/sh
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --kill-on-invalid-dep=yes
#SBATCH --signal=B:TERM@60
# A task of the array measures its shard; the job after it merges the shards and judges.
set -u
@SETTINGS@
cd "$root" || exit 3
export NCUGATE_CACHE="$cache"

# Runs a program and forwards TERM, which Slurm sends before it takes a node away, so that results are stored.
waited() {
    "$@" &
    child=$!
    trap 'kill -TERM "$child" 2>/dev/null' TERM INT HUP
    wait "$child"
    status=$?
    # A signal ends the first wait, and not the program.
    while kill -0 "$child" 2>/dev/null; do
        wait "$child"
        status=$?
    done
}

if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
    shard=$SLURM_ARRAY_TASK_ID
    [ -e "$folder/done/$shard" ] && exit 0
    waited "$program" run "$config" --source gpu --shard "$shard/$shards" --profiles "$folder/shards/$shard" --reports "$reports"
    # 4: measured, and nothing judged.
    [ "$status" -eq 4 ] || exit "$status"
    : > "$folder/done/$shard"
    exit 0
fi
waited "$program" cluster merge --newest --profiles "$profiles" "$folder"/shards/*/"$phase"/*-s*of"$shards"
if [ "$status" -eq 0 ]; then
    waited "$program" run "$config" --source gpu --profiles "$profiles" --reports "$reports" > "$folder/verdict.$SLURM_JOB_ID"
fi
# The rename makes the status file appear atomically.
ended=$folder/status.$SLURM_JOB_ID
echo "$status" > "$ended.new" && mv "$ended.new" "$ended"
exit "$status"
