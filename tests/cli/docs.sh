#!/usr/bin/env bash
# docs/cli.md is what `duet docs` prints, and docs/journal.schema.json what `duet docs schema` prints.
# To renew them: build/duet docs > docs/cli.md; build/duet docs schema > docs/journal.schema.json
set -euo pipefail
diff --unified "$(dirname "$0")/../../docs/cli.md" <("$1" docs)
diff --unified "$(dirname "$0")/../../docs/journal.schema.json" <("$1" docs schema)
