"""Runs that are interrupted and queue themselves again, by srun and by mpirun on two nodes each: by a signal before the time is
over, by a more urgent job, by a node that is taken out of service. At the end the data are those of a run without interruption.

    cluster 12 2 PYTHON interrupted.py LAPWING MPIEXEC"""

import os

from jobs import Job, check, expect_data, finish, h5py, plain, random, said_by, wait_for

LONG = ["ols", "--input", "in.h5:/x", "--filters", "in.h5:/taps", "--products", "peaks,blocks", "--blocks", 1000, "--noise",
        "energy", "--threshold", 5, "--memory", "100M", "--threads", 1, "--checkpoint", 0]
UNDER_WAY = " rounds, slices of "
GOES_ON = "continuing the interrupted run"


def start(name, script, launcher, nodes, *options):
    return Job(name, script, *LONG, "--output", name + ".h5", launcher=launcher, nodes=nodes, options=options)


def expect_again(jobs, expected):
    for job, text in jobs:
        job.expect("COMPLETED", restarts=1)
        check(job.said().count(GOES_ON) == 1, f"{job.name}: does not go on where it was: {job.said()}")
        check(text in job.said(), f"{job.name}: '{text}' is not in its log: {job.said()}")
        expect_data(job, job.name + ".h5", expected)


with h5py.File("in.h5", "w") as made:
    made["x"], made["taps"] = random.standard_normal(48_000_000, "f4"), random.standard_normal((50, 1025)).astype("f4")
signalled = [start("usr1-srun", "lapwing-requeue.sh", "srun", "n1,n2"),
             start("usr1-mpirun", "lapwing-requeue.sh", "mpirun", "n3,n4")]
preempted = [start("taken-srun", "lapwing-preempt.sh", "srun", "n5,n6"),
             start("taken-mpirun", "lapwing-preempt.sh", "mpirun", "n7,n8")]
down = start("down", "lapwing-requeue.sh", "srun", "n9,n10")
for job in (*signalled, *preempted, down):
    job.expect_text(UNDER_WAY)
for job in signalled:
    said_by("scancel", "--batch", "--signal=USR1", job.id)      # the signal that Slurm sends for --signal=B:USR1@120
for job in (*preempted, down):
    check(wait_for(lambda: os.path.exists(job.name + ".h5.lapwing-journal")), f"{job.name}: writes no checkpoint: {job.said()}")
said_by("scontrol", "update", "nodename=n10", "state=down", "reason=test")
with open("urgent.sh", "w") as file:
    file.write("#!/bin/sh\n")
Job("urgent", os.path.abspath("urgent.sh"), nodes="n5,n6,n7,n8", options=["--partition=urgent", "--exclusive"]).expect("COMPLETED")
check(wait_for(lambda: down.states() == {"PENDING"}), f"{down.name}: is not queued again: {down.states()}")
check(not any(os.path.exists(job.name + ".h5") for job in (*preempted, down)), "a run that has lost its nodes leaves a result")
said_by("scontrol", "update", "nodename=n10", "state=resume")

expected = plain("plain.h5", *map(str, LONG))
expect_again([(job, "interrupted before the end of") for job in signalled], expected)
expect_again([(down, "DUE TO NODE FAILURE")], expected)
expect_again(list(zip(preempted, ("interrupted before the end of", "ORTE has lost communication"))), expected)
finish()
