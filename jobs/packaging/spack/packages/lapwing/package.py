# Package for Spack; in the checkout:
#
#     spack repo add jobs/packaging/spack
#     spack install lapwing@main                    # what is committed on the branch main
#     spack dev-build lapwing@main                  # the working tree as it is
#     spack install lapwing@main +cuda cuda_arch=90
import os

from spack.package import *

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:
    pass  # Spack 0.23 and earlier: spack.package has both classes


class Lapwing(CMakePackage, CudaPackage):
    """Filters archived survey data, which may be larger than memory, with MPI on CPUs and GPUs: banks of FIR filters by
    overlap-save, two-dimensional convolution, and sparse Fourier transforms."""

    git = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 5))

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("hdf5@1.10.5: +mpi +hl")
    depends_on("fftw@3: precision=float,double")
    depends_on("libinih")
    depends_on("libdeflate")
    depends_on("libmseed@2")
    depends_on("lz4")
    depends_on("zstd")
    depends_on("c-blosc")
    depends_on("xxhash")
    depends_on("wcslib")
    depends_on("cuda@12:", when="+cuda")
    depends_on("gnuplot", type="run")

    def cmake_args(self):
        args = [self.define_from_variant("LAPWING_CUDA", "cuda"), self.define("BUILD_TESTING", self.run_tests)]
        architectures = [] if self.spec.satisfies("~cuda") else self.spec.variants["cuda_arch"].value
        if architectures and "none" not in architectures:
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", list(architectures)))
        return args
