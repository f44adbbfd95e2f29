// How a kernel takes a table as its parameter: what is indexed stays where parameters are, instead
// of being copied for each thread.
#pragma once

#ifdef DUET_GPU_HIP
#define DUET_GPU_PARAMETER
#else
#define DUET_GPU_PARAMETER __grid_constant__
#endif
