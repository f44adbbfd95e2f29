#!/usr/bin/env bash
# Runs a test where a device can be opened, and skips with the reason where not:
# on_device.sh DUET DEVICE PROGRAM [ARGUMENT...].
set -uo pipefail
duet=$1 device=$2
shift 2
if ! reason=$("$duet" info --device "$device" 2>&1 > /dev/null); then
  echo "skipped: ${reason#duet: }"
  exit 77
fi
exec "$@"
