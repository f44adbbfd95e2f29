#!/usr/bin/env bash
# Installs what checks.mjs needs into FOLDER, once, and runs it: deploy.sh ROOT PROGRAM FOLDER.
set -euo pipefail
root=$1 program=$2 folder=$3
here=$(dirname "$0")
if ! cmp -s "$here/package-lock.json" "$folder/package-lock.json" || [[ ! -e $folder/installed ]]; then
  mkdir -p "$folder"
  cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$folder"
  (cd "$folder" && npm ci --ignore-scripts --loglevel=error) || { echo "skipped: npm ci failed"; exit 77; }
  touch "$folder/installed"
fi
exec node "$here/checks.mjs" "$root" "$program" "$folder/node_modules"
