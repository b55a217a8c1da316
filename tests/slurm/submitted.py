"""Batch scripts, by srun and by mpirun, on one node and on two: the same bits as without Slurm, unchanged exit codes, arrays over
files and over channels.

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


make_input()
same_lines()
submit()
end_with_codes()
share_files()
share_channels()
refuse_arrays()
finish()
