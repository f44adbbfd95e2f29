# Which CUDA architectures the module is built for where DUET_CUDA_ARCHITECTURES is AUTO: those of
# this machine's GPUs, without any the default.
set(DUET_CUDA_DEFAULT_ARCHITECTURES "90a-real;90-virtual")

# duet_gpu_capabilities(OUTPUT): the compute capabilities of this machine's NVIDIA GPUs, as
# "9.0;8.0"; empty where the driver's tool is missing or finds none.
function(duet_gpu_capabilities output)
  set(${output} "" PARENT_SCOPE)
  find_program(DUET_NVIDIA_SMI nvidia-smi NO_CACHE)
  if(NOT DUET_NVIDIA_SMI)
    return()
  endif()
  execute_process(COMMAND ${DUET_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                  TIMEOUT 60 OUTPUT_VARIABLE said ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" found "${said}")
    set(${output} "${found}" PARENT_SCOPE)
  endif()
endfunction()

# duet_cuda_architectures(OUTPUT CAPABILITIES KNOWN): an entry for each kind of GPU in CAPABILITIES
# ("9.0;8.0"), of those that the compiler knows ("sm_80;sm_90", nvcc --list-gpu-code). For a
# GPU newer than all of them the newest one's virtual code, which the driver compiles; one that is
# older than all of them is left out. The default where nothing is left.
function(duet_cuda_architectures output capabilities known)
  set(numbers ${known})
  list(FILTER numbers INCLUDE REGEX "^sm_[0-9]+$")
  list(TRANSFORM numbers REPLACE "^sm_" "")
  list(SORT numbers COMPARE NATURAL)
  set(newest 0)
  if(numbers)
    list(GET numbers -1 newest)
  endif()
  set(chosen)
  foreach(capability IN LISTS capabilities)
    string(REPLACE "." "" number ${capability})
    if("sm_${number}" IN_LIST known)
      if(number EQUAL 90)
        set(number 90a)  # not in the compiler's list, but as old as what Duet needs
      endif()
      list(APPEND chosen ${number}-real)
    elseif(newest AND number GREATER newest)
      list(APPEND chosen ${newest}-virtual)
    else()
      message(STATUS "This CUDA toolkit has no code for GPUs of compute capability ${capability}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES chosen)
  list(SORT chosen COMPARE NATURAL)
  if(NOT chosen)
    set(chosen ${DUET_CUDA_DEFAULT_ARCHITECTURES})
  endif()
  set(${output} "${chosen}" PARENT_SCOPE)
endfunction()

# duet_chosen_cuda_architectures(OUTPUT NVCC): what the user has set, or for AUTO the above.
function(duet_chosen_cuda_architectures output nvcc)
  if(NOT DUET_CUDA_ARCHITECTURES STREQUAL "AUTO")
    set(${output} "${DUET_CUDA_ARCHITECTURES}" PARENT_SCOPE)
    return()
  endif()
  set(known)
  execute_process(COMMAND ${nvcc} --list-gpu-code OUTPUT_VARIABLE said ERROR_QUIET
                  RESULT_VARIABLE failed)
  if(NOT failed)
    string(REGEX MATCHALL "sm_[0-9]+" known "${said}")
  endif()
  duet_gpu_capabilities(capabilities)
  duet_cuda_architectures(architectures "${capabilities}" "${known}")
  set(${output} "${architectures}" PARENT_SCOPE)
endfunction()

# duet_nvcc_architectures(OUTPUT ARCHITECTURES): a list as of CMAKE_CUDA_ARCHITECTURES, as arguments of
# nvcc for what CMake does not compile itself.
function(duet_nvcc_architectures output architectures)
  set(arguments)
  foreach(each IN LISTS architectures)
    string(REGEX REPLACE "-(real|virtual)$" "" number ${each})
    if(NOT number MATCHES "^[0-9]")
      set(arguments -arch=${each})  # all, all-major, native
      break()
    endif()
    if(NOT each MATCHES "-virtual$")
      list(APPEND arguments -gencode=arch=compute_${number},code=sm_${number})
    endif()
    if(NOT each MATCHES "-real$")
      list(APPEND arguments -gencode=arch=compute_${number},code=compute_${number})
    endif()
  endforeach()
  set(${output} "${arguments}" PARENT_SCOPE)
endfunction()
