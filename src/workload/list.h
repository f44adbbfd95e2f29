// Every workload, in the order in which suites run them and `duet --help` shows their commands. A
// line is all that is said of a workload outside its folder, which defines NAME_workload().
DUET_WORKLOAD(gemm)
DUET_WORKLOAD(copy)
DUET_WORKLOAD(collective)
DUET_WORKLOAD(halo)
DUET_WORKLOAD(overlap)
DUET_WORKLOAD(layer)
DUET_WORKLOAD(moe)
DUET_WORKLOAD(replay)
DUET_WORKLOAD(train)
DUET_WORKLOAD(fabric)
DUET_WORKLOAD(soak)
