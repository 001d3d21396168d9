# SPDX-License-Identifier: GPL-2.0-or-later
# CRIU, without which a pause keeps the disk only: version 4.2 or newer, because older
# ones cannot dump a socket on kernels from 6.16 on.
#
# The machine's own is used when it is new enough; otherwise one is unpacked from a newer
# Debian release into a directory of ours, with its libraries, and the machine's package
# database knows nothing of it.
# shellcheck shell=bash

CRIU_MINIMUM=4.2
CRIU_RELEASES='forky sid'
CRIU_DIR=$SHARED_DIR/criu
CRIU_BIN=$SHARED_DIR/bin

# criu_version COMMAND: prints its version.
criu_version()
{
    "$1" --version 2>/dev/null | awk '/^Version:/ { print $2; exit }'
}

criu_new_enough()
{
    local version

    version=$(criu_version "$1") || return 1
    [[ -n $version ]] && dpkg --compare-versions "$version" ge "$CRIU_MINIMUM"
}

# criu_of_machine: prints the path of the machine's own CRIU when it will do.
criu_of_machine()
{
    local path

    path=$(command -v criu) || return 1
    criu_new_enough "$path" || return 1
    printf '%s' "$path"
}

# criu_check PACKAGES: that all of them are pinned ones, or signed ones of a newer version.
criu_check()
{
    local package newer=0 name version architecture

    for package in "$1"/cache/archives/*.deb; do
        # shellcheck disable=SC2016 # dpkg's own variables
        read -r name version architecture < <(dpkg-deb --show \
            --showformat '${Package} ${Version} ${Architecture}\n' "$package")
        pinned_check criu "$name" "$version" "$architecture" "$package" || newer=$((newer + 1))
    done
    [[ $newer -eq 0 ]] ||
        note "$newer of CRIU's packages are newer than scripts/packages/criu.pinned, checked by the archive's" \
            "signature alone"
}

# criu_wrapper: where the scripts are installed the wrapper is there already.
criu_wrapper()
{
    mkdir -p "$CRIU_BIN"
    if [[ -f $SOURCE_DIR/conf/incus/criu-wrapper ]]; then
        install -m 755 "$SOURCE_DIR/conf/incus/criu-wrapper" "$CRIU_BIN/criu"
    fi
}

# criu_works: the one unpacked is new enough; what it says of itself is kept for the wrapper.
criu_works()
{
    rm -f "$CRIU_DIR/version"
    criu_new_enough "$CRIU_BIN/criu" || return 1
    "$CRIU_BIN/criu" --version >"$CRIU_DIR/version.new"
    mv "$CRIU_DIR/version.new" "$CRIU_DIR/version"
}

criu_fetch_locked()
{
    local release work=$CACHE_DIR/criu-packages

    criu_wrapper
    if criu_works; then
        return 0
    fi
    for release in $CRIU_RELEASES; do
        if newer_download "$release" "$work" criu; then
            criu_check "$work"
            newer_unpack "$work" "$CRIU_DIR.new" --exclude=./usr/share
            rm -rf "$CRIU_DIR" "$work"
            mv "$CRIU_DIR.new" "$CRIU_DIR"
            criu_works && return 0
        fi
        rm -rf "$work"
    done
    return 1
}

# criu_ensure: sets CRIU_PATH, the directory that comes first in incusd's PATH, and
# CRIU_OF_MACHINE; both are empty where no CRIU can be had.
criu_ensure()
{
    CRIU_PATH=
    CRIU_OF_MACHINE=
    if CRIU_OF_MACHINE=$(criu_of_machine); then
        criu_wrapper
        CRIU_PATH=$CRIU_BIN
    elif with_lock criu criu_fetch_locked; then
        CRIU_PATH=$CRIU_BIN
    else
        note "no CRIU >= $CRIU_MINIMUM to be had: a pause will keep the disk only"
        return 0
    fi
    echo "CRIU $(SANDLOT_CRIU=$CRIU_OF_MACHINE criu_version "$CRIU_BIN/criu")"
}
