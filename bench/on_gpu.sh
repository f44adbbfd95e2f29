#!/usr/bin/env bash
# Checks and measures Duet on a machine with NVIDIA GPUs, from a build folder made there or elsewhere.
#   bench/on_gpu.sh check        the gpu tests, every engine verified, compute-sanitizer
#   bench/on_gpu.sh gemm OUT     the studies' shapes, journals into OUT; beside torch.matmul
#   bench/on_gpu.sh grouped OUT  experts' grouped GEMMs verified, and beside torch._grouped_mm; ROUTING, RANKS,
#                                ROWS, LAYOUT, ROUNDS choose
#   bench/on_gpu.sh quick OUT    the suite quick on the GPUs with --check, its journal and report
#   bench/on_gpu.sh check_collectives   every one checked, captured, by processes of which one dies
#   bench/on_gpu.sh collectives OUT   Duet's beside NCCL's, journals into OUT; COLLECTIVES names some
#   bench/on_gpu.sh healthy OUT  quick, and every engine at every size, for the expectations of specs/devices
#   bench/on_gpu.sh reductions OUT   through slots and added in flight: checked, alone, beside GEMMs
#   bench/on_gpu.sh preloaded OUT   PyTorch's collectives by NCCL, and with Duet's library before it; its kernels checked
#   bench/on_gpu.sh preloaded_layers OUT   PyTorch's tensor-parallel and expert-parallel layers, likewise
#   bench/on_gpu.sh preloaded_training OUT   PyTorch's FSDP2 and DDP by NCCL, and with Duet's library before it
#   bench/on_gpu.sh preloaded_ends OUT   ranks that are killed, stopped or end their communicator, by NCCL and with the library
#   bench/on_gpu.sh nccl_tests OUT   programs of nccl-tests in the folder NCCL_TESTS, by NCCL and with Duet's library
#   bench/on_gpu.sh nccl_tests_options OUT   their options with Duet's library
#   bench/on_gpu.sh tune_drop_in OUT   NCCL alone and behind Duet's library, and thresholds from both; the parts above
#                                use them with THRESHOLDS=tuned DUET_TUNING=OUT/tuning.json
#   bench/on_gpu.sh nodes OUT    two GPUs as two nodes, over shm and tcp, beside one node
#   bench/on_gpu.sh auto OUT     how near the engine auto comes to the better of dma and kernel
#   bench/on_gpu.sh copy OUT     every copy, journals into OUT; beside plain cudaMemcpyAsync
#   bench/on_gpu.sh overlap OUT  GEMMs beside collectives; SCENARIOS, OVERLAP_OPTIONS choose
#   bench/on_gpu.sh check_layers   layers: every way on several GPUs verified, on streams and captured
#   bench/on_gpu.sh check_python   the Python package on PyTorch's tensors: collectives beside NCCL, and GEMMs within them
#   bench/on_gpu.sh check_torch   duet.torch: opcheck, torch.compile, graphs, its calls and an MLP beside NCCL's and PyTorch's
#   bench/on_gpu.sh layers OUT   GEMMs that need collectives, by turns with the GEMM alone, beside PyTorch's; LAYERS,
#                                TOKENS, ENGINES, MODEL choose
#   bench/on_gpu.sh check_moe    layers of a mixture of experts: operations, every exchange verified, compute-sanitizer
#   bench/on_gpu.sh moe OUT      their exchanges by turns with the experts alone; MODEL, TOKENS, ENGINES, ROUTING choose
#   bench/on_gpu.sh moe_processes OUT   likewise with one process a GPU, NVSHMEM's engines among them
#   bench/on_gpu.sh check_shared   on one GPU that two ranks share what needs several; packets under compute-sanitizer
#   bench/on_gpu.sh check_halo   halo exchange: every point to the bit, graphs, compute-sanitizer, a process that dies
#   bench/on_gpu.sh halo OUT     sweeps beside the driver's copy, every engine and norm, small grids, scaling
#   bench/on_gpu.sh halo_processes OUT   one process a GPU: NVSHMEM's engines beside the others
#   bench/on_gpu.sh packets OUT   all_to_all, one process a GPU: NVSHMEM begun by the host, one block or many, in
#                                packets of several sizes, beside nccl, dma and kernel; PACKETS names sizes
#   bench/on_gpu.sh fabric OUT   writes between two processes, direct and by a proxy for GPU threads
#   bench/on_gpu.sh fabric_memory OUT   of it what is between GPUs' own memory
#   bench/on_gpu.sh node OUT     a whole node at once: all pairs, collectives to 13 GiB, the paper's overlap
#   bench/on_gpu.sh advise OUT   the advisor's table, scored by JOURNAL; the isolated picture
#   bench/on_gpu.sh check_train  training's kernels beside the host's, and under compute-sanitizer
#   bench/on_gpu.sh parallel OUT  training steps on several GPUs by each engine, beside PyTorch's: ddp and
#                                zero3 beside FSDP2, tp beside DTensor; PARTS, MODELS, RECIPES, BATCHES name some,
#                                GPUS says how many; KEEP_GATHERED=yes: zero3 gathers once a step
#   bench/on_gpu.sh qwen3 OUT    steps of Qwen3-8B and of its adapters on one GPU, beside PyTorch's;
#                                PARTS, RECIPES, TURNS name some
#   bench/on_gpu.sh train OUT    training steps beside PyTorch's, model by model; MODELS, RECIPES,
#                                TORCH_MODES, ATTENTIONS name some
#   bench/on_gpu.sh curves OUT   losses of 50 steps on a text in fp32, amp and bf16, and the memory of 1,000
#   bench/on_gpu.sh parallel_curves OUT   losses of 100 steps in bf16 on one GPU, and on two by every engine
# bench/plan.sh runs several of these within a time, on pairs of GPUs side by side.
# BUILD names the build folder (default: build; bench/pack.sh makes one to carry elsewhere). CI builds kernels in a hurry, by -Xcicc -O1 -Xptxas -O1:
# what is measured must be built without these flags; reductions take ten times as long with them.
set -uo pipefail
shopt -s nullglob
cd "$(dirname "$0")/.."
build=${BUILD:-build}
duet=$build/duet
out=${2:-.}
failed=0
for part in bench/on_gpu/*.sh; do source "$part"; done

case "${1:-}" in
  check | gemm | grouped | quick | check_collectives | collectives | healthy | reductions | preloaded | preloaded_layers | preloaded_training | preloaded_ends | nccl_tests | nccl_tests_options | tune_drop_in | nodes | auto | copy | overlap | \
    check_layers | check_python | check_torch | layers | check_moe | moe | moe_processes | check_shared | \
    check_halo | halo | halo_processes | packets | fabric | fabric_memory | node | advise | check_train | parallel | \
    qwen3 | train | curves | parallel_curves) "$1" ;;
  *)
    sed -n '2,/^# what is measured/s/^# *//p' "$0" >&2
    exit 2
    ;;
esac
say "done"
exit "$failed"
