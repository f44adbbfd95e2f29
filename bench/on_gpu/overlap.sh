# Compute and communication together; and a whole node at once. Sourced by on_gpu.sh.

overlap() {
  find_nccl
  local scenarios=${SCENARIOS:-paper}
  say "overlap: $scenarios"
  must timeout "${LIMIT:-580}" "$duet" overlap "$scenarios" --device cuda \
    --json "$out/$(basename "${scenarios//,/_}" .toml).jsonl" ${OVERLAP_OPTIONS:---units 8,32}
}

# Each of its parts fits into ten minutes on eight GPUs; PARTS names some.
node() {
  find_nccl
  local part
  for part in ${PARTS:-pairs collectives large overlap}; do
    case $part in
      pairs)
        say "copies: one way, both ways, every pair, all at once"
        must timeout "${LIMIT:-400}" "$duet" copy --device cuda --kind peer --seconds 0.05 \
          --json "$out/copy.jsonl"
        ;;
      collectives)
        COLLECTIVES=${COLLECTIVES:-all_gather all_to_all reduce_scatter all_reduce} collectives
        ;;
      large)
        say "collectives of 13 GiB"
        must timeout "${LIMIT:-250}" "$duet" collective all_gather,all_to_all,reduce_scatter,all_reduce \
          --device cuda --engine nccl,nccl-window,nccl-zero-cta,dma,auto -d bfloat16 -b 13G -e 13G \
          --seconds 0.3 --json "$out/13GiB.jsonl"
        ;;
      overlap)
        OVERLAP_OPTIONS=${OVERLAP_OPTIONS:---policy base,priority,zero-cta,dma,dma+partition --units 8} overlap
        ;;
    esac
  done
}

advise() {
  find_nccl
  export DUET_ADVICE=$out/advice.json
  say "the advisor's table"
  must timeout "${LIMIT:-300}" "$duet" advise --measure --device cuda --json "$out/advise.jsonl" \
    --collectives "${COLLECTIVES:-all_gather,all_to_all}"
  must "$duet" advise --table "$out/advise.jsonl" \
    --score "${JOURNAL:-docs/results/h200-4/overlap/paper.jsonl}"
  say "the isolated picture"
  must timeout "${LIMIT:-300}" "$duet" overlap paper --isolated --device cuda --json "$out/isolated.jsonl"
}
