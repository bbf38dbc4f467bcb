#!/bin/bash
# A phase on a real Slurm: one controller and three nodes by name on this machine, tasks on the doubles of driver, nvcc and ncu.
# Tries a whole submission, a task that is requeued, a node that is lost, a time limit, a shard that is there twice, one that cannot be
# measured, and Ctrl-C. Needs Debian's slurm-wlm and munge, a C compiler, and root (slurmd and munged of their own users).
#
#   tests/slurm/run.sh BINARY
set -u
binary=$(realpath "${1:?usage: run.sh BINARY}")
root=$(cd "$(dirname "$0")/../.." && pwd)
for tool in slurmctld slurmd sbatch munged cc; do
    command -v "$tool" > /dev/null || { echo "$tool is not there; install slurm-wlm and munge"; exit 2; }
done
place=$(mktemp -d /tmp/ncugate-slurm.XXXXXX)
chmod 755 "$place"
pids=()
cleanup() {
    scancel --me 2> /dev/null
    for pid in "${pids[@]}" $(cat "$place"/*.pid 2> /dev/null); do kill "$pid" 2> /dev/null; done
    sleep 1
    for pid in $(cat "$place"/*.pid 2> /dev/null); do kill -9 "$pid" 2> /dev/null; done
    [ -n "${KEEP:-}" ] || rm -rf "$place"
}
trap cleanup EXIT

# ---- a cluster ----
mkdir -p "$place"/{state,spool,munge,bin,driver}
export SLURM_CONF=$place/slurm.conf
dd if=/dev/urandom of="$place/munge/key" bs=1 count=1024 2> /dev/null
chown -R munge "$place/munge"; chmod 711 "$place/munge"; chmod 400 "$place/munge/key"
setpriv --reuid munge --regid munge --clear-groups munged --foreground --key-file="$place/munge/key" --socket="$place/munge/socket" \
    --log-file="$place/munge/log" --pid-file="$place/munge/pid" --seed-file="$place/munge/seed" > "$place/munged.txt" 2>&1 &
pids+=($!)
cat > "$SLURM_CONF" << END
ClusterName=test
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=16817
AuthType=auth/munge
AuthInfo=socket=$place/munge/socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool/%n
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd-%n.pid
SlurmctldLogFile=$place/slurmctld.txt
SlurmdLogFile=$place/slurmd-%n.txt
SlurmdTimeout=10
SlurmctldTimeout=10
KillWait=5
ReturnToService=2
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
GresTypes=gpu
NodeName=n[1-3] NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=[16821-16823] CPUs=2 Gres=gpu:1 RealMemory=1000
PartitionName=all Nodes=n[1-3] Default=YES MaxTime=60 State=UP OverSubscribe=NO
END
echo "NodeName=n[1-3] Name=gpu File=/dev/null" > "$place/gres.conf"
sleep 1
slurmctld -D > "$place/ctld.out" 2>&1 & pids+=($!)
node() { slurmd -D -N "$1" > "$place/$1.out" 2>&1 & eval "slurmd_$1=$!"; pids+=($!); }
node n1; node n2; node n3
for _ in $(seq 30); do [ "$(sinfo -h -o %D -t idle 2> /dev/null)" = 3 ] && break; sleep 1; done
sinfo -h && [ "$(sinfo -h -o %D -t idle)" = 3 ] || { echo "the cluster does not start:"; tail -n 5 "$place"/*.out "$place"/*.txt; exit 2; }

# ---- a phase of four programs, each as slow as the file 'slow' says ----
cc -shared -fPIC -w -o "$place/driver/libcuda.so.1" "$root/tests/doubles/cuda.c"
printf '#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13.0.88"\n' > "$place/bin/nvcc"
cp "$root/tests/doubles/ncu" "$place/bin/ncu"
chmod +x "$place/bin/"*
cat > "$place/program.sh" << 'END'
[ -e slow ] && sleep "$(cat slow)"
[ -e broken ] && [ "$SLURM_ARRAY_TASK_ID" = "$(cat broken)" ] && kill -9 $PPID
result=$(sed -n 's/.*"result": "\(.*\)".*/\1/p' "$NCUGATE_REQUEST")
check='"shape": "only", "max_abs": 0, "rel_l2": 0, "nonfinite": 0, "compared": 2048'
samples=$(seq -s, 10.001 0.001 10.060)
printf '{"version": 1, "status": "ok", "checks": [{"seed": 0, %s}, {"seed": 1, %s}],
  "latency": [{"shape": "only", "unit": "us", "launches": 20, "samples": [%s]}]}' "$check" "$check" "$samples" > "$result"
END
{
    sed '/^\[kernel\]/,$d' "$root/tests/data/copy.toml"
    for name in a b c d; do printf '[[variant]]\nname = "%s"\ncommand = ["sh", "program.sh", "%s"]\n' $name $name; done
    printf '[[gate]]\nname = "latency"\nrequire = "latency_p50 <= 10.5"\n'
} > "$place/phase.toml"
: > "$place/ncugate.toml"
cd "$place"
export PATH=$place/bin:$PATH LD_LIBRARY_PATH=$place/driver NCUGATE_LOCKS=$place NO_COLOR=1
failed=0
submit() { timeout 300 "$binary" cluster slurm phase.toml --gres gpu:3 "$@" > out.txt 2> err.txt; }
check() { # name, wanted status, status, a word that standard error has
    if [ "$2" = "$3" ] && grep -q -- "$4" err.txt && { [ "$2" != 4 ] || grep -q "proven correct" out.txt; }; then
        echo "ok      $1"
    else
        echo "FAILED  $1: status $3"; cat err.txt out.txt | tail -20; failed=1
    fi
}
running() { # waits until a task of an array runs; gives its number
    for _ in $(seq 60); do
        task=$(squeue --me -h -r -t R -o '%i %N' | grep _ | head -1)
        [ -n "$task" ] && { echo "$task"; return; }
        sleep 0.5
    done
}

submit; check "whole" 4 $? "3 of 3 shards measured"

echo 15 > slow
submit & follower=$!
sleep 1; read -r task _ <<< "$(running)"; sleep 2
scontrol requeue "$task"; rm slow
wait $follower; check "task $task requeued while it measured" 4 $? "3 of 3 shards measured"

echo 20 > slow
submit & follower=$!
sleep 1; read -r task lost <<< "$(running)"; sleep 2; rm slow
lost_pid=slurmd_$lost
kill -9 "${!lost_pid}"; pkill -9 -P "${!lost_pid}" 2> /dev/null
scontrol update nodename="$lost" state=down reason=lost
wait $follower; check "node $lost lost with task $task" 4 $? "3 of 3 shards measured"
node "$lost"; sleep 3; scontrol update nodename="$lost" state=resume 2> /dev/null

echo 90 > slow
submit --option=--time=1; check "time limit" 3 $? "not measured: "
rm slow; submit; check "the same command measures what is missing" 4 $? "3 of 3 shards measured"

echo 2 > broken
submit; check "a shard that cannot be measured" 3 $? "not measured: 2"
rm broken
folder=$(ls -d jobs/copy/*)
before=$(ls -d "$folder"/shards/1/copy/*-s1of3 | wc -l)
rm "$folder/done/1"
submit; status=$?
twice=$(ls -d "$folder"/shards/1/copy/*-s1of3 | wc -l)
[ "$twice" = $((before + 1)) ] || { echo "FAILED  shard 1 was measured $((twice - before)) times"; failed=1; }
check "a shard twice" 4 $status "3 of 3 shards measured"

echo 20 > slow
submit & follower=$!
sleep 1; running > /dev/null; kill -INT "$(pgrep -P "$(pgrep -P $follower timeout)")"
wait $follower; status=$?; rm slow; sleep 7
[ -z "$(squeue --me -h)" ] || { echo "FAILED  jobs are left:"; squeue --me; failed=1; }
check "Ctrl-C" 3 $status "were cancelled"
exit $failed
