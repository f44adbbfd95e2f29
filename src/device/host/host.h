// The CPU as a device: threads as streams. The default, and the reference for correctness.
#pragma once

namespace duet {

// Makes --device host and host:N known: N devices that split the cores between them; where N is
// larger than the number of cores, devices share cores.
void register_host_backend();

}  // namespace duet
