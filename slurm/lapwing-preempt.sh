#!/bin/bash
# Run lapwing on nodes that Slurm may take away, as in a partition "preemptable" or "scavenger":
#
#     sbatch --partition=NAME slurm/lapwing-preempt.sh JOB.ini [options that override it]
#
# When Slurm needs the nodes it sends a signal, and kills the job GraceTime seconds later (scontrol show partition NAME). The run
# finishes its round, writes a checkpoint and ends with code 75; the job queues itself again under the same number. If the
# partition's GraceTime is too short, the next turn resumes from the last regular checkpoint; one is written every 30 s.
#
# With srun the ranks get SIGTERM from Slurm. With mpirun they get a signal only if Slurm is configured with
# SlurmctldParameters=preempt_send_user_signal (newer: PreemptParameters=send_user_signal); otherwise the next turn resumes from the
# last regular checkpoint.
#
# One rank for each GPU, on nodes with four:
#
#     LAPWING_GPUS=4 sbatch --gpus-per-node=4 slurm/lapwing-preempt.sh JOB.ini
#
# The options of sbatch are those of lapwing.sh, and these:
#
#SBATCH --job-name=lapwing
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2     # ranks: one per socket
#SBATCH --exclusive             # all cores of each node; to use a part, give --cpus-per-task instead
#SBATCH --mem=0                 # all memory of each node; lapwing uses no more than Slurm grants
#SBATCH --time=01:00:00         # limit of each turn
#SBATCH --signal=B:USR1@120     # a signal when preempted, and 120 s before the limit; Slurm may send it a minute early
#SBATCH --requeue               # Slurm queues the job again after it has killed it
#SBATCH --open-mode=append
#SBATCH --output=lapwing-%j.log

set -eu
: "${1:?usage: sbatch slurm/lapwing-preempt.sh JOB.ini or arguments for lapwing}"

# ---- launch: the same lines in each of these scripts, so that each may be copied alone
# launch ARGUMENTS replaces the shell by lapwing. srun starts its ranks if this Slurm can start programs of Open MPI (PMIx),
# otherwise mpirun does. LAPWING_LAUNCHER=srun or LAPWING_LAUNCHER=mpirun sets the choice. LAPWING_GPUS=4 starts four ranks on each
# node, one for each of its GPUs, whatever --ntasks-per-node is.
launch() {
    PATH=$PATH:$SLURM_SUBMIT_DIR/build      # an installed lapwing goes first
    case $1 in *.ini) set -- run "$@" ;; esac
    # Each rank computes on its share of the cores. srun needs --cpus-per-task again, as it does not inherit the one of sbatch.
    srun_ranks=() mpirun_ranks=()
    if [ -n "${LAPWING_GPUS-}" ]; then
        export OMP_NUM_THREADS=$((SLURM_CPUS_ON_NODE / LAPWING_GPUS))
        srun_ranks=(--ntasks="$((SLURM_NNODES * LAPWING_GPUS))" --ntasks-per-node="$LAPWING_GPUS")
        mpirun_ranks=(--map-by "ppr:$LAPWING_GPUS:node:OVERSUBSCRIBE")
    else
        export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-$((SLURM_CPUS_ON_NODE / SLURM_NTASKS_PER_NODE))}
    fi
    if [ -z "${LAPWING_LAUNCHER-}" ]; then
        if srun --mpi=list 2>&1 | grep -q pmix; then LAPWING_LAUNCHER=srun; else LAPWING_LAUNCHER=mpirun; fi
    fi
    case $LAPWING_LAUNCHER in
        # All ranks end together. If one crashes, srun ends the others after 60 seconds; without --wait they would wait for it.
        srun) exec srun --mpi=pmix --wait=60 "${srun_ranks[@]}" --cpus-per-task="$OMP_NUM_THREADS" lapwing "$@" ;;
        # With these settings mpirun takes a node for lost after 10 + 6 x 5 seconds of silence instead of eight minutes. Without
        # --bind-to none it would bind each rank with all its threads to one core or socket.
        mpirun)
            export OMPI_MCA_oob_tcp_keepalive_time="${OMPI_MCA_oob_tcp_keepalive_time:-10}"
            export OMPI_MCA_oob_tcp_keepalive_intvl="${OMPI_MCA_oob_tcp_keepalive_intvl:-5}"
            export OMPI_MCA_oob_tcp_keepalive_probes="${OMPI_MCA_oob_tcp_keepalive_probes:-6}"
            exec mpirun "${mpirun_ranks[@]}" --bind-to none -x OMP_NUM_THREADS -x PATH lapwing "$@"
            ;;
        *) echo "LAPWING_LAUNCHER is $LAPWING_LAUNCHER, not srun or mpirun" >&2; exit 2 ;;
    esac
}
# ---- end of launch

# Slurm sends SIGUSR1 to this shell only; the shell passes it on. The ranks then finish their round, write a checkpoint and end with
# code 75. The signal also interrupts `wait`, which is then called again.
launch "$@" &
ranks=$!
signalled=
trap 'signalled=yes; kill -USR1 $ranks || :' USR1
while code=0; wait $ranks || code=$?; [ -n "$signalled" ]; do signalled=; done

# 75: there is a checkpoint. Once Slurm has begun to preempt the job, any other failure is a consequence of that.
preempted() { scontrol show job "$SLURM_JOB_ID" | grep -q ' PreemptTime=[0-9]'; }
if { [ $code = 75 ] || { [ $code != 0 ] && preempted; }; } && [ "${SLURM_RESTART_COUNT:-0}" -lt 1000 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit $code
