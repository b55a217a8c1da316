"""Batch scripts, by srun and by mpirun, on one node and on two: the same bits as without Slurm, unchanged exit codes, arrays over
files and over channels, a rank for each GPU, and a launcher that MPI does not work with.

    cluster 12 2 PYTHON submitted.py LAPWING MPIEXEC"""

import glob
import os
import re

from jobs import LAUNCHERS, Job, check, data_of, expect_data, finish, h5py, np, plain, random, SCRIPTS



def make_input():
    with h5py.File("in.h5", "w") as file:
        file["x"], file["taps"] = random.standard_normal((6, 100_000)).astype("f4"), random.standard_normal((2, 65)).astype("f4")
    for i in range(3):
        with h5py.File(f"file-{i}.h5", "w") as file:
            file["x"] = random.standard_normal(30_000 + i).astype("f4")
    with open("damaged.h5", "wb") as damaged, open("in.h5", "rb") as whole:
        damaged.write(whole.read(100_000))
    with open("job.ini", "w") as file:
        file.write("[ols]\ninput = in.h5:/x\nfilters = in.h5:/taps\naxis = 1\n")


def same_lines():
    """The lines that start the ranks are the same in all scripts."""
    found = set()
    for name in sorted(name for name in os.listdir(SCRIPTS) if name.endswith(".sh")):
        with open(os.path.join(SCRIPTS, name)) as file:
            found.update(re.findall(r"(?s)^# ---- launch.*# ---- end of launch$|\Z", file.read(), re.M)[:1])
    check(len(found) == 1 and "exec srun" in found.pop(), "the lines of the scripts from 'launch' to 'end of launch' differ")


def submit():
    expected = plain("plain.h5", "run", "job.ini")
    jobs = [(nodes, Job(f"{launcher}-{nodes}", "lapwing.sh", "job.ini", "--output", f"{launcher}-{nodes}.h5", launcher=launcher,
                        nodes=nodes)) for launcher in LAUNCHERS for nodes in (1, 2)]
    for nodes, job in jobs:
        job.expect("COMPLETED")
        expect_data(job, job.name + ".h5", expected)
        check(f" on {2 * nodes} ranks" in job.said(), f"{job.name}: not two ranks a node: {job.said()}")


def end_with_codes():
    """Each job has an output of its own: they run side by side, and an output that another run is writing is refused."""
    wrong = {2: ["--no-such-option"], 65: ["--input", "damaged.h5:/x"], 74: [], 75: ["--time-limit", "1ms"], 78: ["--memory", "1M"]}
    jobs = [(code, Job(f"{launcher}-ends-{code}", "lapwing.sh", "job.ini", "--output",
                       f"{'nowhere/' if code == 74 else ''}never-{launcher}-{code}.h5", *words, launcher=launcher, nodes=2,
                       options=["--ntasks-per-node=1"]))
            for code, words in wrong.items() for launcher in LAUNCHERS]
    jobs += [(2, Job(script + "-ends", f"lapwing-{script}.sh", "job.ini", "--output", f"never-{script}.h5", *wrong[2]))
             for script in ("requeue", "preempt")]
    jobs += [(75, Job(script + "-ends-75", f"lapwing-{script}.sh", "job.ini", "--output", f"never-{script}-75.h5", *wrong[75],
                      SLURM_RESTART_COUNT="1000")) for script in ("requeue", "preempt")]       # the scripts' limit
    for code, job in jobs:
        job.expect("FAILED", code)
    left = glob.glob("never-*.h5")
    check(not left, f"runs that have failed leave results: {left}")


def share_files():
    arguments = ["ols", "--input", "file-*.h5:/x", "--filters", "in.h5:/taps"]
    job = Job("files", "lapwing-array.sh", "files", *arguments, "--output", "each/", launcher="mpirun",
              options=["--array=0-1"])
    job.expect("COMPLETED")
    made = sorted(os.listdir("each")) if os.path.isdir("each") else []
    check(len(made) == 3, f"files: there are {made}: {job.said()}")
    for i, name in enumerate(made):
        expect_data(job, os.path.join("each", name), plain(f"alone-{i}.h5", *arguments[:2], f"file-{i}.h5:/x", *arguments[3:]))


def share_channels():
    """Two of three shares run first, then the missing one by itself."""
    with open("share.ini", "w") as file:
        file.write("[ols]\ninput = in.h5:/x\nfilters = in.h5:/taps\naxis = 1\noutput = share-${SLURM_ARRAY_TASK_ID}.h5\n")
    jobs = [Job("channels", "lapwing-array.sh", "channels=6", "share.ini", options=["--array=0-1"]),
            Job("again", "lapwing-array.sh", "channels=6/3", "share.ini", options=["--array=2"])]
    for job in jobs:
        job.expect("COMPLETED")
    expected = data_of("plain.h5")["filtered"][2]
    found = np.frombuffer(expected, "f4").reshape(2, 6, -1)
    for i, (first, end) in enumerate(((0, 2), (2, 6), (4, 6))):
        share = data_of(f"share-{i}.h5")
        check(share and share["filtered"][2] == found[:, first:end].tobytes(), f"channels {first}:{end} differ: {jobs[0].said()}")


def refuse_arrays():
    """Task numbers that do not begin with 0 would leave shares out."""
    job = Job("gap", "lapwing-array.sh", "files", "job.ini", options=["--array=1-2"])
    job.expect("FAILED", 2)
    check("use --array=0-1, or give files/SHARES" in job.said(), f"gap: {job.said()}")


def ranks_by_gpus():
    """As many ranks on a node as GPUs that Slurm grants, or as LAPWING_GPUS names. The GPUs are files: the runs use the CPU.
    The script with --gres runs as under an old Slurm, which tells the GPUs but not their number."""
    with open(os.path.join(SCRIPTS, "lapwing-gpu.sh")) as file:
        text = file.read()
    with open("gres.sh", "w") as file:
        old = 'SLURM_JOB_GPUS=$(seq -s, "$SLURM_GPUS_ON_NODE")\nunset SLURM_GPUS_ON_NODE\n'
        text = text.replace("#SBATCH --gpus-per-node=4\n#", "").replace("set -eu\n", "set -eu\n" + old)
        file.write(text.replace("#SBATCH --exclusive", "#"))       # it would take all GPUs
    gres, one = os.path.abspath("gres.sh"), ["--gpus-per-node=2", "--ntasks-per-node=1"]
    check("\n#SBATCH --gres=gpu:4\n" in open(gres).read(), "lapwing-gpu.sh has no line for --gres")
    cases = [(f"gpus-{launcher}", "lapwing-gpu.sh", launcher, "n11,n12", ["--gpus-per-node=2"], 4, {}) for launcher in LAUNCHERS]
    cases += [(f"gres-{n}-{launcher}", gres, launcher, "n11,n12", [f"--gres=gpu:{n}", f"--ntasks-per-node={n}"], 2 * n, {})
              for n, launcher in enumerate(LAUNCHERS, 1)]
    cases += [("gpus-fewer", "lapwing-gpu.sh", "srun", 1, one, 1, {"LAPWING_GPUS": "1"})]
    cases += [(f"gpus-{name}-{launcher}", f"lapwing-{name}.sh", launcher, 1, one, 2, {"LAPWING_GPUS": "2"})
              for name in ("array", "requeue", "preempt") for launcher in LAUNCHERS]
    jobs = []
    for name, script, launcher, nodes, options, n_ranks, variables in cases:
        is_array = "-array-" in name
        words = ["channels=6/1"] * is_array + ["job.ini", "--engine", "cpu", "--output", name + ".h5"]
        jobs.append((n_ranks, Job(name, script, *words, launcher=launcher, nodes=nodes,
                                  options=options + ["--array=0"] * is_array, **variables)))
    expected = data_of("plain.h5")
    for n_ranks, job in jobs:
        job.expect("COMPLETED")
        expect_data(job, job.name + ".h5", expected)
        check(re.search(rf" on {n_ranks} ranks?\b", job.said()), f"{job.name}: not on {n_ranks} ranks: {job.said()}")
        check("has granted" not in job.said(), f"{job.name}: warns of GPUs that Slurm has granted: {job.said()}")
    none = Job("gpus-none", "lapwing-gpu.sh", "job.ini", options=["--gpus-per-node=0"])
    none.expect("FAILED", 2)
    check("Slurm has granted no GPU to this job" in none.said(), none.said())


def warn_of_idle_gpus():
    if not os.path.isdir("/proc/driver"):
        print("not tried: this kernel has no /proc/driver, where drivers list their GPUs")
        return
    text = "this node has 2 GPUs, and Slurm has granted this job none"
    cases = [("idle-gpus", "n12", "auto", 1), ("idle-asked", "n12", "cpu", 0), ("without-gpus", "n10", "auto", 0)]
    jobs = [(n, Job(name, "lapwing.sh", "job.ini", "--engine", engine, "--output", name + ".h5", nodes=nodes))
            for name, nodes, engine, n in cases]
    for n, job in jobs:
        job.expect("COMPLETED")
        n = 0 if "modelled times" in job.said() else n          # the CPU is faster than the start of a GPU
        check(job.said().count(text) == n, f"{job.name}: not {n} times '{text}': {job.said()}")


def refuse_strangers():
    """srun --mpi=none starts two processes that MPI does not join: neither may write the result alone. A single one may."""
    with open("strangers.sh", "w") as file:
        file.write("#!/bin/sh\nexec srun --mpi=none lapwing run job.ini --output never-strangers.h5\n")
    job = Job("strangers", os.path.abspath("strangers.sh"), options=["--ntasks=2"])
    job.expect("FAILED", 71)
    check(not glob.glob("never-strangers.h5*"), f"strangers: there is a result: {job.said()}")
    check("lapwing: MPI joins only 1 of the 2 processes" in job.said(), f"strangers: {job.said()}")
    with open("lone.sh", "w") as file:
        file.write("#!/bin/sh\nexec srun --mpi=none --ntasks=1 lapwing run job.ini --output lone.h5\n")
    lone = Job("lone", os.path.abspath("lone.sh"))
    lone.expect("COMPLETED")
    expect_data(lone, "lone.h5", data_of("plain.h5"))


make_input()
same_lines()
submit()
end_with_codes()
share_files()
share_channels()
refuse_arrays()
ranks_by_gpus()
warn_of_idle_gpus()
refuse_strangers()
finish()
