// Declares a kernel's table parameter. With __grid_constant__ indexed accesses read parameter
// memory directly; otherwise the compiler copies the table for each thread.
#pragma once

#ifdef DUET_GPU_HIP
#define DUET_GPU_PARAMETER
#else
#define DUET_GPU_PARAMETER __grid_constant__
#endif
