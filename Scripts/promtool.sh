#!/usr/bin/env bash
# Prints the path of promtool. Where there is none, it is taken out of Debian's package `prometheus`, whose server is not installed.
set -euo pipefail

command -v promtool && exit
folder=$(cd "$(dirname "$0")/.." && pwd)/.build/promtool
if [[ ! -x $folder/usr/bin/promtool ]]; then
    mkdir -p "$folder"
    cd "$folder"
    if ! apt-get download -qq prometheus >&2; then
        as_root=()
        ((EUID == 0)) || as_root=(sudo)
        "${as_root[@]}" apt-get update -qq >&2
        apt-get download -qq prometheus >&2
    fi
    dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
    rm prometheus_*.deb
fi
echo "$folder/usr/bin/promtool"
