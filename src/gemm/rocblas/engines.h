// Called when the HIP module is loaded.
#pragma once

namespace duet::hip {

void register_rocblas_engine();  // rocblas

}  // namespace duet::hip
