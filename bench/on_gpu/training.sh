# Training steps on one GPU and on several, beside PyTorch. Sourced by on_gpu.sh.

check_train() {
  find_cudnn
  say "training: kernels beside the host's"
  must timeout 200 "$build/tests/training_test" --gtest_filter='*cuda*'
  say "captured memsets"
  must timeout 60 "$build/tests/graph_fills_test" --gtest_brief=1
  say "training: products of engines"
  must timeout 100 "$duet" gemm --device cuda:0 --shapes 256x512x128,136x264x72 --dtype fp32,bf16 \
    --layout nn,nt,tn --accumulate --tuning-seconds 0.3 --seconds 0.02 --quiet
  local epilogue
  for epilogue in gelu gelu_backward; do
    must timeout 60 "$duet" gemm --device cuda:0 --shapes 256x512x128,136x264x72,8192x3072x768 \
      --dtype bf16 --layout nn,nt --engine cublaslt,cublaslt-tuned --epilogue $epilogue \
      --tuning-seconds 0.3 --seconds 0.02 --quiet
  done
  say "training: a step of a shortened Qwen3, verified"
  must timeout 100 "$duet" train qwen3 --device cuda:0 --layers 2 --sequence 1024 \
    --recipe amp,bf16,fp8 --iterations 3 --quiet
  must timeout 100 "$duet" train qwen3 --device cuda:0 --layers 2 --sequence 1024 --lora 16 \
    --recipe bf16,fp8 --iterations 3 --quiet
  say "training: compute-sanitizer"
  must timeout 250 compute-sanitizer --report-api-errors no --error-exitcode 9 \
    "$build/tests/training_test" --gtest_filter='*Embed*cuda*:*Normalise*cuda*:*Rotate*cuda*:*Gate*cuda*:*Loss*cuda*:*Blocks*cuda*:*Quantise*cuda*:*Gpt*cuda*' \
    --gtest_brief=1
}

# A journal of Duet's steps, which goes on where it was cut off: NAME FLAG...
duet_steps() {
  local name=$1
  shift
  say "$name"
  must timeout -s KILL "${LIMIT:-240}" "$duet" train "$@" --seconds "${SECONDS_EACH:-5}" --warm-up 1 --verbose \
    --tuning-seconds "${TUNING_SECONDS:-6}" \
    --tuning-cache "$out/tuning.json" --json "$out/$name.jsonl" --resume
}

# Likewise of PyTorch's. A row that fails is a result, such as a batch that has no room.
torch_steps() {
  local name=$1
  shift
  say "$name"
  if grep -qs '"type":"end"' "$out/$name.jsonl"; then
    echo "measured before"
    return
  fi
  rm -f "$out/$name.jsonl"
  PYTHONUNBUFFERED=1 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True \
    timeout -s KILL "${LIMIT:-240}" python3 bench/train_torch.py "$@" \
    --seconds "${SECONDS_EACH:-5}" --limit "${ROW_LIMIT:-200}" --json "$out/$name.jsonl" ||
    echo "train_torch.py: $?"
}

# NAME FLAG...: ENGINES in their order and then in the reverse one, since GPUs grow hotter and so slower.
duet_by_turns() {
  local name=$1 engines=${ENGINES:-none,dma,nccl}
  shift
  duet_steps "$name-1" "$@" --engine "$engines"
  duet_steps "$name-2" "$@" --engine "$(tr , '\n' <<< "$engines" | tac | paste -sd ,)"
}

beside_torch() {
  say "beside PyTorch"
  must python3 bench/beside_torch.py "$@"
}

# ATTENTIONS= leaves PyTorch out.
train() {
  find_cudnn
  local model attention
  for model in ${MODELS:-small medium}; do
    local flags=(--device cuda:0 --model "$model" --recipe "${RECIPES:-amp,bf16}")
    duet_steps "duet-$model" gpt "${flags[@]}" --breakdown ${TRAIN_OPTIONS:-}
    for attention in ${ATTENTIONS-auto cudnn}; do
      torch_steps "torch-$model-$attention" "${flags[@]}" --attention "$attention" \
        --mode "${TORCH_MODES:-graph,graph-blocks}"
    done
  done
  beside_torch "$out"/duet-*.jsonl "$out"/torch-*.jsonl
}

# Two GPUs or more, of which GPUS (2) train beside PyTorch. Each of its parts fits into ten minutes;
# PARTS names some, and what they have measured is not measured again.
parallel() {
  find_cudnn
  find_nccl
  gpus=${GPUS:-2}
  devices=cuda:$(seq -s , 0 $((gpus - 1)))
  local part
  for part in ${PARTS:-check small power ddp zero3 recompute tp by_rows}; do parallel_$part; done
}

parallel_check() {
  say "training on all GPUs: tests"
  must timeout 200 "$build/tests/training_test" --gtest_filter='*Buckets*cuda*:*Sharded*cuda*' \
    --gtest_brief=1
  say "PyTorch's side: tests"
  must timeout -s KILL 380 python3 bench/check_train_torch.py
}

parallel_small() {
  local way
  for way in ddp zero3; do
    say "$way: small, verified"
    must timeout 200 "$duet" train gpt --device cuda --model small --recipe amp,bf16 --parallel $way \
      --engine none,dma,kernel,auto,nccl --seconds 1 --warm-up 0.3 \
      --tuning-cache "$out/tuning.json" --json "$out/$way-small.jsonl" --resume
  done
}

# Each model on one GPU and, by DDP, on several. PyTorch by cuDNN's attention, which is the faster one
# on Hopper, and by the one that it chooses itself.
parallel_ddp() {
  local model attention recipe=${RECIPES:-bf16} files=()
  for model in ${MODELS:-7b}; do
    local name=ddp-$model own=(--model "$model" --recipe "$recipe")
    local ddp=("${own[@]}" --device cuda:0 --ranks "$gpus" --parallel ddp --bucket-mb "${BUCKET_MB:-25}")
    duet_steps "$name-1-duet" gpt --device cuda:0 "${own[@]}"
    for attention in ${ATTENTIONS:-cudnn auto}; do
      torch_steps "$name-1-torch-$attention" --device cuda:0 "${own[@]}" --attention "$attention" \
        --mode "${TORCH_MODES:-graph}"
    done
    duet_by_turns "$name-$gpus-duet" gpt --device "$devices" "${own[@]}" --parallel ddp
    for attention in ${ATTENTIONS:-cudnn auto}; do
      torch_steps "$name-$gpus-torch-$attention" "${ddp[@]}" --attention "$attention" \
        --mode "${TORCH_DDP_MODES:-compile-blocks}"
    done
    torch_steps "$name-$gpus-torch-alone" "${ddp[@]}" --attention cudnn --no-communication
    files+=("$out/$name"-[0-9]-*.jsonl)
  done
  beside_torch "${files[@]}"
}

# What copies and links that are awake cost beside GEMMs, which a step's collectives are held against.
parallel_power() {
  say "copies of several rates beside GEMMs"
  must timeout 200 "$build/bench/bench_gemm_beside_copies" "$devices" 1.5 > "$out/gemm_beside_copies.txt"
  cat "$out/gemm_beside_copies.txt"
}

parallel_zero3() { zero3_beside_fsdp2 none "${BATCHES:-1 2}"; }
parallel_recompute() { zero3_beside_fsdp2 block "${BATCHES:-1 4}"; }

# Qwen3-8B on several GPUs: what is recomputed, and batches.
zero3_beside_fsdp2() {
  local batch attention name files=()
  for batch in $2; do
    name=zero3-qwen3-$1-$batch${KEEP_GATHERED:+-kept}
    local flags=(--batch "$batch" --recipe "${RECIPES:-bf16}" --recompute "$1"
      ${KEEP_GATHERED:+--keep-gathered})
    duet_by_turns "$name-duet" qwen3 --device "$devices" "${flags[@]}" --parallel zero3
    for attention in ${ATTENTIONS:-cudnn auto}; do
      torch_steps "$name-torch-$attention" --kind qwen3 --device cuda:0 --ranks "$gpus" "${flags[@]}" \
        --parallel fsdp2 --attention "$attention"
    done
    files+=("$out/$name"-*.jsonl)
  done
  beside_torch "${files[@]}"
}

# Qwen3-8B by tensor parallelism; PyTorch with and without products beside what they gather and scatter.
parallel_tp() {
  local batch attention name files=()
  for batch in ${BATCHES:-1}; do
    name=tp-qwen3-$batch
    local flags=(--batch "$batch" --recipe "${RECIPES:-bf16}" --parallel tp)
    duet_by_turns "$name-duet" qwen3 --device "$devices" "${flags[@]}"
    for attention in ${ATTENTIONS:-cudnn auto}; do
      local torch=(--kind qwen3 --device cuda:0 --ranks "$gpus" "${flags[@]}" --attention "$attention")
      torch_steps "$name-torch-$attention" "${torch[@]}"
      torch_steps "$name-torch-$attention-async" "${torch[@]}" --async-tp
    done
    files+=("$out/$name"-*.jsonl)
  done
  beside_torch "${files[@]}"
}

# Whether weights' gradients are better summed by the products that make them, of 8,192 tokens of each
# GPU: what that adds to a block's four products (docs/layers.md), and what communication adds to a step.
parallel_by_rows() {
  say "weights' gradients by rows"
  must timeout -s KILL "${LIMIT:-240}" "$duet" layer wgrad-scatter --device "$devices" --model qwen3-8b \
    --tokens $((8192 * gpus)) --engine none,nccl,dma,kernel,pieces --energy --energy-seconds 0.5 \
    --seconds "${SECONDS_EACH:-0.5}" --tuning-seconds 0.5 --json "$out/by-rows.jsonl" --resume
  duet_by_turns by-rows-zero3 qwen3 --device "$devices" --recipe bf16 --parallel zero3
  duet_by_turns by-rows-zero3-late qwen3 --device "$devices" --recipe bf16 --parallel zero3 --late-sums
}

# Qwen3-8B on one GPU, whole and with adapters, Duet and PyTorch by turns. Parts as parallel's.
qwen3() {
  find_cudnn
  local part
  for part in ${PARTS:-whole recompute lora}; do
    case $part in
      whole) qwen3_by_turns whole ;;
      recompute) qwen3_by_turns recompute --recompute block ;;
      lora) qwen3_by_turns lora --lora "${LORA:-16}" ;;
    esac
  done
}

# NAME FLAG...: of both programs. Each way of PyTorch's follows a run of Duet's, which has fp8 too.
qwen3_by_turns() {
  local name=qwen3-$1 turn
  shift
  local flags=(--batch "${BATCH:-1}" "$@")
  for turn in ${TURNS:-compile-blocks:cudnn compile:cudnn compile:auto}; do
    duet_steps "$name-duet-${turn/:/-}" qwen3 --device cuda:0 --recipe "${RECIPES:-bf16,fp8}" \
      "${flags[@]}" --breakdown
    torch_steps "$name-torch-${turn/:/-}" --kind qwen3 --device cuda:0 --recipe bf16 "${flags[@]}" \
      --mode "${turn%:*}" --attention "${turn#*:}"
  done
  beside_torch "$out/$name"-*.jsonl
}

# The text is this project's own; bits repeat with the tuning cache.
curves() {
  find_cudnn
  cat README.md ARCHITECTURE.md docs/*.md | head -c 108000 > "$out/text"
  local flags=(--device cuda:0 --model small --batch 8 --sequence 256 --data "$out/text" --seed 1
    --tuning-cache "$out/tuning.json" --quiet)
  local recipe
  for recipe in fp32 amp bf16; do
    say "50 steps in $recipe"
    must timeout "${LIMIT:-100}" "$duet" train gpt "${flags[@]}" --recipe $recipe --steps 50 \
      --json "$out/curve-$recipe.jsonl"
  done
  compare_losses "$out/curve" fp32 amp bf16
  # amp tells how far two runs differ that differ by rounding alone.
  for recipe in bf16 amp fp8; do
    say "Qwen3 of 4 blocks: 200 steps in $recipe"
    must timeout "${LIMIT:-100}" "$duet" train qwen3 --device cuda:0 --layers 4 --sequence 512 --batch 4 \
      --recipe $recipe --data "$out/text" --steps 200 --seed 1 --learning-rate 1e-4 --warm-up-steps 50 \
      --tuning-cache "$out/tuning.json" --quiet --json "$out/curve-qwen3-$recipe.jsonl"
  done
  compare_losses "$out/curve-qwen3" bf16 amp fp8
  say "1,000 steps"
  "$duet" train gpt "${flags[@]}" --recipe bf16 --steps 1000 &
  local run=$!
  while sleep 0.5 && kill -0 $run 2>/dev/null; do
    echo "memory used: $(nvidia-smi -i 0 --query-gpu=memory.used --format=csv,noheader)"
  done
  must wait $run
}

# 100 steps in bf16 on one GPU and, with half of each batch on each of two, in every way and by every
# engine. The means of 20 losses may differ from one GPU's by 3%: single steps of two runs soon differ,
# even if only rounding differs.
parallel_curves() {
  find_nccl
  find_cudnn
  cat README.md ARCHITECTURE.md docs/*.md | head -c 108000 > "$out/text"
  local flags=(--layers 4 --sequence 512 --recipe bf16 --data "$out/text" --steps 100 --seed 1
    --learning-rate 1e-4 --warm-up-steps 50 --tuning-cache "$out/tuning-of-gemms.json" --quiet)
  local way engine names=(one)
  say "100 steps on one GPU"
  must timeout 100 "$duet" train qwen3 "${flags[@]}" --device cuda:0 --batch 8 --json "$out/curve-parallel-one.jsonl"
  for way in ddp zero3; do
    for engine in dma kernel nccl; do
      say "100 steps on two GPUs, $way by $engine"
      must timeout 100 "$duet" train qwen3 "${flags[@]}" --device cuda:0,1 --batch 4 --parallel $way \
        --engine $engine --json "$out/curve-parallel-$way-$engine.jsonl"
      names+=("$way-$engine")
    done
  done
  MOST_OFF=3 must compare_losses "$out/curve-parallel" "${names[@]}"
}

# PREFIX NAME...: losses of PREFIX-NAME.jsonl beside the first one's. Fails where a mean of 20 steps differs
# by more than MOST_OFF percent, if that is set.
compare_losses() {
  python3 - "$@" <<'END'
import json, os, sys
prefix, *names = sys.argv[1:]
curves = {}
for name in names:
    for line in open(f"{prefix}-{name}.jsonl"):
        record = json.loads(line)
        if record["type"] == "result":
            curves[name] = record["curves"]["loss"]
first = curves[names[0]]
def means(losses, steps=20):
    return [sum(losses[i:i + steps]) / steps for i in range(0, len(losses) - steps + 1, steps)]
def most(losses, others):
    return 100 * max(abs(a / b - 1) for a, b in zip(losses, others))
for name, losses in curves.items():
    print(f"{name}: first {losses[0]:.4f}, last {losses[-1]:.4f}, off {names[0]} by at most "
          f"{most(losses, first):.2f}% a step, {most(means(losses), means(first)):.2f}% a mean of 20")
limit = float(os.environ.get("MOST_OFF", "inf"))
sys.exit(len(curves) < len(names) or any(most(means(each), means(first)) > limit for each in curves.values()))
END
}
