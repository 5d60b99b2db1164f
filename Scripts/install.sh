#!/usr/bin/env bash
# Installs the binary, stripped, with its unit, its user, a sample configuration, its man page and the completions of bash, zsh and
# fish under a prefix; --remove takes them away again.
#
#     Scripts/install.sh BINARY FOLDER [PREFIX]
#     Scripts/install.sh --remove FOLDER
#
# PREFIX is the path of FOLDER on the machine that runs the daemon; left out, FOLDER itself.
set -euo pipefail

folder=$2
prefix=${3:-$folder}
root=$(cd "$(dirname "$0")/.." && pwd)
files=(
    "$folder/bin/routerd"
    "$folder/share/bash-completion/completions/routerd"
    "$folder/share/zsh/site-functions/_routerd"
    "$folder/share/fish/vendor_completions.d/routerd.fish"
    "$folder/lib/systemd/system/routerd.service"
    "$folder/lib/systemd/system/routerd.socket"
    "$folder/lib/sysusers.d/routerd.conf"
    "$folder/share/doc/routerd/routerd.yaml"
    "$folder/share/man/man1/routerd.1.gz"
)

if [[ $1 == --remove ]]; then
    rm -f "${files[@]}"
    if [[ -d $folder/share/doc/routerd ]]; then rmdir --ignore-fail-on-non-empty "$folder/share/doc/routerd"; fi
    echo "removed routerd from $folder"
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
sed "s|/usr/bin/routerd|$prefix/bin/routerd|" "$root/Packaging/routerd.service" >"${files[4]}"
install -m 644 "$root/Packaging/routerd.socket" "${files[5]}"
install -m 644 "$root/Packaging/sysusers.conf" "${files[6]}"
install -m 644 "$root/routerd.yaml" "${files[7]}"
python3 "$root/Scripts/man.py" "${files[0]}" | gzip -9n >"${files[8]}"
echo "installed ${files[0]} ($(($(stat -c %s "${files[0]}") / 1000000)) MB), its unit, a sample configuration, the man page and completions"
