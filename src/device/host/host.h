#pragma once

namespace duet {

// Registers the CPU as a kind of device: --device host and host:N, and host:N:queue=K, whose
// streams take K copies at a time. The N devices divide the cores among them; if N is larger than
// the number of cores, devices share cores. The host is the default device and the reference for
// correctness.
void register_host_backend();

}  // namespace duet
