#!/usr/bin/env bash
# Installs the binary, stripped, and the completions of bash, zsh and fish under a prefix; --remove takes them away again.
#
#     Scripts/install.sh BINARY PREFIX
#     Scripts/install.sh --remove PREFIX
set -euo pipefail

prefix=$2
files=(
    "$prefix/bin/routerd"
    "$prefix/share/bash-completion/completions/routerd"
    "$prefix/share/zsh/site-functions/_routerd"
    "$prefix/share/fish/vendor_completions.d/routerd.fish"
)

if [[ $1 == --remove ]]; then
    rm -f "${files[@]}"
    echo "removed routerd from $prefix"
    exit
fi

binary=$1
for file in "${files[@]}"; do mkdir -p "$(dirname "$file")"; done
# A running daemon keeps the file that it was started from.
install -m 755 -s "$binary" "${files[0]}.new"
mv "${files[0]}.new" "${files[0]}"
for place in 1:bash 2:zsh 3:fish; do
    "${files[0]}" --generate-completion-script "${place#*:}" >"${files[${place%%:*}]}"
done
echo "installed ${files[0]} ($(($(stat -c %s "${files[0]}") / 1000000)) MB) and the completions of bash, zsh and fish"
