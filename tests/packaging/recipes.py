"""Compares the recipes that cannot run here, Apptainer's definition and Spack's package, with the sources that they build."""
import json
import os
import re
import subprocess
import sys
import types

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
failures = 0
checks = 0


def check(is_so, text):
    global failures, checks
    checks += 1
    if not is_so:
        failures += 1
        print("failed:", text)


def read(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as file:
        return file.read()


# ---- Apptainer ---------------------------------------------------------------------------------------------------------
SECTIONS = {"arguments", "files", "post", "runscript", "test", "labels", "help", "environment"}


def stages_of(text):
    """Headers and sections of each stage: [({"Bootstrap": ..}, {"post": ..})]."""
    stages = []
    section = None
    for line in text.splitlines():
        header = re.match(r"([A-Z][a-z]+): *(.*)", line)
        begin = re.match(r"%(\w+) *(.*)", line)
        if header:
            if header[1] == "Bootstrap":
                stages.append(({}, {}))
            stages[-1][0][header[1]] = header[2]
            section = None
        elif begin:
            section = begin[1]
            stages[-1][1][section] = begin[2] + "\n"
        elif section:
            stages[-1][1][section] += line + "\n"
        else:
            check(not line.strip() or line.startswith("#"), f"lapwing.def: '{line}' is in no section")
    return stages


def check_stage(header, sections):
    name = header.get("Stage")
    check({"Bootstrap", "From", "Stage"} == set(header), f"stage {name} has the header {header}")
    check(set(sections) <= SECTIONS, f"stage {name} has the sections {sorted(sections)}")
    arguments = dict(re.findall(r"^ *(\w+)=(.*)$", sections.get("arguments", ""), re.M))
    for used in re.findall(r"\{\{ *(\w+) *\}\}", str(header) + str(sections)):
        check(used in arguments, f"stage {name} uses {used}, which has no default")
    for script in SECTIONS & {"post", "runscript", "test"} & set(sections):
        text = re.sub(r"\{\{ *(\w+) *\}\}", lambda match: arguments.get(match[1], ""), sections[script])
        said = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
        check(said.returncode == 0, f"stage {name}, %{script}: {said.stderr}")
    return arguments


def check_apptainer():
    stages = stages_of(read("jobs/packaging/lapwing.def"))
    check([stage[0].get("Stage") for stage in stages] == ["build", "run"], "lapwing.def has other stages than build and run")
    arguments = [check_stage(*stage) for stage in stages]
    presets = [preset["name"] for preset in json.loads(read("CMakePresets.json"))["configurePresets"]]
    check(arguments[0].get("preset") in presets, f"lapwing.def: {arguments[0]} names none of the presets {presets}")
    copied = dict(line.split() for line in stages[0][1]["files"].splitlines() if line.strip())
    check(all(target == "/lapwing/" + source for source, target in copied.items()), f"lapwing.def copies {copied}")
    listed = subprocess.run(["git", "-C", TOP, "ls-files"], text=True, capture_output=True, check=False).stdout
    needed = {name.split("/")[0] for name in listed.splitlines() if name[0] != "."}
    check(not needed or needed | {".git"} == set(copied), f"lapwing.def copies {sorted(copied)}, there are {sorted(needed)}")


# ---- Spack: package.py is executed, with Spack's functions replaced by ones that record their calls ----------------------
class Recorder:
    """Spack's directives, and the two classes from which the package is derived."""

    def __init__(self):
        self.calls = []

    def directive(self, name):
        return lambda *args, **kwargs: self.calls.append((name, args, kwargs))

    def of(self, name):
        return [(args[0], kwargs) for called, args, kwargs in self.calls if called == name]


class Builder:
    run_tests = False

    @staticmethod
    def define(name, value):
        return f"-D{name}={';'.join(value) if isinstance(value, list) else value}"

    def define_from_variant(self, name, variant):
        return self.define(name, "OFF" if self.spec.satisfies("~" + variant) else "ON")


def spec(cuda, architectures):
    variants = {"cuda_arch": types.SimpleNamespace(value=architectures)}
    return types.SimpleNamespace(variants=variants, satisfies=lambda text: text == ("+cuda" if cuda else "~cuda"))


def load_package(recorder):
    path = "jobs/packaging/spack/packages/lapwing/package.py"
    package = types.ModuleType("spack.package")
    package.CMakePackage = Builder
    package.CudaPackage = type("CudaPackage", (), {})
    for name in ("license", "version", "depends_on"):
        setattr(package, name, recorder.directive(name))
    sys.modules["spack"] = types.ModuleType("spack")
    sys.modules["spack.package"] = package
    names = {"__file__": os.path.join(TOP, path), "__name__": "package"}
    exec(compile(read(path), path, "exec"), names)  # pylint: disable=exec-used
    return names["Lapwing"]


def check_spack():
    recorder = Recorder()
    package = load_package(recorder)
    cmake = read("CMakeLists.txt")
    check(package.git == "file://" + TOP, f"package.py takes the sources from {package.git}")
    check(recorder.of("license") == [("BSD-3-Clause", {})], "package.py names another licence")
    depends = {text.split("@")[0].split(" ")[0]: text for text, _ in recorder.of("depends_on")}
    least = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", cmake)[1]
    check(depends.get("cmake") == f"cmake@{least}:", f"package.py depends on {depends.get('cmake')}, CMakeLists.txt on {least}")
    for name in ("mpi", "hdf5", "fftw", "libinih", "libdeflate", "libmseed", "xxhash", "pkgconfig", "c", "cuda"):
        check(name in depends, f"package.py does not depend on {name}")
    check("+mpi" in depends["hdf5"] and "+hl" in depends["hdf5"], f"package.py takes {depends['hdf5']}")
    builder = package()
    for cuda, architectures, expected in (
            (False, ("none",), ["-DLAPWING_CUDA=OFF"]), (True, ("none",), ["-DLAPWING_CUDA=ON"]),
            (True, ("80", "90"), ["-DLAPWING_CUDA=ON", "-DCMAKE_CUDA_ARCHITECTURES=80;90"])):
        builder.spec = spec(cuda, architectures)
        found = [text for text in builder.cmake_args() if "BUILD_TESTING" not in text]
        check(found == expected, f"package.py builds with {found}, not {expected}")
    check("LAPWING_CUDA" in cmake and "CMAKE_CUDA_ARCHITECTURES" in cmake, "CMakeLists.txt lacks an option that package.py uses")
    check(re.search(r"^ *namespace: lapwing$", read("jobs/packaging/spack/repo.yaml"), re.M), "repo.yaml names no namespace")


check_apptainer()
check_spack()
print(f"recipes.py: {checks} checks, {failures} failed")
sys.exit(failures > 0)
