# Holds cmake/hip.cmake to what it promises: cmake -DSOURCE=... -DFOLDER=... -P.
cmake_minimum_required(VERSION 3.25)
include(${SOURCE}/cmake/hip.cmake)
set(ENV{PATH} "${FOLDER}:$ENV{PATH}")

# expect(WHAT SAID HIPCC HIP ARCHITECTURES WANTED): where ROCm's tool runs SAID, both settings are
# chosen as WANTED, "ON gfx942".
function(expect what said hipcc hip architectures wanted)
  file(WRITE ${FOLDER}/rocm_agent_enumerator "#!/bin/sh\n${said}\n")
  file(CHMOD ${FOLDER}/rocm_agent_enumerator PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(DUET_HIP ${hip})
  set(DUET_HIP_ARCHITECTURES ${architectures})
  duet_choose_hip("${hipcc}")
  list(JOIN DUET_HIP_ARCHITECTURES "," chosen)
  if(NOT "${DUET_HIP} ${chosen}" STREQUAL wanted)
    message(SEND_ERROR "${what}: expected '${wanted}', is '${DUET_HIP} ${chosen}'")
  endif()
endfunction()

set(two "echo gfx000; echo gfx942; echo gfx942")
expect("two MI300X" "${two}" /opt/rocm/bin/hipcc AUTO AUTO "ON gfx942")
expect("two kinds" "echo gfx942; echo gfx90a" hipcc AUTO AUTO "ON gfx90a,gfx942")
expect("no compiler" "${two}" "" AUTO AUTO "OFF gfx942")
expect("no GPU" "echo gfx000" hipcc AUTO AUTO "OFF gfx90a")
expect("a tool that fails" "echo gfx942; exit 1" hipcc AUTO AUTO "OFF gfx90a")
expect("asked for without a GPU" "echo gfx000" hipcc ON AUTO "ON gfx90a")
expect("left out" "${two}" hipcc OFF AUTO "OFF gfx942")
expect("for others" "${two}" hipcc AUTO gfx950 "ON gfx950")
