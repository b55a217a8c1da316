# Writes OUT with the version and the commit; touches it only when they change.
cmake_minimum_required(VERSION 3.22)
set(commit "unknown")
if(GIT)
    execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12
                    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE rc)
    if(rc EQUAL 0)
        set(commit ${found})
    endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "/* generated */
#define LW_VERSION \"@VERSION@\"
#define LW_COMMIT \"@commit@\"
" @ONLY)
