#!/bin/sh
# Installs the programs that tests use and that this machine lacks, as root on Debian. Elsewhere, and for
# what cannot be installed, it names them: the tests that need them are skipped by name. It never fails.
set -u
PATH="${CARGO_HOME:-${HOME:-}/.cargo}/bin:$PATH:/usr/sbin:/sbin"
fsx_version=0.3.2

have() { command -v "$1" >/dev/null 2>&1; }

# Debian's packages whose programs are not there.
lacks() {
    while read -r package program; do
        have "$program" || printf ' %s' "$package"
    done <<END
chromium chromium
nbdkit nbdkit
libnbd-bin nbdfuse
python3-libnbd nbdsh
qemu-utils qemu-img
fio fio
blktrace blkparse
fuse3 fusermount3
openssl openssl
curl curl
cmake cmake
END
}

install() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null
}

if [ "$(id -u)" = 0 ] && have apt-get; then
    if [ -n "$(lacks)" ]; then
        apt-get -qq update
        # shellcheck disable=SC2046 # a list of packages
        install $(lacks) ||
            # Not all of them can be had: install those that can.
            for package in $(lacks); do install "$package"; done
    fi
    # Not optimized: so it is built in a minute.
    have fsx ||
        CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off \
            cargo install --quiet --locked --version "$fsx_version" fsx
fi

# Crates without the standard library are built for a target that has none.
bare=x86_64-unknown-none
has_bare() { rustup target list --installed 2>/dev/null | grep -qx "$bare"; }
has_bare || rustup --quiet target add "$bare" 2>/dev/null

missing=$(lacks)
has_bare || missing="$missing rustup-target-$bare"
have fsx || missing="$missing fsx"
[ -z "$missing" ] || echo "not installed:$missing; tests that need one are skipped by name" >&2
exit 0
