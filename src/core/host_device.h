// What marks functions that are compiled for host and GPU code alike.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__)
#define DUET_HOST_DEVICE __host__ __device__
#else
#define DUET_HOST_DEVICE
#endif
