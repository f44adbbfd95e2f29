# What `cpack` makes of a build folder:
#   cpack -G DEB   duet (program and library), duet-modules (what links vendors' and other
#                  libraries), libduet-dev (headers, CMake's and pkg-config's files), python3-duet
#   cpack -G TGZ   all of it in one archive that runs from any folder
set(DUET_PACKAGE_MAINTAINER "Duet <duet@localhost>" CACHE STRING
    "Who answers for the .deb: NAME <ADDRESS>")

# Of a commit without the version's tag: when it was made, and which it is. Before the tag it sorts
# below the version, 0.2.0~git20261130120000.0123abcd, and behind it above, 0.2.0+git...
set(DUET_PACKAGE_VERSION ${PROJECT_VERSION})
function(git_says variable)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env TZ=UTC ${GIT_EXECUTABLE} ${ARGN}
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE said
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${variable} "${said}" PARENT_SCOPE)
endfunction()
find_package(Git QUIET)
if(GIT_FOUND)
  git_says(described log -1 --date=format-local:%Y%m%d%H%M%S --format=git%cd.%h --abbrev=8)
  git_says(tags_here tag --points-at HEAD v${PROJECT_VERSION})
  git_says(tags_before tag --merged HEAD v${PROJECT_VERSION})
  if(described AND NOT tags_here)
    set(sign "~")
    if(tags_before)
      set(sign "+")
    endif()
    string(APPEND DUET_PACKAGE_VERSION "${sign}${described}")
  endif()
endif()

# cpack packs what is built, and builds nothing.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

set(CPACK_PACKAGE_NAME duet)
set(CPACK_PACKAGE_VENDOR Duet)
set(CPACK_PACKAGE_CONTACT "${DUET_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "benchmark of compute and communication on GPU machines")
set(CPACK_COMPONENTS_ALL duet modules dev python)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian.cmake)

set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_PACKAGE_VERSION ${DUET_PACKAGE_VERSION})
set(full_version "${DUET_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")

set(CPACK_DEBIAN_DUET_PACKAGE_NAME duet)
set(CPACK_COMPONENT_DUET_DESCRIPTION
"Measures GEMMs, copies, collectives, halo exchange, training steps and network
messages, alone and at once, on CPUs, GPUs and simulated machines.")
set(CPACK_DEBIAN_DUET_PACKAGE_RECOMMENDS "duet-modules (= ${full_version})")
set(CPACK_DEBIAN_DUET_PACKAGE_SUGGESTS "libsqlite3-0")
# Which library other packages find here. CPack would also name the drop-in's libnccl.so.2, and
# then take duet for the package of NCCL.
file(WRITE ${PROJECT_BINARY_DIR}/deb/shlibs "libduet ${DUET_SOVERSION} duet (= ${full_version})\n")
file(WRITE ${PROJECT_BINARY_DIR}/deb/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_DUET_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/deb/shlibs
                                            ${PROJECT_BINARY_DIR}/deb/triggers)

# A module that cannot be loaded is a reason in `duet info`: only libduet is needed.
set(CPACK_DEBIAN_MODULES_PACKAGE_NAME duet-modules)
set(CPACK_COMPONENT_MODULES_DESCRIPTION
"Modules of duet that use libraries of others, such as oneDNN, OpenBLAS, MPI,
libfabric and those of the CUDA toolkit. Each is loaded where it is needed.")
set(CPACK_DEBIAN_MODULES_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_MODULES_PACKAGE_DEPENDS "duet (= ${full_version}), libc6")
set(CPACK_DEBIAN_MODULES_PACKAGE_RECOMMENDS
    "libdnnl2 | libdnnl3, libopenblas0-openmp, libopenmpi3, libfabric1")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libduet-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DESCRIPTION
"Headers of duet's library, whose collectives and overlap of compute and
communication programs can use, with the files of CMake and pkg-config.")
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "duet (= ${full_version})")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-duet)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION
"Python package of duet: reads journals, runs the program, and makes collectives
on memory of NumPy, PyTorch and CuPy.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "duet (= ${full_version}), python3")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-pandas, python3-torch")
include(CPack)
