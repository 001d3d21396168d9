# SPDX-License-Identifier: GPL-2.0-or-later
# A root of a Debian release in which packages are built, and the build in it.
# shellcheck shell=bash disable=SC2016

PACKAGING_CACHE=$CACHE_DIR/packaging

# packaging_lists: what the root is made of.
packaging_lists()
{
    packages_read build packaging | awk '{ print $1 }'
}

# packaging_sources RELEASE: lines for apt, from the machine's own mirror.
packaging_sources()
{
    local mirror

    mirror=$(packages_base_mirror)
    printf 'deb %s %s main\ndeb %s %s-updates main\n' "$mirror" "$1" "$mirror" "$1"
}

packaging_root_hash()
{
    {
        packaging_lists
        packaging_sources "$1"
        cat "$SCRIPTS_DIR"/packages/*.pinned "$SCRIPTS_DIR/build-microhttpd" \
            "$SCRIPTS_DIR/lib"/{packaging,packages,criu}.sh "$SCRIPTS_DIR/lib/microhttpd-pool.patch"
    } | sha256sum | cut -c 1-16
}

# within_root ROOT [unshare OPTION…] -- COMMAND…: with its own /proc and the machine's resolver.
within_root()
{
    local root=$1 options=()

    shift
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    unshare --mount --pid --fork --kill-child "${options[@]}" sh -euc '
        root=$1
        shift
        mount -t proc proc "$root/proc"
        for device in null zero full random urandom; do
            test -e "$root/dev/$device" || touch "$root/dev/$device"
            mount --bind "/dev/$device" "$root/dev/$device"
        done
        exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive SANDLOT_PINNED_ONLY="${SANDLOT_PINNED_ONLY:-}" "$@"' sh "$root" "$@"
}

# packaging_root RELEASE: sets nothing; the tree is PACKAGING_CACHE/RELEASE.tar, as long as it is of
# the present inputs. What Debian has too old, or not as a static library, is made in it.
packaging_root()
{
    local release=$1 file=$PACKAGING_CACHE/$1.tar stamp=$PACKAGING_CACHE/$1.hash work include hash

    hash=$(packaging_root_hash "$release")
    if [[ -s $file && -s $stamp && $(<"$stamp") == "$hash" ]]; then
        echo "the root is there"
        return 0
    fi
    mkdir -p "$PACKAGING_CACHE"
    work=$(mktemp -d "$PACKAGING_CACHE/work.XXXXXX")
    at_exit rm -rf "$work"
    packaging_sources "$release" >"$work/sources.list"
    include=$(packaging_lists | paste -sd ,)
    mmdebstrap --mode=root --variant=minbase --format=directory --include="$include" \
        --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
        --dpkgopt=force-unsafe-io "$release" "$work/root" "$work/sources.list" ||
        die "mmdebstrap could not make the root of $release"
    cp -L /etc/resolv.conf "$work/root/etc/resolv.conf"
    mkdir -p "$work/root/usr/src/sandlot"
    cp -R "$SCRIPTS_DIR" "$work/root/usr/src/sandlot/scripts"
    within_root "$work/root" -- /usr/src/sandlot/scripts/build-microhttpd ||
        die "the agent's HTTP library cannot be built in the root of $release"
    within_root "$work/root" -- /usr/src/sandlot/scripts/install-criu /usr/src/sandlot-criu ||
        die "no CRIU can be had in the root of $release"
    rm -rf "$work/root/usr/src/sandlot" "$work/root"/var/cache/apt/archives/*.deb
    tar --create --file "$file.new" --directory "$work/root" --numeric-owner .
    mv "$file.new" "$file"
    printf '%s\n' "$hash" >"$stamp"
    rm -rf "$work"
}

# packaging_unpack RELEASE: sets ROOT, which goes when this program ends.
packaging_unpack()
{
    ROOT=$(mktemp -d "$PACKAGING_CACHE/build.XXXXXX")
    at_exit rm -rf "$ROOT"
    tar --extract --file "$PACKAGING_CACHE/$1.tar" --directory "$ROOT" --numeric-owner --exclude='./dev/*'
}

# packaging_template RELEASE: where debian/rules finds the tree of the default template.
packaging_template()
{
    local tree place=$ROOT/usr/src/sandlot-template

    # bash clears -e in a command substitution.
    tree=$(set -e; with_lock template template_package_make "$1")
    mkdir -p "$place"
    cp --reflink=auto "$tree" "$place/rootfs.tar"
    template_package_key "$1" >"$place/key"
}

# packaging_build RELEASE TARBALL VERSION OUTPUT: no network, and another version if one is given.
packaging_build()
{
    local version=$3 tree

    packaging_unpack "$1"
    mkdir -p "$ROOT/build"
    tar --extract --file "$2" --directory "$ROOT/build" --no-same-owner
    tree=$(find "$ROOT/build" -mindepth 1 -maxdepth 1 -type d)
    [[ -f $tree/debian/control ]] || die "$2 has no debian/control"
    if [[ -n $version ]]; then
        sed -i "1s/(.*)/($version)/" "$tree/debian/changelog"
    fi
    packaging_template "$1"
    within_root "$ROOT" --net -- sh -euc "cd '/build/${tree##*/}' &&
        DEB_BUILD_OPTIONS='nocheck noautodbgsym parallel=$(nproc)' dpkg-buildpackage -b -uc -us" ||
        die "the packages could not be built"
    rm -f "$4"/*.deb "$4"/*.changes "$4"/*.buildinfo
    cp "$ROOT"/build/*.deb "$ROOT"/build/*.changes "$ROOT"/build/*.buildinfo "$4/"
}

# packaging_lintian RELEASE OUTPUT
packaging_lintian()
{
    [[ -n ${ROOT:-} ]] || packaging_unpack "$1"
    mkdir -p "$ROOT/build"
    within_root "$ROOT" --net -- sh -c 'cd /build && lintian --allow-root --fail-on error *.changes' |
        tee "$2/lintian.txt" || die "lintian finds errors: $2/lintian.txt"
}
