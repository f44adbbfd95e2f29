# What needs several ranks, on one GPU that two ranks share. Sourced by on_gpu.sh.

check_shared() {
  find_nccl
  export DUET_TEST_GPUS=cuda:0:2
  say "two ranks on one GPU: what devices do"
  must timeout 200 "$build/tests/conformance_test" --gtest_filter='*cuda_0_2*' --gtest_brief=1
  say "collectives, layers, experts, training, the runtime"
  must timeout 200 "$build/tests/collectives_test" --gtest_filter='Machines/*' --gtest_brief=1
  must timeout 100 "$build/tests/layer_test" --gtest_filter='*cuda_0_2*:*/5' --gtest_brief=1
  must timeout 100 "$build/tests/moe_test" --gtest_filter='*cuda_0_2*' --gtest_brief=1
  must timeout 100 "$build/tests/training_test" --gtest_filter='*cuda_0_2*' --gtest_brief=1
  must timeout 100 "$build/tests/runtime_test" --gtest_filter='Machines/*' --gtest_brief=1
  under_sanitizer "packets" 100 "$build/tests/conformance_test" '*PacketKernels*cuda_0_2*'
}
