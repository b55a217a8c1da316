-- Module file for Lmod: module use PREFIX/share/lapwing/modulefiles && module load lapwing
-- The file is PREFIX/share/lapwing/modulefiles/lapwing/VERSION.lua; PREFIX follows from this place. If lapwing was built with
-- modules for MPI and HDF5, add them here: depends_on("openmpi", "hdf5").
local prefix = myFileName()
for _ = 1, 5 do
    prefix = prefix:gsub("/[^/]*$", "")
end

help([[lapwing filters archived survey data under mpirun or Slurm.
lapwing help lists the commands; man lapwing explains them.
Example job files and Slurm scripts: $LAPWING_SHARE/jobs, $LAPWING_SHARE/slurm]])
whatis("Name: lapwing")
whatis("Version: " .. myModuleVersion())
whatis("Category: signal processing, survey data")
whatis("Description: filters archived survey data with MPI on CPUs and GPUs")

conflict("lapwing")
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
append_path("MANPATH", "", ":")
setenv("LAPWING_SHARE", pathJoin(prefix, "share/lapwing"))
