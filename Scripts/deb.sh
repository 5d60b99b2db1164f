#!/usr/bin/env bash
# Makes a Debian package of a binary: the unit, the user, a sample configuration, the man page, completions.
#
#     Scripts/deb.sh BINARY FOLDER
set -euo pipefail

binary=$1
folder=$2
root=$(cd "$(dirname "$0")/.." && pwd)
version=$("$binary" --version)
architecture=$(dpkg --print-architecture)
stage=$(mktemp -d)
# The folder is ./ in the package, which every user may read.
chmod 755 "$stage"
trap 'rm -rf "$stage"' EXIT

put() { install -D -m "$1" "$2" "$stage/$3"; }

install -D -m 755 -s "$binary" "$stage/usr/bin/routerd"
put 644 "$root/Packaging/routerd.service" lib/systemd/system/routerd.service
put 644 "$root/Packaging/routerd.socket" lib/systemd/system/routerd.socket
put 644 "$root/Packaging/sysusers.conf" usr/lib/sysusers.d/routerd.conf
put 640 "$root/routerd.yaml" etc/routerd/routerd.yaml
put 644 "$root/LICENSE" usr/share/doc/routerd/copyright
for place in bash:bash-completion/completions/routerd zsh:zsh/vendor-completions/_routerd \
    fish:fish/vendor_completions.d/routerd.fish; do
    file=$stage/usr/share/${place#*:}
    mkdir -p "$(dirname "$file")"
    # A completion is read by a shell and is no program of its own.
    "$binary" --generate-completion-script "${place%%:*}" | sed '1{/^#!/d}' >"$file"
done
mkdir -p "$stage/usr/share/man/man1" "$stage/DEBIAN" "$folder"
python3 "$root/Scripts/man.py" "$binary" | gzip -9n >"$stage/usr/share/man/man1/routerd.1.gz"
maintainer='routerd maintainers <maintainers@routerd.invalid>'
gzip -9n >"$stage/usr/share/doc/routerd/changelog.gz" <<CHANGES
routerd ($version) unstable; urgency=medium

  * The changes are in CHANGELOG.md.gz beside this file.

 -- $maintainer  $(date -R -r "$root/CHANGELOG.md")
CHANGES
gzip -9nc "$root/CHANGELOG.md" >"$stage/usr/share/doc/routerd/CHANGELOG.md.gz"
put 644 "$root/Packaging/lintian-overrides" usr/share/lintian/overrides/routerd

cat >"$stage/DEBIAN/control" <<CONTROL
Package: routerd
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk "$stage" | cut -f1)
Depends: libc6, libcurl4, libsqlite3-0, libstdc++6, ca-certificates
Section: net
Priority: optional
Description: router of notifications to scene sessions
 Takes push-like payloads that name a content, finds the one registered scene
 session that can, or better prefers to, show it, commits that decision, and
 brings the payload there as a signed webhook.
CONTROL
echo /etc/routerd/routerd.yaml >"$stage/DEBIAN/conffiles"
cat >"$stage/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    if command -v systemd-sysusers >/dev/null; then
        systemd-sysusers routerd.conf || true
    elif ! getent passwd routerd >/dev/null; then
        useradd --system --user-group --home-dir /var/lib/routerd --shell /usr/sbin/nologin routerd
    fi
    if getent group routerd >/dev/null; then chgrp routerd /etc/routerd/routerd.yaml; fi
    if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
fi
SCRIPT
cat >"$stage/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ -d /run/systemd/system ] && [ "$1" = remove ]; then systemctl stop routerd.socket routerd.service || true; fi
SCRIPT
chmod 755 "$stage/DEBIAN/postinst" "$stage/DEBIAN/prerm"
dpkg-deb --root-owner-group --build "$stage" "$folder/routerd_${version}_$architecture.deb"
