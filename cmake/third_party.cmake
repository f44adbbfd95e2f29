# What is in the program's files and is not Duet's: their licences, as one file. Run when Duet is
# installed, with NODE_MODULES, the folder of the report page's packages, and OUTPUT.
set(text "The files of Duet contain, beside Duet itself (Apache-2.0, LICENSE):\n")
if(EXISTS ${NODE_MODULES}/echarts/LICENSE)
  string(APPEND text "\nIn libduet, in the page that `duet report` writes:\n")
  foreach(part echarts/NOTICE echarts/LICENSE zrender/LICENSE tslib/LICENSE.txt)
    get_filename_component(package ${part} DIRECTORY)
    file(READ ${NODE_MODULES}/${part} licence)
    string(APPEND text "\n==== ${package}\n\n${licence}\n")
  endforeach()
endif()
string(APPEND text "
In the modules for NVIDIA's GPUs: parts of the CUDA runtime, (c) NVIDIA Corporation, under the
CUDA Toolkit's End User License Agreement (https://docs.nvidia.com/cuda/eula), which allows their
redistribution in applications.
")
file(WRITE ${OUTPUT} "${text}")
