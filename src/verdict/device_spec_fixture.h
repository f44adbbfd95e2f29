// The spec of a device that does not exist, for tests.
#pragma once

namespace duet {

inline constexpr const char* kMakerOne = R"(
name = "Maker One"
models = ["One", "One 80GB"]
compute_units = 100
[compute.tflops]
bf16 = 1000
fp16 = 1000
[compute.efficiency]
bf16 = 0.7
[memory]
gib = 80
gb_per_s = 4000
[link]
kind = "Bridge"
topology = "switch"
count = 18
gb_per_s = 450
[host_link]
kind = "PCIe 5.0 x16"
gb_per_s = 63
[power]
watts = 700
[[copy]]
kind = "peer"
executor = "dma"
bidirectional = true
efficiency = 0.8
[[copy]]
kind = "peer"
executor = "dma"
efficiency = 0.9
latency_us = 10
from_bytes = 65536
[[copy]]
kind = "local"
efficiency = 0.85
[[copy]]
kind = "host_to_device"
memory = "pinned"
efficiency = 0.88
)";

}  // namespace duet
