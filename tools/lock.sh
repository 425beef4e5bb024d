#!/bin/sh
# Resolves pyproject.toml for Python 3.11 to 3.13 and writes the locks: versions and hashes, no address.
set -eu
cd "$(dirname "$0")/.."

compile() {
    .venv/bin/uv pip compile pyproject.toml "$@" --upgrade --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet >/dev/null
}

compile --extra demo --group dev -o requirements/dev.txt
compile --extra worker -c requirements/dev.txt -o requirements/worker.txt
compile --extra demo --group dev --group bench -c requirements/dev.txt -o requirements/bench.txt
if grep -n '://' requirements/*.txt; then
    echo "lock: an address got in"
    exit 1
fi
