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

# criu_unpacked ARGUMENTS…: runs the one below CRIU_DIR, with its own loader and libraries.
criu_unpacked()
{
    local loader libraries

    loader=$(compgen -G "$CRIU_DIR/usr/lib*/ld-linux*" | head -n 1) || return 1
    libraries=$(compgen -G "$CRIU_DIR/usr/lib/*-linux-gnu*" | head -n 1) || return 1
    "$loader" --library-path "$libraries:$CRIU_DIR/usr/lib" "$CRIU_DIR/usr/sbin/criu" "$@"
}

# criu_works: the one unpacked is new enough; its version is kept for sandlot-incus, which is asked often.
criu_works()
{
    rm -f "$CRIU_DIR/version"
    criu_new_enough criu_unpacked || return 1
    criu_unpacked --version >"$CRIU_DIR/version.new"
    mv "$CRIU_DIR/version.new" "$CRIU_DIR/version"
}

criu_fetch_locked()
{
    local release work=$CACHE_DIR/criu-packages

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

# criu_ensure: sets CRIU_FOUND, and CRIU_OF_MACHINE where the machine's own will do; both are empty where
# no CRIU can be had.
criu_ensure()
{
    local version

    CRIU_FOUND=yes
    if CRIU_OF_MACHINE=$(criu_of_machine); then
        version=$(criu_version "$CRIU_OF_MACHINE")
    elif with_lock criu criu_fetch_locked; then
        version=$(criu_version criu_unpacked)
    else
        CRIU_FOUND=
        note "cannot get CRIU $CRIU_MINIMUM or newer: pauses will keep the disk only"
        return 0
    fi
    echo "CRIU $version"
}
