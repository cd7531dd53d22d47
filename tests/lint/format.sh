#!/bin/bash
# Every C file is as clang-format 14 writes it (fix: clang-format-14 -i FILE).
set -euo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "${BASH_SOURCE[0]}")/files.sh"

hk_files '*.c' '*.h' | xargs -0 clang-format-14 --dry-run -Werror
