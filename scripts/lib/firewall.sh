# SPDX-License-Identifier: GPL-2.0-or-later
# The sandboxes' network on this host: one nftables table and the kernel's settings, by the
# same program that an installed host runs at boot.
# shellcheck shell=bash

firewall_load()
{
    local program=$SOURCE_DIR/conf/nftables/load-network.in output

    modprobe -q nf_tables 2>/dev/null || true
    # What make would put in for @…@ are defaults only, and all of them are given here.
    output=$("${WITHIN[@]}" env SANDLOT_RANGE="$RANGE" SANDLOT_NIC_PREFIX="$NIC_PREFIX" SANDLOT_NFT_TABLE="$NFT_TABLE" \
        SANDLOT_DNS_PORT="$FIREWALL_PORT" SANDLOT_EGRESS_PORT="$((FIREWALL_PORT + 1))" SANDLOT_OUTLET_PORT="$((FIREWALL_PORT + 2))" SANDLOT_EGRESS_HTTP_PORT="$((FIREWALL_PORT + 3))" SANDLOT_LOG_GROUP="$FIREWALL_PORT" SANDLOT_TUN="$FIREWALL_TUN" \
        SANDLOT_NFT_FILE="$SOURCE_DIR/conf/nftables/sandlot.nft.in" sh "$program" 2>&1) || {
        printf '%s\n' "$output"
        die "the kernel refused the nftables rules conf/nftables/sandlot.nft.in"
    }
    printf '%s\n' "$output"
}

# firewall_start: sandlot-firewall with CAP_NET_ADMIN and nothing else of root. Where
# /dev/net/tun is root's alone (no udev), it is opened before root is left.
firewall_start()
{
    local path start

    service_running firewall && return 0
    user_ensure "$FIREWALL_USER" /nonexistent
    path=$(program sandlot-firewall)
    install -d -m 700 -o "$FIREWALL_USER" "$FIREWALL_STATE"
    install -d -m 2750 -o "$FIREWALL_USER" -g "$(id -g "$NGINX_USER")" "$FIREWALL_STATE-certificates"
    install -d -m 750 -o root -g "$RUNTIME_GROUP" "$RUN_DIR/firewall"
    rm -f "$RUN_DIR/firewall.sock"
    worker_watch 1 "$path" --config "$CONFIG_FILE"
    # shellcheck disable=SC2016
    start='if [ -w /dev/net/tun ]; then exec 3<>/dev/net/tun; export SANDLOT_TUN_FD=3; fi; exec "$@"'
    service_start firewall root -- /usr/bin/spawn-fcgi -n -s "$RUN_DIR/firewall.sock" -M 0660 \
        -U "$FIREWALL_USER" -G "$NGINX_USER" -b 1024 -- /bin/sh -c "$start" sh /usr/bin/setpriv \
        --reuid "$FIREWALL_USER" --regid "$FIREWALL_USER" --clear-groups \
        --inh-caps -all,+net_admin --ambient-caps -all,+net_admin --bounding-set -all,+net_admin \
        --no-new-privs "${WATCH[@]}"
    service_wait firewall 10 test -S "$RUN_DIR/firewall.sock" ||
        die "sandlot-firewall did not start; see also $LOG_DIR/firewall.log"
}

# limits_start: sandlot-limits, which is root for the files of control groups, with the one capability
# that quota groups of btrfs and mounts need. sandlot-firewall alone may call it.
limits_start()
{
    local path before=("${SERVICE_ENVIRONMENT[@]}")

    service_running limits && return 0
    user_ensure "$FIREWALL_USER" /nonexistent
    path=$(program sandlot-limits)
    rm -f "$RUN_DIR/limits.sock"
    worker_watch 1 "$path" --config "$CONFIG_FILE"
    SERVICE_ENVIRONMENT+=("SANDLOT_POOL=$INCUS_STATE/storage-pools/$POOL" "SANDLOT_PROJECT=$PROJECT")
    service_start limits root -- /usr/bin/spawn-fcgi -n -s "$RUN_DIR/limits.sock" -M 0660 -G "$FIREWALL_USER" \
        -b 256 -- /usr/bin/setpriv --clear-groups --inh-caps -all,+sys_admin --ambient-caps -all,+sys_admin \
        --bounding-set -all,+sys_admin --no-new-privs "${WATCH[@]}"
    SERVICE_ENVIRONMENT=("${before[@]}")
    service_wait limits 10 test -S "$RUN_DIR/limits.sock" ||
        die "sandlot-limits did not start; see also $LOG_DIR/limits.log"
}

# firewall_unload: only when no sandbox of the stack runs any more. A start loads the tables again, as after a boot.
firewall_unload()
{
    nft delete table inet "$NFT_TABLE" 2>/dev/null || true
    nft delete table inet "${NFT_TABLE}_front" 2>/dev/null || true
}

firewall_remove()
{
    firewall_unload
    rm -rf "${FIREWALL_STATE:?}" "$FIREWALL_STATE-certificates"
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
