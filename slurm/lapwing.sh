#!/bin/bash
# Run lapwing on one or more nodes, with a rank for each part of their cores:
#
#     sbatch slurm/lapwing.sh JOB.ini [options that override it]
#     sbatch slurm/lapwing.sh ols --input ... --filters ... --output ...
#     sbatch --nodes=8 slurm/lapwing.sh JOB.ini
#
# Options of sbatch on the submit line override those below. For GPUs take lapwing-gpu.sh.
#
# Input and output must lie on a file system that all nodes share. A run that cannot finish within its time limit is interrupted and
# ends with code 75. The same command resumes it; lapwing-requeue.sh does so by itself.
#
#SBATCH --job-name=lapwing
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2     # ranks: one per socket
#SBATCH --exclusive             # all cores of each node; to use a part, give --cpus-per-task instead
#SBATCH --mem=0                 # all memory of each node; lapwing uses no more than Slurm grants
#SBATCH --time=01:00:00         # "lapwing plan" estimates the time
#SBATCH --output=lapwing-%j.log

set -eu
: "${1:?usage: sbatch slurm/lapwing.sh JOB.ini or arguments for lapwing}"

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

launch "$@"
