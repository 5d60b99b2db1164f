#!/usr/bin/env bash
# Installs the system packages that are missing, and those named as arguments. Says nothing and does nothing where all of them are there.
set -euo pipefail

needed=(libcurl4-openssl-dev libsqlite3-dev openssl python3 strace "$@")
missing=()
for package in "${needed[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done

if ((${#missing[@]} > 0)); then
    echo "installing: ${missing[*]}"
    as_root=()
    ((EUID == 0)) || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

command -v swift >/dev/null || {
    echo "a Swift 6.3 toolchain is needed: https://www.swift.org/install/linux/" >&2
    exit 1
}
