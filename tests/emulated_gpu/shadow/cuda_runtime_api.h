// Stands before CUDA's: the names that the headers of training's kernels use.
#pragma once

#include "emulation.h"

enum cudaError_t { cudaSuccess };
using cudaStream_t = void*;
using cudaEvent_t = void*;
using cudaGraph_t = void*;
using cudaGraphExec_t = void*;
