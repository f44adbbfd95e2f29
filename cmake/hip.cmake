# Whether the HIP module is built, and for which GPUs. DUET_HIP=AUTO: where hipcc is installed and
# there is an AMD GPU. DUET_HIP_ARCHITECTURES=AUTO: this machine's GPUs, without any the default.
set(DUET_HIP_DEFAULT_ARCHITECTURES gfx90a)

# duet_amd_gpus(OUTPUT): the kinds of this machine's AMD GPUs, as "gfx90a;gfx942"; empty where ROCm's
# tool is missing or finds none. The tool lists CPUs as gfx000.
function(duet_amd_gpus output)
  set(${output} "" PARENT_SCOPE)
  find_program(DUET_ROCM_ENUMERATOR rocm_agent_enumerator HINTS ENV ROCM_PATH PATHS /opt/rocm
               PATH_SUFFIXES bin NO_CACHE)
  if(NOT DUET_ROCM_ENUMERATOR)
    return()
  endif()
  execute_process(COMMAND ${DUET_ROCM_ENUMERATOR} TIMEOUT 60 OUTPUT_VARIABLE said ERROR_QUIET
                  RESULT_VARIABLE failed)
  if(NOT failed)
    string(REGEX MATCHALL "gfx[0-9a-f]+" found "${said}")
    list(REMOVE_ITEM found gfx000)
    list(REMOVE_DUPLICATES found)
    list(SORT found)
    set(${output} "${found}" PARENT_SCOPE)
  endif()
endfunction()

# duet_choose_hip(HIPCC): sets DUET_HIP and DUET_HIP_ARCHITECTURES for the caller where they are
# AUTO. HIPCC is the compiler, or false where there is none.
function(duet_choose_hip hipcc)
  if(NOT DUET_HIP STREQUAL "AUTO" AND NOT DUET_HIP_ARCHITECTURES STREQUAL "AUTO")
    return()
  endif()
  duet_amd_gpus(gpus)
  if(DUET_HIP STREQUAL "AUTO")
    set(DUET_HIP OFF PARENT_SCOPE)
    if(gpus AND hipcc)
      set(DUET_HIP ON PARENT_SCOPE)
    elseif(gpus)
      message(STATUS "There is an AMD GPU, but no hipcc: building without the hip device")
    endif()
  endif()
  if(DUET_HIP_ARCHITECTURES STREQUAL "AUTO")
    if(NOT gpus)
      set(gpus ${DUET_HIP_DEFAULT_ARCHITECTURES})
    endif()
    set(DUET_HIP_ARCHITECTURES "${gpus}" PARENT_SCOPE)
  endif()
endfunction()
