#!/bin/bash
# Run an array of jobs that share the files, or the channels, of a survey:
#
#     sbatch --array=0-7 slurm/lapwing-array.sh files JOB.ini [options that override it]
#     sbatch --array=0-7 slurm/lapwing-array.sh channels=3840 JOB.ini
#
# "files": each file of the option "input" in JOB.ini gets its own result, in the folder "output" (--each file). The jobs divide the
# files among themselves. Complete results are kept: the same command makes only those that are missing.
#
# "channels=3840": each job makes a result of its share of the 3840 channels. In JOB.ini the name of the result has the job's
# number: output = part-${SLURM_ARRAY_TASK_ID}.h5
#
# The jobs of an array of N shares have the numbers 0 to N - 1. To run only some of them again, give their numbers and N:
# --array=3,5 and files/8 or channels=3840/8.
#
# One rank for each GPU, on nodes with four:
#
#     LAPWING_GPUS=4 sbatch --gpus-per-node=4 slurm/lapwing-array.sh files JOB.ini
#
# %4 behind the numbers, as in --array=0-99%4, lets four jobs run at a time. The options of sbatch are those of lapwing.sh.
#
#SBATCH --job-name=lapwing-array
#SBATCH --array=0-7
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2     # ranks: one per socket
#SBATCH --exclusive             # all cores of each node; to use a part, give --cpus-per-task instead
#SBATCH --mem=0                 # all memory of each node; lapwing uses no more than Slurm grants
#SBATCH --time=01:00:00         # limit of each job
#SBATCH --output=lapwing-%A-%a.log

set -eu
usage='usage: sbatch --array=0-7 slurm/lapwing-array.sh files|channels=COUNT JOB.ini or arguments for lapwing'
over=${1:?$usage}
: "${2:?$usage}"
shift
share=$SLURM_ARRAY_TASK_ID
case $over in
    */*) shares=${over##*/} over=${over%/*} ;;
    *)
        shares=$SLURM_ARRAY_TASK_COUNT
        if [ "$SLURM_ARRAY_TASK_MAX" != $((shares - 1)) ]; then
            echo "the numbers of the array are not 0 to $((shares - 1)): use --array=0-$((shares - 1)), or give $over/SHARES" >&2
            exit 2
        fi
        ;;
esac
case $over in
    files) set -- "$@" --each "file,part=$share/$shares" ;;
    channels=*)     # real channels are computed in pairs, so that shares begin at even channels
        count=${over#*=}
        first=$((count * share / shares / 2 * 2)) next=$((count * (share + 1) / shares / 2 * 2))
        [ $((share + 1)) -lt "$shares" ] || next=$count
        set -- "$@" --channels "$first:$next"
        ;;
    *) echo "$usage" >&2; exit 2 ;;
esac

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
