#!/bin/bash
# Every shell script passes shellcheck, sourced files followed.
set -euo pipefail
# shellcheck source=tests/lint/files.sh
. "$(dirname "${BASH_SOURCE[0]}")/files.sh"

{
	hk_files '*.sh'
	printf '.ci/run\0'
} | xargs -0 shellcheck -x
