#!/bin/sh
# Installs what the build needs and the machine lacks; where it may not, says what to install.
set -eu
PATH="${CARGO_HOME:-${HOME:-}/.cargo}/bin:$PATH"
missing=""
have() { command -v "$1" >/dev/null 2>&1; }
have cc || missing="$missing gcc libc6-dev"
have python3 || missing="$missing python3"
python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
have cargo || missing="$missing rustup"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && have apt-get; then
    apt-get -qq update
    # shellcheck disable=SC2086  # a list of packages
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing && exit 0
fi
echo "error: missing on this machine:$missing" >&2
echo "  try: install them with the system's packages (rustup also from https://rustup.rs)" >&2
exit 1
