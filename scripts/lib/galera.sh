# SPDX-License-Identifier: GPL-2.0-or-later
# Galera, for tests: its library and the script that carries a state to a node that joins, unpacked beside
# the machine's own MariaDB server. Installing them would start a server.
# shellcheck shell=bash

GALERA_ROOT=$SHARED_DIR/galera
GALERA_PACKAGES=(galera-4 mariadb-server)

galera_is_there()
{
    [[ -e $GALERA_ROOT/usr/lib/galera/libgalera_smm.so && -x $GALERA_ROOT/usr/bin/wsrep_sst_rsync ]]
}

galera_fetch_locked()
{
    local work=$CACHE_DIR/galera-packages package

    galera_is_there && return 0
    rm -rf "$work" "$GALERA_ROOT.new"
    packages_options "$work"
    packages_source "$(packages_base_mirror)" "$(debian_codename)" >"$work/debian.sources"
    apt-get "${APT_OPTIONS[@]}" -o APT::Update::Error-Mode=any update
    (cd "$work" && apt-get "${APT_OPTIONS[@]}" -o APT::Sandbox::User=root download "${GALERA_PACKAGES[@]}")
    mkdir -p "$GALERA_ROOT.new"
    for package in "$work"/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$GALERA_ROOT.new" --exclude=./etc --exclude=./var --exclude=./usr/share
    done
    rm -rf "$GALERA_ROOT" "$work"
    mv "$GALERA_ROOT.new" "$GALERA_ROOT"
    galera_is_there
}

galera_ensure()
{
    packages_install galera
    with_lock galera galera_fetch_locked || die "Galera is not to be had from the machine's mirror"
}
