#!/bin/sh
# Installs Java, Maven and redis-server, which the tests on real servers need, where that is allowed: as root, with
# apt-get. Never fails: without them those tests are skipped with the reason (with CI=true they fail).
set -u
wanted=
java -version >/dev/null 2>&1 || wanted="$wanted default-jre-headless"
[ -n "$(ls -d .cache/kafka/[0-9]* 2>/dev/null)" ] || command -v mvn >/dev/null || wanted="$wanted maven"
command -v redis-server >/dev/null || wanted="$wanted redis-server"
[ -n "$wanted" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "not installed:$wanted; tests that need them are skipped"
    exit 0
fi
echo "installing:$wanted"
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 # 1: the package starts no service
apt-get install -y -qq --no-install-recommends $wanted >/dev/null 2>&1 ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $wanted >/dev/null; } ||
    echo "apt-get could not install them; tests that need them are skipped"
exit 0
