#!/usr/bin/env bash
# Training: what is refused, steps that are measured, runs on text that are interrupted and resumed.
source "$(dirname "$0")/check.sh"

refuses 'kind is required' train
refuses 'expected gpt, qwen3, qwen3-moe or mlp' train resnet
refuses "did you mean 'tiny'" train qwen3 --model tini
refuses '--data: expected gpt, qwen3 or qwen3-moe' train mlp --data /dev/null --steps 1
refuses "did you mean 'small'" train gpt --model smal
refuses 'whole number from 1 to 6' train gpt --model small --layers 7
refuses 'cannot be read' train gpt --model /nowhere/own.toml
refuses 'expected one of fp32, amp, bf16, fp8' train gpt --recipe fp4
refuses '--recipe fp8: expected qwen3' train gpt --recipe fp8
refuses '--fp8-gradients: expected --recipe fp8' train qwen3 --model tiny --fp8-gradients e5m2
refuses 'expected e4m3 or e5m2' train qwen3 --model tiny --recipe fp8 --fp8-gradients e6m1
refuses 'expected one of none, attention, block' train gpt --recompute all
refuses 'expected one of adamw, sgd' train gpt --optimizer lion
refuses "are gpt's" train mlp --layers 2
refuses "did you mean 'ddp'" train gpt --parallel dp
refuses '--engine: expected --parallel as well' train gpt --engine dma
refuses '--update: expected without --parallel' train gpt --parallel ddp --update beside
refuses '--bucket: expected --parallel ddp' train gpt --parallel zero3 --bucket 1M
refuses '--keep-gathered: expected --parallel zero3' train gpt --parallel ddp --keep-gathered
refuses '--late-sums: expected --parallel zero3' train gpt --parallel ddp --late-sums
refuses '--late-sums: expected --parallel as well' train gpt --late-sums
refuses '--bucket: expected --parallel ddp' train gpt --parallel tp --bucket 1M
refuses '--parallel tp: tiny has 4 heads, which 3 ranks cannot divide' train gpt --model tiny \
  --parallel tp --device host:3
refuses '--parallel tp: expected gpt, or qwen3 without --lora' train mlp --parallel tp --device host:2
refuses '--lora: expected --parallel ddp or none' train qwen3 --lora 4 --parallel tp
refuses '--parallel tp: expected another --recipe than fp8' train qwen3 --model tiny --recipe fp8 \
  --parallel tp --device host:2
refuses '--accumulate: expected 1' train gpt --parallel zero3 --device host:2 --accumulate 2
refuses 'unknown collective engine' train gpt --parallel ddp --device host:2 --engine abacus

# Steps with random tokens.
expect_code 0 train gpt --layers 1 --sequence 16 --batch 1,2 --iterations 1 --json steps.jsonl
grep -q '"tokens_per_s":' steps.jsonl || fail "no tokens/s: $(cat steps.jsonl)"
grep -q '"verified":true' steps.jsonl || fail "a step is not verified: $(cat steps.jsonl)"
expect_code 0 train gpt --layers 1 --sequence 16 --batch 1 --iterations 1 --breakdown --json parts.jsonl
grep -q '"gemm_seconds":' parts.jsonl || fail "no parts: $(cat parts.jsonl)"
expect_code 0 train gpt --layers 1 --sequence 16 --batch 1 --iterations 1 --deterministic --json same.jsonl
grep -q '"deterministic":"yes"' same.jsonl || fail "not told from other steps: $(cat same.jsonl)"
refuses '--tuning-seconds' train gpt --tuning-seconds 0
expect_code 0 train qwen3 --model tiny --batch 1 --iterations 1 --json qwen3.jsonl
grep -q '"verified":true' qwen3.jsonl || fail "a step of qwen3 is not verified: $(cat qwen3.jsonl)"
expect_code 0 train qwen3 --model tiny --lora 4 --lora-targets k_proj,up_proj --device host:2 \
  --parallel ddp --iterations 1 --json lora.jsonl
grep -q '"model":"qwen3-tiny-lora4".*"verified":true' lora.jsonl || fail "LoRA: $(cat lora.jsonl)"
refuses 'expected qwen3' train gpt --lora 4
refuses '--lora-alpha: expected qwen3' train gpt --lora-alpha 4
seq 400 > numbers
expect_code 0 train qwen3 --model tiny --data numbers --steps 4 --save saved
[[ $(ls saved) == $'config.json\nmodel.safetensors' ]] || fail "saved: $(ls saved)"
cp -r saved before
again=(train qwen3 --data numbers --steps 1 --quiet)
refuses 'saved/' "${again[@]}" --model saved --save saved
mkdir other
echo two > other/model-00002-of-00002.safetensors
refuses 'other/model-00002-of-00002.safetensors: exists' "${again[@]}" --model tiny --save other
refuses 'saved/' "${again[@]}" --model saved --lora 2 --save ./saved
refuses 'a file of the model' "${again[@]}" --model tiny --save new --checkpoint new/config.json
refuses 'both name ./same' "${again[@]}" --model tiny --checkpoint same --json ./same
refuses 'both name same' "${again[@]}" --model tiny --checkpoint same --tuning-cache same
refuses '-: ' "${again[@]}" --model tiny --checkpoint -
diff -r saved before || fail "a refused run changed a model"
[[ $(cat other/*) == two ]] || fail "a refused run changed another model"
kept=(train qwen3 --model tiny --data numbers --warm-up-steps 1 --checkpoint kept.part --save kept)
expect_code 0 "${kept[@]}" --steps 2
expect_code 0 "${kept[@]}" --steps 3 --resume
cmp -s kept/model.safetensors saved/model.safetensors && fail "the model was not saved again"
# Why a case failed is said by --quiet too.
code=0
(trap '' XFSZ; ulimit -f 8; "$duet" "${again[@]}" --model tiny --save large) > out 2> err || code=$?
[[ $code == 1 ]] && grep -q 'left wrong data and 1 failed: .*File too large' err || fail "a full disk: exit $code, $(cat err)"
expect_code 0 train qwen3 --model saved --lora 2 --data numbers --steps 2 --save adapters
[[ $(ls adapters) == $'adapter_config.json\nadapter_model.safetensors' ]] || fail "adapters: $(ls adapters)"
grep -q '"base_model_name_or_path": "/.*/saved"' adapters/adapter_config.json || fail "no base"
expect_code 0 train qwen3 --model saved --iterations 1
mkdir broken; sed 's/"num_hidden_layers": 2/"num_hidden_layers": "two"/' saved/config.json > broken/config.json
refuses 'broken/config.json' train qwen3 --model broken
refuses '--save: expected --data FILE' train qwen3 --save x
refuses '--save: expected qwen3' train gpt --data numbers --steps 1 --save x
refuses '--save: expected a folder as --model' train qwen3 --model tiny --lora 2 --data numbers --steps 1 --save x
refuses '--layers: expected all layers' train qwen3 --model saved --layers 1 --data numbers --steps 1
cp -r saved cut; truncate -s 1000 cut/model.safetensors
refuses 'cut/model.safetensors: a header of 2552 bytes in 1000' train qwen3 --model cut --data numbers --steps 1
mkdir tiny
expect_code 0 train qwen3 --model tiny --iterations 1
refuses 'expected one of q_proj' train qwen3 --lora 4 --lora-targets q
refuses '--lora-alpha: expected --lora' train qwen3 --lora-alpha 4
refuses '--lora: expected --parallel ddp or none' train qwen3 --lora 4 --parallel zero3
expect_code 1 train gpt --device sim:h200:devices=1 --model 13b
grep -q 'needs 18[0-9]\.[0-9] GB of memory, and sim:h200:devices=1:0 has 150.8; batch 1 needs' out ||
  fail "13b does not fit: $(cat out)"
expect_code 1 train gpt --device sim:h200:devices=1 --model 7b --batch 1048576 --sequence 1048576
grep -q 'needs more than 1 EiB of memory, .*; batch 1 needs' out || fail "a model beyond all bounds: $(cat out)"
expect_code 1 train gpt --device sim:h200:devices=1 --model 7b --batch 1000000
grep -q '; batch 16 needs' out || fail "a large batch does not fit: $(cat out)"
expect_code 0 train gpt --layers 1 --sequence 16 --batch 1 --iterations 1 --energy
grep -q 'no energy: host:0 has no energy counter' out || fail "energy of a CPU: $(cat out)"
expect_code 1 train gpt --layers 1 --sequence 16 --recipe bf16
grep -q 'host:0 trains in fp32, not in bf16' out || fail "bf16 on a CPU: $(cat out)"

# Text.
cat > own.toml << 'END'
[[model]]
name = "own"
layers = 1
heads = 2
width = 16
ffn_width = 24
vocabulary = 300
batch = 2
sequence = 8
END

# Several devices.
expect_code 0 train gpt --model own.toml --iterations 1 --device host:2 --verbose \
  --parallel ddp --engine none,dma,kernel --json ddp.jsonl
grep -q '1 case: engine none communicates nothing' out || fail "does not tell the bound: $(cat out)"
grep -q 'train_communication:' out || fail "does not say what communication costs: $(cat out)"
[[ $(grep -c '"verified":true' ddp.jsonl) == 3 ]] || fail "a step is not verified: $(cat ddp.jsonl)"
expect_code 0 train gpt --model own.toml --iterations 1 --device host:2 \
  --parallel zero3 --engine none,dma --json zero3.jsonl
[[ $(grep -c '"verified":true' zero3.jsonl) == 1 ]] || fail "not verified: $(cat zero3.jsonl)"
grep -q 'parameters are not gathered' zero3.jsonl || fail "none is verified: $(cat zero3.jsonl)"
expect_code 0 train gpt --model own.toml --iterations 1 --device host:2 \
  --parallel zero3 --keep-gathered --engine dma --json kept.jsonl
[[ $(grep '"keep_gathered":"yes"' kept.jsonl | grep -c '"verified":true') == 1 ]] ||
  fail "not verified: $(cat kept.jsonl)"
expect_code 0 train gpt --model own.toml --iterations 1 --device host:2 \
  --parallel zero3 --late-sums --engine dma --json late.jsonl
[[ $(grep '"late_sums":"yes"' late.jsonl | grep -c '"verified":true') == 1 ]] ||
  fail "not verified: $(cat late.jsonl)"
expect_code 0 train gpt --model own.toml --iterations 1 --device host:2 --verbose \
  --parallel tp --engine none,dma,kernel --json tp.jsonl
[[ $(grep -c '"verified":true' tp.jsonl) == 2 ]] || fail "not verified: $(cat tp.jsonl)"
grep -q 'no rows are exchanged' tp.jsonl || fail "none is verified: $(cat tp.jsonl)"
grep -q 'train_communication:' out || fail "does not say what communication costs: $(cat out)"
for parallel in ddp zero3; do
  expect_code 0 train mlp --device sim:h200:devices=2 --parallel $parallel --engine dma --recipe bf16
done

for i in $(seq 300); do echo "line $i of a text"; done > text
run=(train gpt --model own.toml --data text)
refuses 'expected --steps COUNT' "${run[@]}"
refuses '--prompt: expected --generate COUNT' "${run[@]}" --steps 3 --prompt x
refuses '--generate: expected --data FILE, to train before, or --checkpoint' train gpt --generate 3
refuses '--generate 0: expected a whole number from 1' "${run[@]}" --steps 3 --generate 0
refuses '--temperature' "${run[@]}" --steps 3 --generate 3 --temperature -1
refuses 'expected --data FILE' train gpt --steps 3
refuses 'whole number from 1' "${run[@]}" --steps 0
refuses 'above 0' "${run[@]}" --steps 3 --learning-rate 0
refuses 'above 0' "${run[@]}" --steps 3 --clip none
refuses 'expected --checkpoint FILE' "${run[@]}" --steps 3 --checkpoint-every 1
refuses 'cannot be written' "${run[@]}" --steps 3 --checkpoint missing/file
refuses '--breakdown: expected without --data' "${run[@]}" --steps 3 --breakdown
refuses '--seconds: expected without --data' "${run[@]}" --steps 3 --seconds 1
refuses 'one model, batch, recipe and device' "${run[@]}" --steps 3 --batch 1,2
refuses 'expected one engine, not none' "${run[@]}" --steps 3 --device host:2 --parallel ddp --engine none
refuses '--accumulate: expected 1' "${run[@]}" --steps 3 --device host:2 --parallel zero3 \
  --accumulate 2
refuses '--generate: expected without --parallel tp' "${run[@]}" --steps 3 --device host:2 \
  --parallel tp --generate 3
refuses 'simulated devices do not train' "${run[@]}" --steps 3 --device sim:h200:devices=1
refuses 'expected at least 5001 in each part' "${run[@]}" --steps 3 --sequence 5000
: > empty
refuses 'empty: is empty' train gpt --model own.toml --data empty --steps 3

expect_code 0 "${run[@]}" --steps 2000 --checkpoint whole --json whole.jsonl
grep -q '"curves":{"loss":\[' whole.jsonl || fail "no losses: $(cut -c 1-300 whole.jsonl)"
grep -qE '^step 2000 of 2000: loss [0-2]\.[0-9]+, evaluation loss [0-2]\.' err || fail "did not learn: $(cat err)"
grep -qE '^  loss [0-9.]+ in step 1, [0-2]\.[0-9]+ in step 2000; [0-2]\.[0-9]+ on the part for evaluation' out ||
  fail "the result has no loss: $(cat out)"

# What the model says, after training and from its checkpoint.
says=(--generate 60 --prompt 'line 1')
expect_code 0 "${run[@]}" --steps 2000 --checkpoint says "${says[@]}"
tail -n 5 out | grep -q '^line 1' || fail "--generate after training: $(cat out)"
cp out trained
expect_code 0 train gpt --model own.toml --checkpoint says "${says[@]}"
[[ $(wc -c < out) -ge 68 ]] || fail "--generate 60 behind 'line 1': $(cat out)"
tail -n "$(wc -l < out)" trained | diff - out || fail "--generate from a checkpoint says something else"
refuses "its FFN width is '24': expected 512" train gpt --checkpoint says --sequence 8 "${says[@]}"
refuses '--json: expected without --generate' train gpt --model own.toml --checkpoint says "${says[@]}" --json x
refuses '--steps: expected --data FILE' train gpt --model own.toml --checkpoint says "${says[@]}" --steps 3

# On a CPU the defaults are a model and a run that it can do.
expect_code 0 train gpt --iterations 1
grep -q ', model tiny, ' out || fail "the default model of a CPU: $(cat out)"
expect_code 0 train gpt --data text --list
grep -q ' steps 600 ' out || fail "the default steps of tiny: $(cat out)"
mkfifo messages
"$duet" "${run[@]}" --steps 2000 --checkpoint parts > out 2> messages &
process=$!
code=0
{
  # Without another process in between: on a busy machine that one could start after the last step.
  while read -r line; do
    echo "$line"
    [[ $line != 'step 1 of'* ]] || kill -INT "$process"
  done > err
} < messages
wait "$process" || code=$?
[[ $code == 1 ]] || fail "an interrupted run: exit $code: $(cat err)"
grep -q 'resume with: .* --resume$' err || fail "says not how to go on: $(cat err)"
[[ -s parts ]] || fail "no checkpoint of an interrupted run"
cmp -s whole parts && fail "the run was not interrupted"
expect_code 0 "${run[@]}" --steps 2000 --checkpoint parts --resume --quiet
cmp whole parts || fail "the resumed run has other bits"

refuses 'holds step 2000' "${run[@]}" --steps 2000 --checkpoint parts --resume
refuses 'whole: exists: expected --resume' "${run[@]}" --steps 2001 --checkpoint whole
refuses 'text: exists: expected --resume' "${run[@]}" --steps 3 --checkpoint text
expect_code 0 "${run[@]}" --steps 20 --checkpoint longer
expect_code 0 "${run[@]}" --steps 40 --checkpoint longer --resume
refuses "its warm-up steps is '2': expected 4" "${run[@]}" --steps 60 --warm-up-steps 4 --checkpoint longer --resume
refuses "its seed is '1': expected 2" "${run[@]}" --steps 2001 --checkpoint parts --resume --seed 2
head -c 5000 whole > damaged
refuses 'damaged: ' "${run[@]}" --steps 2001 --checkpoint damaged --resume
expect_code 1 "${run[@]}" --steps 20 --clip off --learning-rate 1e38 --checkpoint ruined
grep -qE 'step [0-9]+: the loss is' out || fail "a loss that is not finite: $(cat out)"
[[ ! -e ruined ]] || fail "a failed run has left a checkpoint"
finish
