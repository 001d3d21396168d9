# SPDX-License-Identifier: GPL-2.0-or-later
# The second host of a stack (--hosts 2, or --hosts cluster), and the third (--hosts 3): Incus, packet filter,
# sandlot-firewall and relay in a network and a mount namespace of their own, reached as another machine would be. The
# first host takes no sandboxes then, so that all of them are on the others.
# The subshell of other_host() is meant: a machine of its own.
# shellcheck shell=bash disable=SC2030,SC2031,SC2034

# range_part NUMBER BITS: of the parts of the stack's range that are smaller by so many bits, the one of that number.
range_part()
{
    local a b c d bits first

    IFS='./' read -r a b c d bits <<<"$RANGE"
    bits=$((bits + $2))
    first=$((a << 24 | b << 16 | c << 8 | d | $1 << (32 - bits)))
    printf '%s' "$((first >> 24)).$((first >> 16 & 255)).$((first >> 8 & 255)).$((first & 255))/$bits"
}

# other_place NAME NEAR FAR NETWORK SUFFIX: where it is, and by which names: the two ends of its cable and what its
# namespaces' names end in. NETWORK is of 198.18.0.0/15, which nobody routes.
other_place()
{
    OTHER_NAME=$1
    OTHER_NEAR=$2-$NIC_PREFIX
    OTHER_FAR=$3-$NIC_PREFIX
    OTHER_FRONT=$4.$((PORT % 64 * 4 + 1))
    OTHER_ADDRESS=$4.$((PORT % 64 * 4 + 2))
    OTHER_NETNS=sandlot-$STACK$5
    OTHER_NAMESPACES=/run/sandlot-namespaces-$STACK$5
    OTHER_DIR=$STATE_ROOT/$1
}

# other_derive: names and addresses, from those of the stack. Its range is in the third quarter of the
# stack's, whose first half is the first host's; filters and relay let all of it through, so that sandboxes
# can move from one to the other. The last quarter is for a machine that joins (bare.sh).
other_derive()
{
    other_place other 0o 0p "198.18.$((PORT / 64 % 256))" ""
    FIRST_RANGE=$(range_part 0 1)
    OTHER_RANGE=$(range_part 2 2)
    OTHER_PROJECT=$PROJECT
    case $HOSTS in
    1)
        FIRST_RANGE=$RANGE
        OTHER_RANGE=
        ;;
    3) OTHER_RANGE=$(range_part 4 3) ;;
    # Members of a cluster show each other's projects, so that each has one of its own.
    cluster) OTHER_PROJECT=$PROJECT-other ;;
    esac
}

# third_host COMMAND…: runs one of the functions here for the third host.
third_host()
(
    other_place third 0s 0t "198.18.$(((PORT / 64 + 128) % 256))" -third
    OTHER_RANGE=$(range_part 5 3)
    "$@"
)

# other_settings: what the control plane is told.
other_settings()
{
    [[ $HOSTS != 1 ]] || return 0
    printf 'relay_dir = %s\n' "$ETC_DIR/relay"
    printf 'incus_client_cert_file = %s\n' "$ETC_DIR/incus-client.pem"
    printf 'incus_client_key_file = %s\n' "$ETC_DIR/incus-client.key"
}

# other_become: from here on this program is on that machine.
other_become()
{
    CONFIG_FILE=$OTHER_DIR/etc/sandlot.conf
    STACK=$STACK-$OTHER_NAME
    STATE_ROOT=$OTHER_DIR
    ETC_DIR=$OTHER_DIR/etc
    RUN_DIR=$OTHER_DIR/run
    LOG_DIR=$OTHER_DIR/log
    INCUS_STATE=$OTHER_DIR/incus
    PROJECT=$OTHER_PROJECT
    LXC_CONFIG_DIR=$OTHER_DIR/lxc
    INCUS_SOCKET_FILE=$INCUS_STATE/unix.socket
    INCUS_BIN=$OTHER_DIR/incus-bin
    FIREWALL_STATE=/run/sandlot-firewall-$STACK
    WITHIN=(nsenter "--net=/run/netns/$OTHER_NETNS" "--mount=$OTHER_NAMESPACES/mounts")
}

# other_host COMMAND…: runs one of our functions as it would run on that machine.
other_host()
(
    other_become
    "$@"
)

# other_network: a cable between the two, and the way out through this machine.
other_network()
{
    local near=$OTHER_NEAR far=$OTHER_FAR

    ip netns list | grep -q "^$OTHER_NETNS\( \|$\)" || ip netns add "$OTHER_NETNS"
    ip -n "$OTHER_NETNS" link set lo up
    if ! ip link show "$near" >/dev/null 2>&1; then
        ip link add "$near" type veth peer name "$far" netns "$OTHER_NETNS"
    fi
    ip address replace "$OTHER_FRONT/30" dev "$near"
    ip link set "$near" up
    ip -n "$OTHER_NETNS" address replace "$OTHER_ADDRESS/30" dev "$far"
    ip -n "$OTHER_NETNS" link set "$far" up
    ip -n "$OTHER_NETNS" route replace default via "$OTHER_FRONT"
    nft -f - <<END
table ip ${NFT_TABLE}_$OTHER_NAME
delete table ip ${NFT_TABLE}_$OTHER_NAME
table ip ${NFT_TABLE}_$OTHER_NAME {
    chain out {
        type nat hook postrouting priority srcnat;
        ip saddr $OTHER_ADDRESS oifname != "$near" masquerade
    }
}
END
}

# other_mounts: a mount namespace that outlives its processes. Its /sys is of the other network, with
# the control groups as they are.
other_mounts()
{
    mkdir -p "$OTHER_NAMESPACES"
    mountpoint -q "$OTHER_NAMESPACES" || mount --bind "$OTHER_NAMESPACES" "$OTHER_NAMESPACES"
    mount --make-private "$OTHER_NAMESPACES"
    mountpoint -q "$OTHER_NAMESPACES/mounts" && return 0
    touch "$OTHER_NAMESPACES/mounts"
    # shellcheck disable=SC2016
    nsenter "--net=/run/netns/$OTHER_NETNS" unshare "--mount=$OTHER_NAMESPACES/mounts" --propagation slave \
        sh -euc 'hold=$(mktemp -d)
            mount --rbind /sys/fs/cgroup "$hold"
            mount -t sysfs sysfs /sys
            mount --rbind "$hold" /sys/fs/cgroup
            umount -l "$hold"
            rmdir "$hold"'
}

# other_config: the settings of sandlot-firewall there.
other_config()
{
    install -d -m 755 "$OTHER_DIR" "$OTHER_DIR"/{etc,log,nginx,relay}
    install -d -m 755 "$OTHER_DIR/run"
    sed -e "s|^firewall_socket = .*|firewall_socket = $OTHER_DIR/run/firewall.sock|" \
        -e "s|^firewall_http_socket = .*|firewall_http_socket = $OTHER_DIR/run/firewall/http.sock|" \
        -e "s|^limits_socket = .*|limits_socket = $OTHER_DIR/run/limits.sock|" \
        -e "s|^firewall_state_dir = .*|firewall_state_dir = /run/sandlot-firewall-$STACK-$OTHER_NAME|" \
        -e "s|^firewall_certificates_dir = .*|firewall_certificates_dir = /run/sandlot-firewall-$STACK-$OTHER_NAME-certificates|" \
        "$CONFIG_FILE" | write_file 644 root:root "$OTHER_DIR/etc/sandlot.conf"
}

# other_pool: as incus_pool without encryption.
other_pool()
{
    incus_cli query "/1.0/storage-pools/$POOL" >/dev/null 2>&1 ||
        incus_cli storage create "$POOL" btrfs size="$POOL_SIZE"
    incus_simple_quotas
    incus_guard_start
    touch "$STATE_ROOT/incus.made"
}

# other_relay_answers: to one without a front's certificate with a refusal.
other_relay_answers()
{
    [[ $(curl -s -k -o /dev/null -w '%{http_code}' --max-time 2 "https://$OTHER_ADDRESS:8446/") == 400 ]]
}

# other_relay_start: nginx with the relay alone.
other_relay_start()
{
    local pid

    install -d -m 700 -o "$NGINX_USER" "$STATE_ROOT"/nginx/{body,proxy,fastcgi}
    write_file 644 root:root "$STATE_ROOT/nginx/nginx.conf" <<END
user $NGINX_USER;
worker_processes auto;
worker_rlimit_nofile $(nginx_open_files);
pid $RUN_DIR/nginx-master.pid;
error_log $LOG_DIR/relay-error.log warn;
events {
    worker_connections 8192;
}
http {
    client_body_temp_path $STATE_ROOT/nginx/body;
    proxy_temp_path $STATE_ROOT/nginx/proxy;
    fastcgi_temp_path $STATE_ROOT/nginx/fastcgi;
    include $STATE_ROOT/relay/sandlot-relay.conf;
    include $STATE_ROOT/relay/sandlot-egress.conf;
}
END
    nginx -q -t -c "$STATE_ROOT/nginx/nginx.conf" || die "nginx refuses the relay's configuration"
    if pid=$(service_pid relay); then
        kill -HUP "$pid"
    else
        service_start relay root -- /usr/bin/setpriv --no-new-privs nginx -c "$STATE_ROOT/nginx/nginx.conf" -g 'daemon off;'
    fi
    service_wait relay 15 other_relay_answers ||
        die "the relay does not answer; see also $LOG_DIR/relay.log"
}

other_relay()
{
    "$CTL" --config "$CONFIG_FILE" host certificate "$OTHER_NAME" --range "$RANGE" --output "$STATE_ROOT/relay" \
        --dir "$STATE_ROOT/relay"
    other_relay_start
}

# other_client_certificate: the control plane's for Incus. It is known there by itself, not by who
# signed it.
other_client_certificate()
{
    [[ -s $ETC_DIR/incus-client.pem ]] && return 0
    (
        umask 077
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
            -subj "/CN=sandlot control plane" -keyout "$ETC_DIR/incus-client.key" -out "$ETC_DIR/incus-client.pem"
    )
    chown "root:$RUNTIME_GROUP" "$ETC_DIR/incus-client.key"
    chmod 640 "$ETC_DIR/incus-client.key"
    chmod 644 "$ETC_DIR/incus-client.pem"
}

# other_cluster_begin: the first host's Incus becomes a cluster of one, and lets another in. Prints the token.
other_cluster_begin()
{
    if [[ $(incus_cli query /1.0 | jq .environment.server_clustered) != true ]]; then
        incus_cli config set core.https_address "$OTHER_FRONT:8443"
        incus_cli config set cluster.https_address "$OTHER_FRONT:8443"
        incus_cli cluster enable local >&2
        incus_cli project set "$PROJECT" user.sandlot.member=local
    fi
    incus_cli cluster list --format csv | grep -q "^$OTHER_NAME," || incus_cli cluster add --quiet "$OTHER_NAME"
}

# other_cluster_join TOKEN: the second one becomes a member, with a pool of its own.
other_cluster_join()
{
    local token

    token=$1
    [[ -n $token ]] || return 0
    incus_cli admin init --preseed <<END
cluster:
  enabled: true
  server_address: $OTHER_ADDRESS:8443
  cluster_token: $token
  member_config:
  - entity: storage-pool
    name: $POOL
    key: size
    value: $POOL_SIZE
END
}

# other_start: it runs, and the control plane may use it.
other_start()
{
    local client=$ETC_DIR/incus-client.pem token

    other_client_certificate
    ctl host authority
    other_network
    other_mounts
    other_config
    other_host firewall_load
    other_host incus_start
    if [[ $HOSTS == cluster ]]; then
        token=$(other_cluster_begin)
        other_host other_cluster_join "$token"
    fi
    other_host other_pool
    # The members of a cluster share their images.
    [[ $HOSTS == cluster ]] || other_host template_import
    JOIN_ADDRESS=$OTHER_ADDRESS other_host join_trust "$client"
    other_host limits_start
    other_host firewall_start
    other_host other_relay
}

# other_add: its row; the first host takes nothing any more.
other_add()
{
    local memory_mb

    memory_mb=$(awk '/^MemTotal:/ { print int($2 / 1024 * 0.8) }' /proc/meminfo)
    ctl host add "$OTHER_NAME" --url "https://$OTHER_ADDRESS:8443" --server-cert "$(other_host incus_certificate)" \
        --project "$OTHER_PROJECT" --pool "$POOL" --range "$OTHER_RANGE" --network "$RANGE" --nic-prefix "$NIC_PREFIX" \
        --vcpus "$(($(nproc) * ${HOST_VCPUS_EACH:-16}))" --memory-mb "$memory_mb" \
        --memory-overcommit "${HOST_MEMORY_OVERCOMMIT:-100}" --disk-overcommit "${HOST_DISK_OVERCOMMIT:-1000}" \
        --relay "https://$OTHER_ADDRESS:8446"
    ctl host drain local --stay
}

other_stop_services()
{
    service_stop relay 5
    incus_stop
    service_stop firewall
    service_stop limits
}

other_stop()
{
    [[ -d $OTHER_DIR ]] || return 0
    other_host other_stop_services
}

# other_discard: its namespaces, and with them its links, mounts and packet filter.
other_discard()
{
    local loop

    nft delete table ip "${NFT_TABLE}_$OTHER_NAME" 2>/dev/null || true
    if mountpoint -q "$OTHER_NAMESPACES/mounts"; then
        umount "$OTHER_NAMESPACES/mounts"
    fi
    if mountpoint -q "$OTHER_NAMESPACES"; then
        umount "$OTHER_NAMESPACES"
    fi
    rm -rf "${OTHER_NAMESPACES:?}" "/run/sandlot-firewall-$STACK-$OTHER_NAME"
    ip netns delete "$OTHER_NETNS" 2>/dev/null || true
    ip link delete "$OTHER_NEAR" 2>/dev/null || true
    losetup -l -n -O NAME,BACK-FILE 2>/dev/null | awk -v root="$OTHER_DIR/" 'index($2, root) == 1 { print $1 }' |
        while read -r loop; do
            losetup -d "$loop" || true
        done
    rm -rf "${OTHER_DIR:?}"
}
