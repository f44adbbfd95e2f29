// What a later NCCL may have beside fake_nccl.cc.
extern "C" int ncclOfTomorrow() { return 0; }
