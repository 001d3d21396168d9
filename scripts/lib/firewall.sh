# SPDX-License-Identifier: GPL-2.0-or-later
# The sandboxes' network on this host: one nftables table, loaded before the first sandbox.
# shellcheck shell=bash

# The address on the host's side of every routed link.
RESOLVER_ADDRESS=169.254.0.1

# firewall_upstream: prints the first IPv4 resolver of the host that others can ask, too. A
# stub on the loopback answers the host only: then what systemd-resolved asks is taken.
firewall_upstream()
{
    local file address

    for file in /etc/resolv.conf /run/systemd/resolve/resolv.conf; do
        [[ -r $file ]] || continue
        address=$(awk '$1 == "nameserver" && $2 ~ /^[0-9.]+$/ && $2 !~ /^127\./ { print $2; exit }' "$file")
        if [[ -n $address ]]; then
            printf '%s' "$address"
            return 0
        fi
    done
}

# firewall_render: the table with this stack's values.
firewall_render()
{
    local upstream dns=

    upstream=$(firewall_upstream)
    if [[ -z $upstream ]]; then
        dns='# no resolver: '
        upstream=0.0.0.0
    fi
    sed -e "s|^@dns@|$dns|" -e "s|@table@|$NFT_TABLE|g" -e "s|@nic@|$NIC_PREFIX|g" \
        -e "s|@range@|$RANGE|g" -e "s|@resolver@|$RESOLVER_ADDRESS|g" \
        -e "s|@upstream@|$upstream|g" "$SOURCE_DIR/conf/nftables/sandlot.nft.in"
}

firewall_load()
{
    firewall_render >"$ETC_DIR/sandlot.nft"
    nft -f "$ETC_DIR/sandlot.nft" || die "the kernel refused the nftables rules $ETC_DIR/sandlot.nft"
    if [[ -z $(firewall_upstream) ]]; then
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
