#!/bin/sh
# Installs what the jobs of Table 2 need and this machine lacks: Java and the tools of nodes, as root
# on Debian, and in .venv PySpark (half a gigabyte) and joblibspark, by which sweeps run on it. Names
# what cannot be installed. It never fails.
set -u
PATH="$PATH:/usr/sbin:/sbin"
python=.venv/bin/python
have() { command -v "$1" >/dev/null 2>&1; }
has_spark() { "$python" -c 'import joblibspark, pyspark' 2>/dev/null; }

# Debian's packages whose programs are not there.
lacks() {
    have java || printf ' openjdk-17-jre-headless'
    have ip || printf ' iproute2'
    have mkfs.ext4 || printf ' e2fsprogs'
    have losetup || printf ' mount'
}

if [ -n "$(lacks)" ] && [ "$(id -u)" = 0 ] && have apt-get; then
    apt-get -qq update
    # shellcheck disable=SC2046 # a list of packages
    DEBIAN_FRONTEND=noninteractive \
        apt-get -qq install -y --no-install-recommends $(lacks) >/dev/null
fi
has_spark || "$python" -m pip install -q --disable-pip-version-check -r requirements-spark.lock

missing=$(lacks)
has_spark || missing="$missing pyspark, joblibspark"
[ -z "$missing" ] || echo "not installed:$missing; jobs on Spark are left out" >&2
exit 0
