#!/bin/sh
# Makes a Debian or Ubuntu root file system into the base of both images. Runs as root inside that root.
# Arguments: the packages that have to be there; only missing ones are installed, and only that needs a network.
# SOURCE_DATE_EPOCH: the time given to every file that is changed here, so that the same packages give the same layer.
set -eu
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
started=$(mktemp)

missing=
for package in "$@"; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
if [ -n "$missing" ]; then
    apt-get -q update
    # shellcheck disable=SC2086  # one word a package
    apt-get -q -y --no-install-recommends install $missing
fi

# Byte code that is never checked against its source: the root is read-only and times in it are changed, so
# any other kind would be compiled again at each start.
find / -xdev -type d -name __pycache__ -prune -exec rm -rf {} +
clean_python() {
    # Neither the caller's variables nor the order of hashes may show in the result.
    env -i PATH="$PATH" LC_ALL=C PYTHONHASHSEED=0 python3 -B "$@"
}
if command -v python3 >/dev/null; then
    clean_python -c 'import os, sys; print(*filter(os.path.isdir, sys.path), sep="\n")' | while read -r folder; do
        # Some files of the library are syntax errors on purpose.
        clean_python -m compileall -q -f --invalidation-mode unchecked-hash "$folder" >/dev/null || true
    done
fi

# Leftovers of installing, and files that differ from one machine to the next.
rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/cache/ldconfig/* /var/lib/dpkg/*-old \
    /var/log/* /var/tmp/* /root/.cache /etc/machine-id /etc/.pwd.lock /etc/apt/sources.list /etc/apt/sources.list.d/* \
    /etc/passwd- /etc/group- /etc/shadow- /etc/gshadow- /etc/subuid- /etc/subgid-
# The host's own; in a build they are mounts that cannot be removed, and are not part of the image.
rm -f /etc/hostname /etc/resolv.conf 2>/dev/null || true

# Nobody becomes somebody else, and nobody writes outside the mounts. /tmp alone stays open: the memory file system
# that is mounted there takes its mode from the folder below it.
find / -xdev \( -type f -o -type d \) -perm /6000 -exec chmod a-s {} +
find / -xdev \( -type f -o -type d \) -perm -0002 ! -path /tmp -exec chmod o-w {} +

find / -xdev -newer "$started" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} + 2>/dev/null || true
rm -rf /tmp/*
touch -d "@$SOURCE_DATE_EPOCH" /tmp
