"""Tests that take minutes, by srun and by mpirun: runs that meet their time limit, nodes that crash, and preemption if Slurm
sends the user's signal. At the end the data are those of a run without interruption. The observed states are printed.

    cluster 12 2 PYTHON limits.py LAPWING MPIEXEC"""

import os
import re
import signal
import time

from jobs import ENDED, LAUNCHERS, Job, check, expect_data, finish, h5py, plain, random, said_by, wait_for

GOES_ON = "continuing the interrupted run"
LIMIT_S = 400
ENDLESS = ["--time-limit", "1h"]        # Slurm ends the run before lapwing ends itself


def words(filters):
    return ["ols", "--input", "in.h5:/x", "--filters", f"in.h5:/{filters}", "--products", "blocks", "--blocks", "10000",
            "--threads", "1", "--memory", "80M", "--checkpoint", "1"]


def start(name, script, filters, launcher, nodes, *options, more=()):
    return Job(f"{name}-{launcher}", script, *words(filters), *more, "--output", f"{name}-{launcher}.h5", launcher=launcher,
               nodes=nodes, options=options)


def await_checkpoint(job):
    check(wait_for(lambda: os.path.exists(job.name + ".h5.lapwing-journal"), LIMIT_S), f"{job.name}: no checkpoint: {job.said()}")


def expect_whole(job, expected, cause):
    """The job has queued itself again and has finished. @param cause pattern of the reason in the log"""
    wait_for(lambda: job.states() <= ENDED, LIMIT_S)
    restarts = int(job.shown("Restarts"))
    job.expect("COMPLETED", restarts=restarts)
    check(restarts >= 1 and job.said().count(GOES_ON) == restarts, f"{job.name}: {restarts} restarts: {job.said()}")
    check(re.search(cause, job.said()), f"{job.name}: nothing of '{cause}': {job.said()}")
    expect_data(job, job.name + ".h5", expected)
    print(f"{job.name}: done after {restarts} restarts; {len(re.findall(cause, job.said()))} times '{cause}'", flush=True)


def resubmit(job, state, code, again, expected):
    """The job ends in this state, without a result; submitted again as often as needed, it continues and finishes."""
    if not job.expect(state, code, seconds=LIMIT_S):
        return
    check(not os.path.exists(job.name + ".h5"), f"{job.name}: there is a result")
    while job.states() == {state}:
        print(f"{job.name}: {state}, code {job.shown('ExitCode')}, after {job.shown('RunTime')}", flush=True)
        job = again()
        wait_for(lambda: job.states() <= ENDED, LIMIT_S)
        check(GOES_ON in job.said(), f"{job.name}: does not go on: {job.said()}")
    job.expect("COMPLETED")
    print(f"{job.name}: done after {job.shown('RunTime')} more", flush=True)
    expect_data(job, job.name + ".h5", expected)


def time_limits():
    """The time ends by lapwing itself, by the signal that the script requests, and by Slurm, which kills the job."""
    expected = plain("many.h5", *words("many"))

    def own(launcher):
        return start("own", "lapwing.sh", "many", launcher, 1, "--time=2")

    def killed(launcher):
        return start("killed", "lapwing.sh", "many", launcher, 1, "--time=1", more=ENDLESS)

    stopping, ended = [own(launcher) for launcher in LAUNCHERS], [killed(launcher) for launcher in LAUNCHERS]
    signalled = [start("signalled", "lapwing-requeue.sh", "many", launcher, 1, "--time=2", "--signal=B:USR1@60", more=ENDLESS)
                 for launcher in LAUNCHERS]
    for job, launcher in zip(ended, LAUNCHERS):
        resubmit(job, "TIMEOUT", None, lambda: start("killed", "lapwing.sh", "many", launcher, 1, more=ENDLESS), expected)
    for job, launcher in zip(stopping, LAUNCHERS):
        resubmit(job, "FAILED", 75, lambda: own(launcher), expected)
    for job in signalled:
        expect_whole(job, expected, ": SIGUSR1 has come")


def crash(host):
    with open(os.path.join(os.environ["LW_CLUSTER"], host + ".pid")) as file:
        os.kill(int(file.read()), signal.SIGKILL)


def crashes(expected):
    """The node that runs the script crashes, or the other one."""
    places = [("first", "n1,n2", "n1", "srun"), ("first", "n3,n4", "n3", "mpirun"), ("other", "n5,n6", "n6", "srun"),
              ("other", "n7,n8", "n8", "mpirun")]
    jobs = [start(name, "lapwing-requeue.sh", "few", launcher, nodes) for name, nodes, _, launcher in places]
    for job, (_, _, host, _) in zip(jobs, places):
        await_checkpoint(job)
        crash(host)
    begin, after = time.monotonic(), {}

    def are_queued():
        for job in jobs:
            if job not in after and job.states() == {"PENDING"}:
                after[job] = time.monotonic() - begin
        return len(after) == len(jobs)

    check(wait_for(are_queued), f"not queued again: {[job.name for job in jobs if job not in after]}")
    for job in jobs:
        print(f"{job.name}: queued again {after.get(job, -1):.0f} s after the last crash", flush=True)
        check(not os.path.exists(job.name + ".h5"), f"{job.name}: there is a result")
        said_by("scontrol", "update", f"jobid={job.id}", "reqnodelist=")     # any nodes will do from now on
    for job in jobs:
        expect_whole(job, expected, GOES_ON)


def preempt(expected):
    """A setting of Slurm by which mpirun gets a signal, too."""
    with open(os.environ["SLURM_CONF"]) as file:
        text = file.read()
    with open(os.environ["SLURM_CONF"], "w") as file:
        file.write("SlurmctldParameters=preempt_send_user_signal\n" + text)
    said_by("scontrol", "reconfigure")
    time.sleep(2)
    jobs = [start("taken", "lapwing-preempt.sh", "few", launcher, nodes)
            for launcher, nodes in zip(LAUNCHERS, ("n9,n10", "n11,n12"))]
    for job in jobs:
        await_checkpoint(job)
    with open("urgent.sh", "w") as file:
        file.write("#!/bin/sh\n")
    urgent = Job("urgent", os.path.abspath("urgent.sh"), nodes="n9,n10,n11,n12", options=["--partition=urgent", "--exclusive"])
    urgent.expect("COMPLETED")
    for job in jobs:
        expect_whole(job, expected, ": SIGUSR1 has come")


with h5py.File("in.h5", "w") as made:
    made["x"] = random.integers(-100, 100, 160_000_000, dtype="i1")
    made["many"], made["few"] = random.standard_normal((120, 1025)).astype("f4"), random.standard_normal((6, 1025)).astype("f4")
few = plain("few.h5", *words("few"))
preempt(few)
crashes(few)
time_limits()
finish()
