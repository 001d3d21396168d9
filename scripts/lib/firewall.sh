# SPDX-License-Identifier: GPL-2.0-or-later
# The sandboxes' network on this host: one nftables table and the kernel's settings, by the
# same program that an installed host runs at boot.
# shellcheck shell=bash

firewall_load()
{
    local program=$SOURCE_DIR/conf/nftables/load-network.in output

    modprobe -q nf_tables 2>/dev/null || true
    # What make would put in for @…@ are defaults only, and all of them are given here.
    output=$(env SANDLOT_RANGE="$RANGE" SANDLOT_NIC_PREFIX="$NIC_PREFIX" SANDLOT_NFT_TABLE="$NFT_TABLE" \
        SANDLOT_NFT_FILE="$SOURCE_DIR/conf/nftables/sandlot.nft.in" sh "$program" 2>&1) || {
        printf '%s\n' "$output"
        die "the kernel refused the nftables rules conf/nftables/sandlot.nft.in"
    }
    printf '%s\n' "$output"
    if [[ $output == *'no IPv4 resolver'* ]]; then
        note "no resolver with an IPv4 address in /etc/resolv.conf: sandboxes cannot look up names"
    fi
}

# firewall_remove: only when no sandbox of the stack runs any more.
firewall_remove()
{
    nft delete table inet "$NFT_TABLE" 2>/dev/null || true
}

# firewall_remove_of_incus: incusd leaves chains of instances that were paused once; with
# no incusd on the machine its tables serve nobody.
firewall_remove_of_incus()
{
    local family

    any_incusd && return 0
    for family in inet ip ip6 bridge; do
        nft delete table "$family" incus 2>/dev/null || true
    done
}
