#!/bin/bash
# An array of jobs that share the files, or the channels, of a survey, one share for each:
#
#     sbatch --array=0-7 slurm/lapwing-array.sh files JOB.ini [options that override it]
#     sbatch --array=0-7 slurm/lapwing-array.sh channels=3840 JOB.ini
#
# "files": each file that "input" of JOB.ini names has a result of its own, in the folder that "output" names (--each file); the
# jobs divide the files. Results that are complete are left alone: the same command again makes those that are missing.
#
# "channels=3840": a result for each job, with its share of so many channels. JOB.ini names it by the job's number in the array:
# output = part-${SLURM_ARRAY_TASK_ID}.h5
#
# The numbers of the array are 0 to N - 1, and N is the number of shares. To run only some of them again, say N: --array=3,5 and
# files/8 or channels=3840/8.
#
# %4 behind the numbers, as in --array=0-99%4, lets four run at once. Options of sbatch are those of lapwing.sh.
#
#SBATCH --job-name=lapwing-array
#SBATCH --array=0-7
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2     # ranks: one per socket, or one per GPU
#SBATCH --exclusive             # all cores; for a part of each node ask for --cpus-per-task instead
#SBATCH --mem=0                 # all memory; lapwing keeps to what Slurm grants
#SBATCH --time=01:00:00         # of each job
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
            echo "the numbers of the array are not 0 to $((shares - 1)): use --array=0-$((shares - 1)) or say $over/SHARES" >&2
            exit 2
        fi
        ;;
esac
case $over in
    files) set -- "$@" --each "file,part=$share/$shares" ;;
    channels=*)     # cut at even numbers, since real channels are computed in pairs
        count=${over#*=}
        first=$((count * share / shares / 2 * 2)) next=$((count * (share + 1) / shares / 2 * 2))
        [ $((share + 1)) -lt "$shares" ] || next=$count
        set -- "$@" --channels "$first:$next"
        ;;
    *) echo "$usage" >&2; exit 2 ;;
esac

# ---- launch: the same lines in each of these scripts, so that each may be copied alone
# launch ARGUMENTS replaces the shell by lapwing, whose ranks srun starts where this Slurm can start programs of Open MPI (PMIx),
# and otherwise mpirun. LAPWING_LAUNCHER=srun or mpirun chooses.
launch() {
    PATH=$PATH:$SLURM_SUBMIT_DIR/build      # an installed lapwing goes first
    case $1 in *.ini) set -- run "$@" ;; esac
    # Each rank computes in its share of the cores. srun must be told: it does not take --cpus-per-task over from sbatch.
    export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-$((SLURM_CPUS_ON_NODE / SLURM_NTASKS_PER_NODE))}
    if [ -z "${LAPWING_LAUNCHER-}" ]; then
        if srun --mpi=list 2>&1 | grep -q pmix; then LAPWING_LAUNCHER=srun; else LAPWING_LAUNCHER=mpirun; fi
    fi
    case $LAPWING_LAUNCHER in
        srun) exec srun --mpi=pmix --cpus-per-task="$OMP_NUM_THREADS" lapwing "$@" ;;
        # mpirun takes a node for lost after 10 + 6 x 5 seconds of silence, rather than after eight minutes. Without --bind-to none
        # it would bind each rank, threads and all, to one core or socket.
        mpirun)
            export OMPI_MCA_oob_tcp_keepalive_time="${OMPI_MCA_oob_tcp_keepalive_time:-10}"
            export OMPI_MCA_oob_tcp_keepalive_intvl="${OMPI_MCA_oob_tcp_keepalive_intvl:-5}"
            export OMPI_MCA_oob_tcp_keepalive_probes="${OMPI_MCA_oob_tcp_keepalive_probes:-6}"
            exec mpirun --bind-to none -x OMP_NUM_THREADS -x PATH lapwing "$@"
            ;;
        *) echo "LAPWING_LAUNCHER is $LAPWING_LAUNCHER, not srun or mpirun" >&2; exit 2 ;;
    esac
}
# ---- end of launch

launch "$@"
