#!/usr/bin/env bash
# Checks a Debian package: lintian, then an installation over this machine's files in an overlay of its own, which goes when the
# script ends: the unit, the user, the command, the configuration, the man page, and the removal.
#
#     Scripts/check-deb.sh PACKAGE
set -euo pipefail

package=$(realpath "$1")
[[ $(dpkg-deb --contents "$package" | sed -n 1p) == drwxr-xr-x*' ./' ]]
lintian --fail-on error,warning --allow-root "$package"
exec unshare --mount bash -euo pipefail -s "$package" <<'INSIDE'
package=$1
stage=$(mktemp -d)
mount -t tmpfs routerd-deb "$stage"
mkdir "$stage"/{upper,work,system}
mount -t overlay overlay -o "lowerdir=/,upperdir=$stage/upper,workdir=$stage/work" "$stage/system"
mount --bind /proc "$stage/system/proc"
mount --bind /dev "$stage/system/dev"
cp "$package" "$stage/system/routerd.deb"
chroot "$stage/system" bash -euo pipefail -s <<'ROOT'
dpkg --install /routerd.deb
systemd-analyze verify routerd.service routerd.socket
getent passwd routerd
[[ $(stat -c '%a %G' /etc/routerd/routerd.yaml) == '640 routerd' ]]
install -d -o routerd -g routerd -m 700 /var/lib/routerd
setpriv --reuid routerd --regid routerd --init-groups routerd check --config /etc/routerd/routerd.yaml
setpriv --reuid routerd --regid routerd --init-groups \
    routerd database init --config /etc/routerd/routerd.yaml --database /var/lib/routerd/routerd.sqlite
zgrep -q '^.TH ROUTERD 1' /usr/share/man/man1/routerd.1.gz
dpkg --purge routerd
[[ ! -e /usr/bin/routerd && ! -e /etc/routerd/routerd.yaml && -e /var/lib/routerd/routerd.sqlite ]]
ROOT
echo "the package installs, checks and goes"
INSIDE
