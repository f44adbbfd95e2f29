# How Duet's folders become targets: duet_part (a folder of libduet), duet_module (loaded at run
# time), duet_test (a folder's tests), duet_embed (data as a source file).

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 17)  # nvcc 13.0 does not survive C++20's <barrier>
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
include(GNUInstallDirs)
# One search path for the build and for what is installed. For two, CMake pads the one that is built
# with empty entries, and each of those is the current folder to the loader.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/..")  # programs beside libduet, tests and modules below it

# What has no loops over data; make builds it with -O1, in a quarter less time.
set(DUET_PLAIN_PARTS "^(calibration|fleet|importing|health|history|overlap|report|results|run|verdict|[a-z]+_workload)$")
set(DUET_PLAIN_OPTIMISATION "" CACHE STRING
    "How the command line and parts without loops over data are optimised; empty: as all else")

# A compiler cache, where one is installed and none was chosen. CCACHE_DISABLE=1 switches it off.
find_program(DUET_CCACHE ccache)
mark_as_advanced(DUET_CCACHE)
foreach(language CXX CUDA)
  if(DUET_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${DUET_CCACHE})
  endif()
endforeach()

# Tests of code that only computes with records: not built with sanitizers. The readers of records are
# in the fuzz tests, which are.
set(DUET_RECORD_TESTS "^(calibration|fleet|health|history|report|run|verdict)$")

# What takes time in a test is the library's code; with -O1 tests would take twice as long to build.
set(DUET_TEST_OPTIMISATION -O0)
set(DUET_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)
# GCC 13 warns of every reference that a function returns which is given a temporary; GCC 14 does so no more.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^13\\.")
  list(APPEND DUET_WARNINGS -Wno-dangling-reference)
endif()
if(DUET_SANITIZE)
  add_compile_options(-fsanitize=${DUET_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # The first three the address sanitizer sees itself; all of them are half of the building.
  if(DUET_SANITIZE MATCHES "address")
    add_compile_options(-fno-sanitize=null,object-size,pointer-overflow,vptr,alignment)
  endif()
  add_link_options(-fsanitize=${DUET_SANITIZE})
endif()

# GCC collects garbage each time its heap has doubled, which takes a tenth of the time of units of many
# files; from here on not below 1 GB (the parameter is in KiB).
if(CMAKE_UNITY_BUILD)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>)
endif()

# duet_file_by_file(TARGET [HEADER]): where files have names of their own in common. CI builds the
# others several files at a time, in half the time; here the header that they share is read once.
function(duet_file_by_file target)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
    if(ARGN)
      target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
  endif()
endfunction()

# duet_exports(TARGET MAP): a library exports what a version script, cmake/MAP, names.
function(duet_exports target map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/${map})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/${map})
endfunction()
# GCC makes static variables in templates and inline functions one over a whole process, even among
# libraries that know nothing of each other.
set(DUET_NOT_UNIQUE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)

# duet_part(NAME source...): one folder of libduet.
function(duet_part name)
  add_library(duet_${name} OBJECT ${ARGN})
  target_include_directories(duet_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(duet_${name} PRIVATE ${DUET_WARNINGS} ${DUET_NOT_UNIQUE} -fvisibility-inlines-hidden)
  target_link_libraries(duet_${name} PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
  target_link_libraries(libduet PRIVATE duet_${name})
  if(name MATCHES "${DUET_PLAIN_PARTS}")
    target_compile_options(duet_${name} PRIVATE ${DUET_PLAIN_OPTIMISATION})
  endif()
  if(DUET_SANITIZE AND name MATCHES "^(calibration|fabric|fleet|importing|health|history|overlap|report|results|run|verdict|[a-z]+_workload)$")
    target_compile_options(duet_${name} PRIVATE -O0)  # built in half the time, and no loops over data
  endif()
endfunction()

# What measuring takes: duet and its modules, without tests and benches. program_on_cpu is what CPUs
# and simulated machines need of it, in half the time.
add_custom_target(program_on_cpu)
add_custom_target(program)
add_dependencies(program program_on_cpu)

# duet_module(NAME source...): modules/duet_NAME.so, found by load_module("NAME").
function(duet_module name)
  add_library(duet_${name}_module MODULE ${ARGN})
  set_target_properties(duet_${name}_module PROPERTIES
    PREFIX "" OUTPUT_NAME duet_${name} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/modules)
  target_link_libraries(duet_${name}_module PRIVATE libduet)
  if(name MATCHES "^(cuda|cudnn|hip|nccl|nvshmem|rccl)$")
    add_dependencies(program duet_${name}_module)
  else()
    add_dependencies(program_on_cpu duet_${name}_module)
  endif()
  set_property(GLOBAL APPEND PROPERTY DUET_MODULES duet_${name}_module)
  target_compile_options(duet_${name}_module PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:${DUET_WARNINGS}> ${DUET_NOT_UNIQUE})
  duet_exports(duet_${name}_module module.map)
endfunction()

# duet_test(NAME [PARTS n] source... [NOT_SANITIZED pattern...]): a GoogleTest program of one folder;
# as n tests, where it is long, that can run at once. Sanitizer builds leave out the tests of these
# patterns. They repeat other tests (a thousand times, with more ranks, by another provider), limit the
# address space, are about figures, or show races, which the thread sanitizer finds.
function(duet_test name)
  if(NOT DUET_TESTS OR (DUET_SANITIZE AND name MATCHES "${DUET_RECORD_TESTS}"))
    return()
  endif()
  cmake_parse_arguments(test "" "PARTS" "NOT_SANITIZED" ${ARGN})
  add_executable(${name}_test ${test_UNPARSED_ARGUMENTS})
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name}_test PRIVATE libduet GTest::gtest_main)
  target_compile_options(${name}_test PRIVATE ${DUET_WARNINGS} ${DUET_TEST_OPTIMISATION})
  set(filter)
  if(DUET_SANITIZE AND test_NOT_SANITIZED)
    list(JOIN test_NOT_SANITIZED ":" filter)
    set(filter "GTEST_FILTER=-${filter}")
  endif()
  if(NOT test_PARTS)
    duet_add_gtest(${name} ${name} ${filter})
    return()
  endif()
  foreach(part RANGE 1 ${test_PARTS})
    math(EXPR index "${part} - 1")
    duet_add_gtest(${name}_${part} ${name} GTEST_TOTAL_SHARDS=${test_PARTS} GTEST_SHARD_INDEX=${index}
                   ${filter})
    set_tests_properties(${name}_${part} PROPERTIES COST 100)  # begin early
  endforeach()
endfunction()

# duet_add_gtest(TEST NAME variable...): NAME's program as a test, in an environment.
function(duet_add_gtest test name)
  add_test(NAME ${test} COMMAND ${name}_test)
  # Never there: tests go by what is built in, whatever the user has tuned.
  set_tests_properties(${test} PROPERTIES
    ENVIRONMENT "DUET_TUNING=${PROJECT_BINARY_DIR}/tests/untuned.json;${ARGN}")
endfunction()

# duet_device_test(TEST DEVICE PROGRAM argument...): skipped with the reason where the device cannot
# be opened; a failure on it is one.
function(duet_device_test test device program)
  add_test(NAME ${test} COMMAND ${PROJECT_SOURCE_DIR}/tests/on_device.sh $<TARGET_FILE:duet> ${device}
                                $<TARGET_FILE:${program}> ${ARGN})
  set_tests_properties(${test} PROPERTIES LABELS gpu RUN_SERIAL ON SKIP_RETURN_CODE 77)
endfunction()

# duet_embed(OUTPUT FILES HEADER NAMESPACE FUNCTION): sets OUTPUT to a source file that defines
# FUNCTION, a map from a file's name to its text; FILES is a glob expression, and what it finds
# later is a change as well. Files that are built follow as further arguments.
function(duet_embed output files header namespace function)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${function}.cc)
  file(GLOB found CONFIGURE_DEPENDS ${files})
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DFILES=${files} -DOUTPUT=${source} -DHEADER=${header}
            -DNAMESPACE=${namespace} -DFUNCTION=${function}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${found} ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  set(${output} ${source} PARENT_SCOPE)
endfunction()

# duet_gpu_image(OUTPUT SOURCE): compiles kernels to a file that the driver loads (a fatbin), and sets
# OUTPUT to its path. Where the CUDA toolkit is found.
function(duet_gpu_image output source)
  get_filename_component(name ${source} NAME_WE)
  set(image ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
  duet_nvcc_architectures(architectures "${CMAKE_CUDA_ARCHITECTURES}")
  set(host)
  if(CMAKE_CUDA_HOST_COMPILER)
    set(host -ccbin ${CMAKE_CUDA_HOST_COMPILER})
  endif()
  add_custom_command(
    OUTPUT ${image}
    COMMAND ${CMAKE_CUDA_COMPILER} --fatbin -std=c++17 --Werror all-warnings -Xfatbin=-compress-all ${host} ${architectures}
            -I ${PROJECT_SOURCE_DIR}/src -MD -MF ${image}.d -MT ${image}
            -o ${image} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPENDS ${source} DEPFILE ${image}.d
    COMMENT "Building the GPU image of ${source}" VERBATIM)
  set(${output} ${image} PARENT_SCOPE)
endfunction()
