#!/usr/bin/env bash
# How near a sweep of `duet halo` on this CPU comes to a plain copy with non-temporal stores by all cores:
# both in the same minute, in GB/s of bytes read plus written. Exit 1 below 0.8 of the copy peak.
#   bench/halo_beside_copy.sh DUET [COLUMNS]     default 8192
set -euo pipefail
duet=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$duet" halo --device host:1 --nx "${2:-8192}" --engine dma --overlap no --seconds 1 --json "$folder/halo.jsonl" --quiet
python3 - "$folder" <<'END'
import json, sys
rate = lambda benchmark: max(
    r["rates"]["gb_per_s"] for r in map(json.loads, open(f"{sys.argv[1]}/halo.jsonl"))
    if r.get("benchmark") == benchmark)
peak, sweep = rate("copy_peak"), rate("halo")
print(f"copy peak {peak:.1f} GB/s, sweep {sweep:.1f} GB/s: {sweep / peak:.2f}")
sys.exit(sweep < 0.8 * peak)
END
