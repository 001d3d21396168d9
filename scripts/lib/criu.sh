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

# criu_download RELEASE DIRECTORY: CRIU and what it links against, as package files.
criu_download()
{
    rm -rf "$2"
    packages_options "$2"
    packages_source "$(packages_base_mirror)" "$1" >"$2/debian.sources"
    : >"$2/status"
    # An empty status file: apt fetches the whole set, libc included. A mirror may be behind
    # the days for which a moving release is valid; its signature is checked all the same.
    APT_OPTIONS+=(-o "Dir::State::status=$2/status" -o APT::Get::List-Cleanup=false
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=-
        -o "Dir::State::extended_states=$2/extended" -o Acquire::Check-Valid-Until=false)
    apt-get "${APT_OPTIONS[@]}" -o APT::Update::Error-Mode=any update &&
        apt-get "${APT_OPTIONS[@]}" -y --no-install-recommends --download-only \
            -o APT::Keep-Downloaded-Packages=true install criu
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

# criu_unpack PACKAGES DIRECTORY: the files of all packages, side by side.
criu_unpack()
{
    local package

    rm -rf "$2"
    mkdir -p "$2"
    for package in "$1"/cache/archives/*.deb; do
        # Through tar, because dpkg-deb -x would replace the links of a merged /usr.
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$2" --keep-directory-symlink \
            --exclude=./usr/share --exclude=./etc --exclude=./var
    done
}

criu_fetch_locked()
{
    local release work=$CACHE_DIR/criu-packages

    mkdir -p "$CRIU_BIN"
    install -m 755 "$SOURCE_DIR/conf/incus/criu-wrapper" "$CRIU_BIN/criu"
    if criu_new_enough "$CRIU_BIN/criu"; then
        return 0
    fi
    for release in $CRIU_RELEASES; do
        if criu_download "$release" "$work"; then
            criu_check "$work"
            criu_unpack "$work" "$CRIU_DIR.new"
            rm -rf "$CRIU_DIR" "$work"
            mv "$CRIU_DIR.new" "$CRIU_DIR"
            criu_new_enough "$CRIU_BIN/criu" && return 0
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
    mkdir -p "$CRIU_BIN"
    if CRIU_OF_MACHINE=$(criu_of_machine); then
        install -m 755 "$SOURCE_DIR/conf/incus/criu-wrapper" "$CRIU_BIN/criu"
        CRIU_PATH=$CRIU_BIN
    elif with_lock criu criu_fetch_locked; then
        CRIU_PATH=$CRIU_BIN
    else
        note "no CRIU >= $CRIU_MINIMUM to be had: a pause will keep the disk only"
        return 0
    fi
    echo "CRIU $(SANDLOT_CRIU=$CRIU_OF_MACHINE criu_version "$CRIU_BIN/criu")"
}
