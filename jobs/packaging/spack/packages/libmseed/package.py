from spack.package import *

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass  # Spack 0.23 and earlier: spack.package has the class


class Libmseed(MakefilePackage):
    """Reads and writes miniSEED records."""

    git = "https://github.com/EarthScope/libmseed.git"

    license("LGPL-3.0-only")

    version("2.19.8", tag="v2.19.8", commit="4314359aaf99857522c91f21cd13c00f961e4a70")

    depends_on("c", type="build")

    def install(self, spec, prefix):
        make("install", "PREFIX=" + prefix)
