# SPDX-License-Identifier: GPL-2.0-or-later
# The steps of join.sh where the packages are installed and systemd runs the machine.
# shellcheck shell=bash disable=SC2034

join_places()
{
    installed_kernel sandlot-host-join
    [[ ! -e /etc/sandlot/keyring ]] ||
        die "this machine is a front (it has /etc/sandlot/keyring); use another machine as host"
    systemd-sysusers
    systemd-tmpfiles --create sandlot.conf
    JOIN_DIR=/etc/sandlot/join
    RELAY_DIR=/etc/sandlot/relay
    SETUP_FILE=$JOIN_DIR/setup.conf
    installed_settings
    install -d -m 755 "$STATE_ROOT" "$MARKS_DIR"
}

# join_resolvers: no sandbox of this machine reaches a resolver that listens only inside the front node.
join_resolvers()
{
    [[ ,${JOIN_RESOLVERS//[[:space:]]/,} =~ ,(127\.|\[?::1) ]] || return 0
    JOIN_RESOLVERS=
    note "dns_upstreams of the front node names a resolver on that machine; here, the resolvers in /etc/resolv.conf answer"
}

# join_config: what sandlot-firewall and sandlotctl need of it; no more is on a host.
join_config()
{
    local host=${JOIN_URL#https://}

    if [[ ! -e $CONFIG_FILE ]]; then
        join_resolvers
        {
            printf '# Written by sandlot-host-join when there was none; yours to change.\n'
            printf 'base_url = %s\ndata_plane_host = %s\nkey_file = %s/keyring\nrelay_dir = %s\n' \
                "$JOIN_URL" "${host#api.}" "$ETC_DIR" "$RELAY_DIR"
            [[ $NIC_PREFIX == sl ]] || printf 'firewall_tun = 0tun-%s\n' "$NIC_PREFIX"
            [[ -z $JOIN_NETWORKS ]] || printf 'protected_networks_open = %s\n' "$JOIN_NETWORKS"
            [[ -z $JOIN_RESOLVERS ]] || printf 'dns_upstreams = %s\n' "$JOIN_RESOLVERS"
        } | write_file 644 root:root "$CONFIG_FILE"
    fi
    "$PREFIX/sbin/sandlot-firewall" --config "$CONFIG_FILE" --check-config
}

join_incus()
{
    local there=$ETC_DIR/network.env

    if [[ -e $there ]] && ! grep -qx "SANDLOT_RANGE=$RANGE" "$there"; then
        die "$there says $(grep ^SANDLOT_RANGE= "$there"), but the token says $RANGE: if this machine has no sandboxes, remove the file; otherwise" \
            "create another token"
    fi
    installed_incus
}

# join_pool: sandlot-pool and sandlot-limits find a pool and a project that have other names than usual in pool.env. The
# file may name those of an earlier token.
join_pool()
{
    local file=$ETC_DIR/pool.env

    if [[ $POOL != sandlot || $PROJECT != sandlot ]] || grep -qs '^SANDLOT_\(POOL\|PROJECT\)=' "$file"; then
        {
            [[ ! -e $file ]] || grep -v '^SANDLOT_\(POOL\|PROJECT\)=' "$file" || true
            printf 'SANDLOT_POOL=%s/storage-pools/%s\nSANDLOT_PROJECT=%s\n' "$INCUS_STATE" "$POOL" "$PROJECT"
        } | write_file 644 root:root "$file"
    fi
    installed_pool
}

join_firewall()
{
    systemctl enable --quiet sandlot-firewall.socket sandlot-limits.socket sandlot.target
    systemctl start sandlot-limits.socket sandlot-firewall.socket sandlot-firewall.service ||
        die "sandlot-firewall does not start; read its log with journalctl -u sandlot-firewall"
}

join_relay()
{
    ctl host certificate "$JOIN_NAME" --range "$RANGE" --output "$RELAY_DIR" --dir "$RELAY_DIR"
    printf 'include %s;\n' "$RELAY_DIR/sandlot-relay.conf" "$RELAY_DIR/sandlot-egress.conf" | write_file 644 root:root /etc/nginx/conf.d/sandlot-relay.conf
    installed_nginx_serves "$RELAY_DIR/sandlot-relay.conf"
}
