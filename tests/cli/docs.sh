#!/usr/bin/env bash
# docs/cli.md is what `duet docs` prints. To renew it: build/duet docs > docs/cli.md
set -euo pipefail
diff --unified "$(dirname "$0")/../../docs/cli.md" <("$1" docs)
