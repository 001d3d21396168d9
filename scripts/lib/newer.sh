# SPDX-License-Identifier: GPL-2.0-or-later
# Programs of a newer Debian release, unpacked into a directory of ours with the libraries they need:
# the machine's package database knows nothing of them.
# shellcheck shell=bash

# newer_download RELEASE DIRECTORY PACKAGE…: them and what they link against, as package files.
newer_download()
{
    local release=$1 directory=$2

    shift 2
    rm -rf "$directory"
    packages_options "$directory"
    packages_source "$(packages_base_mirror)" "$release" >"$directory/debian.sources"
    : >"$directory/status"
    # An empty status file: apt fetches the whole set, libc included. A mirror may be behind
    # the days for which a moving release is valid; its signature is checked all the same.
    APT_OPTIONS+=(-o "Dir::State::status=$directory/status" -o APT::Get::List-Cleanup=false
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=-
        -o "Dir::State::extended_states=$directory/extended" -o Acquire::Check-Valid-Until=false)
    apt-get "${APT_OPTIONS[@]}" -o APT::Update::Error-Mode=any update &&
        apt-get "${APT_OPTIONS[@]}" -y --no-install-recommends --download-only \
            -o APT::Keep-Downloaded-Packages=true install "$@"
}

# newer_unpack PACKAGES DIRECTORY TAR-OPTION…: the files of all packages, side by side.
newer_unpack()
{
    local packages=$1 directory=$2 package

    shift 2
    rm -rf "$directory"
    mkdir -p "$directory"
    for package in "$packages"/cache/archives/*.deb; do
        dpkg-deb --show "$package" >>"$directory/PACKAGES"
        # Through tar, because dpkg-deb -x would replace the links of a merged /usr.
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$directory" --keep-directory-symlink \
            --exclude=./etc --exclude=./var "$@"
    done
}
