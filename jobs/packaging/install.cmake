# Files for `cmake --install`, and for packages by `cpack` (in the build folder: cpack -G DEB). There are three components:
# `lapwing` is always installed; `plain` is for any prefix; `debian` replaces `plain` in a package, in the form that Debian's policy
# asks for.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# ---- what the program prints about itself -----------------------------------------------------------------------------
function(lapwing_prints file target)
    add_custom_command(OUTPUT ${file} COMMAND lapwing help ${ARGN} > ${file} DEPENDS lapwing COMMENT "Writing ${file}" VERBATIM)
    add_custom_target(${target} ALL DEPENDS ${file})
endfunction()

# Manual pages: the program prints those of commands; those of file formats are made from the documents.
lapwing_prints(lapwing.1 man --man)
set(pages lapwing.1)
foreach(word ols conv2d sfft accel filters plan synth run info plot verify)
    lapwing_prints(lapwing-${word}.1 man_${word} --man ${word})
    list(APPEND pages lapwing-${word}.1)
endforeach()
find_program(LAPWING_AWK awk)
function(lapwing_manual page title document first last)
    set(page_file ${page}.5)
    add_custom_command(OUTPUT ${page_file} DEPENDS ${CMAKE_SOURCE_DIR}/${document} ${CMAKE_SOURCE_DIR}/jobs/packaging/manual.awk
        COMMAND ${LAPWING_AWK} -v name=${page} -v section=5 -v title=${title} -v first=${first} -v last=${last}
            -f ${CMAKE_SOURCE_DIR}/jobs/packaging/manual.awk ${CMAKE_SOURCE_DIR}/${document} > ${page_file}
        COMMENT "Writing ${page_file}" VERBATIM)
    add_custom_target(${page} ALL DEPENDS ${page_file})
    set(pages ${pages} ${page_file} PARENT_SCOPE)
endfunction()
if(LAPWING_AWK)
    lapwing_manual(lapwing-formats "files that lapwing reads" io/README.md "Naming a dataset" Results)
    lapwing_manual(lapwing-results "what a result holds, and how to open it" io/README.md Results "How bytes move")
    lapwing_manual(lapwing-jobfile "options of a job in a file" jobs/README.md "Job files" Filters)
endif()

lapwing_prints(lapwing.bash completion_bash --completion bash)
lapwing_prints(lapwing.zsh completion_zsh --completion zsh)

# ---- everywhere -------------------------------------------------------------------------------------------------------
install(TARGETS lapwing RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT lapwing)
install(FILES ${CMAKE_BINARY_DIR}/lapwing.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME lapwing
    COMPONENT lapwing)
foreach(folder . io jobs jobs/packaging slurm src gpu tests tests/bench)
    install(FILES ${folder}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} COMPONENT lapwing)
endforeach()
install(DIRECTORY jobs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lapwing/jobs COMPONENT lapwing
    FILES_MATCHING PATTERN "*.ini" PATTERN "*.m" PATTERN "gw-*.py" PATTERN filters EXCLUDE PATTERN packaging EXCLUDE PATTERN synth EXCLUDE)
install(DIRECTORY slurm DESTINATION ${CMAKE_INSTALL_DATADIR}/lapwing COMPONENT lapwing
    USE_SOURCE_PERMISSIONS FILES_MATCHING PATTERN "*.sh")

# ---- under any prefix -------------------------------------------------------------------------------------------------
foreach(page IN LISTS pages)
    string(REGEX MATCH "[0-9]$" section ${page})
    install(FILES ${CMAKE_BINARY_DIR}/${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT plain)
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/lapwing.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _lapwing
    COMPONENT plain)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT plain)
install(FILES jobs/packaging/lapwing.lua DESTINATION ${CMAKE_INSTALL_DATADIR}/lapwing/modulefiles/lapwing
    RENAME ${PROJECT_VERSION}.lua COMPONENT plain)

# ---- in a Debian package ------------------------------------------------------------------------------------------------
# The maintainer is taken from DEBFULLNAME and DEBEMAIL, as Debian's own tools do.
set(maintainer "the lapwing authors <lapwing@localhost.localdomain>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
    set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${maintainer}" CACHE STRING "Maintainer of the Debian package: NAME <ADDRESS>")

find_program(LAPWING_GZIP gzip)
if(LAPWING_GZIP)
    string(TIMESTAMP LAPWING_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
    configure_file(jobs/packaging/changelog.in changelog @ONLY)
    set(packed ${pages} changelog)
    list(TRANSFORM packed APPEND .gz)
    add_custom_command(OUTPUT ${packed} DEPENDS ${pages} ${CMAKE_BINARY_DIR}/changelog
        COMMAND ${LAPWING_GZIP} -9nkf ${pages} changelog COMMENT "Compressing the manual pages" VERBATIM)
    add_custom_target(debian ALL DEPENDS ${packed})
    foreach(page IN LISTS pages)
        string(REGEX MATCH "[0-9]$" section ${page})
        install(FILES ${CMAKE_BINARY_DIR}/${page}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT debian EXCLUDE_FROM_ALL)
    endforeach()
    install(FILES ${CMAKE_BINARY_DIR}/lapwing.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _lapwing
        COMPONENT debian EXCLUDE_FROM_ALL)
    install(FILES jobs/packaging/copyright ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT debian EXCLUDE_FROM_ALL)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lapwing)
set(CPACK_PACKAGE_VENDOR "the lapwing authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "filters archived survey data with MPI on CPUs and GPUs")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
set(CPACK_COMPONENTS_ALL lapwing debian)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-h5py, slurm-client")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Convolves time series with banks of filters and images with kernels, and
finds the strongest tones of very long signals, in archived data (HDF5, FITS,
SIGPROC, SEG-Y, miniSEED and others) that may be larger than memory. Started by
mpirun or Slurm, its ranks share the work and write one HDF5 file, whose data
does not depend on how many there are.")
if(LAPWING_HAVE_CUDA AND CUDAToolkit_LIBRARY_DIR MATCHES "^/usr/local/")
    # dpkg-shlibdeps finds no dependencies on NVIDIA's packages, as these do not declare their libraries.
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libcufft-${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR}")
endif()
include(CPack)
