# Holds cmake/cuda_architectures.cmake to what it promises: cmake -DSOURCE=... -DFOLDER=... -P.
cmake_minimum_required(VERSION 3.25)
include(${SOURCE}/cmake/cuda_architectures.cmake)

function(expect what wanted got)
  if(NOT got STREQUAL wanted)
    message(SEND_ERROR "${what}: expected '${wanted}', is '${got}'")
  endif()
endfunction()

set(known "sm_75;sm_80;sm_86;sm_89;sm_90;sm_100;sm_110;sm_103;sm_120;sm_121")
foreach(pair
        "H200=9.0=90a-real" "A100=8.0=80-real" "L40S=8.9=89-real" "B200=10.0=100-real"
        "two of a kind=8.0,8.0=80-real" "two kinds=9.0,8.6=86-real,90a-real"
        "newer than the compiler=13.0=121-virtual"
        "older than the compiler=7.0=90a-real,90-virtual"
        "older beside a known one=7.0,8.0=80-real"
        "no GPU==90a-real,90-virtual")
  string(REPLACE "=" ";" parts "${pair}")
  list(GET parts 0 what)
  list(GET parts 1 capabilities)
  list(GET parts 2 wanted)
  string(REPLACE "," ";" capabilities "${capabilities}")
  string(REPLACE "," ";" wanted "${wanted}")
  duet_cuda_architectures(got "${capabilities}" "${known}")
  expect("${what}" "${wanted}" "${got}")
endforeach()

# What the driver's tool prints, fails with, and what the user has set.
set(ENV{PATH} "${FOLDER}:$ENV{PATH}")
function(write_tool name text)
  file(WRITE ${FOLDER}/${name} "#!/bin/sh\n${text}\n")
  file(CHMOD ${FOLDER}/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()
write_tool(nvcc "echo sm_80; echo sm_86; echo sm_90")
set(DUET_CUDA_ARCHITECTURES AUTO)
write_tool(nvidia-smi "echo 8.0; echo 9.0")
duet_chosen_cuda_architectures(got ${FOLDER}/nvcc)
expect("an A100 and an H100" "80-real;90a-real" "${got}")
write_tool(nvidia-smi "echo 'NVIDIA-SMI has failed because it could not communicate with driver 1.2'; exit 9")
duet_chosen_cuda_architectures(got ${FOLDER}/nvcc)
expect("no driver" "90a-real;90-virtual" "${got}")
set(DUET_CUDA_ARCHITECTURES "80-real;86-real")
duet_chosen_cuda_architectures(got ${FOLDER}/nvcc)
expect("chosen by the user" "80-real;86-real" "${got}")

duet_nvcc_architectures(got "80-real;90-virtual;90a")
expect("nvcc's arguments" "-gencode=arch=compute_80,code=sm_80;-gencode=arch=compute_90,code=compute_90;\
-gencode=arch=compute_90a,code=sm_90a;-gencode=arch=compute_90a,code=compute_90a" "${got}")
duet_nvcc_architectures(got "all-major")
expect("nvcc's own choice" "-arch=all-major" "${got}")
