# SPDX-License-Identifier: GPL-2.0-or-later
# The stack's own sandlot.conf, key ring, and the files that tell others where things are.
# shellcheck shell=bash

config_write()
{
    write_file 644 root:root "$CONFIG_FILE" <<END
# Written by the set-up of the stack "$STACK" at each run.
base_url = $BASE_URL
data_plane_host = $DATA_PLANE_HOST
console_url = $CONSOLE_URL
default_template = $TEMPLATE
database_socket = $DATABASE_SOCKET
database_name = $DATABASE_NAME
database_user = $DATABASE_LOGIN
database_password_file = $ETC_DIR/database-password
database_admin_user = $DATABASE_ADMIN
database_admin_password_file = $ETC_DIR/database-admin-password
key_file = $ETC_DIR/keyring
$(for name in "${WORKER_POOLS[@]}" events; do printf '%s_socket = %s/%s.sock\n' "$name" "$RUN_DIR" "$name"; done)
pools_dir = $RUN_DIR/pools
firewall_socket = $RUN_DIR/firewall.sock
firewall_http_socket = $RUN_DIR/firewall/http.sock
firewall_state_dir = $FIREWALL_STATE
firewall_table = $NFT_TABLE
firewall_tun = $FIREWALL_TUN
firewall_dns_port = $FIREWALL_PORT
firewall_egress_port = $((FIREWALL_PORT + 1))
firewall_outlet_port = $((FIREWALL_PORT + 2))
firewall_egress_http_port = $((FIREWALL_PORT + 3))
firewall_certificates_dir = $FIREWALL_STATE-certificates
firewall_log_group = $FIREWALL_PORT
limits_socket = $RUN_DIR/limits.sock
listen_port = $PORT
redirect_port = $REDIRECT_PORT
metrics_port = $METRICS_PORT
tls_certificate_file = $TLS_DIR/server.pem
tls_certificate_key_file = $TLS_DIR/server.key
nginx_log_dir = $LOG_DIR
ssh_port = $SSH_PORT
ssh_host = 127.0.0.1
ssh_host_key_file = $SSH_HOST_KEY
ssh_user = $SSH_USER
ssh_ca_file = $TLS_DIR/ca.pem
$(other_settings)
${STACK_SETTINGS:-}
END
    if [[ ! -s $ETC_DIR/keyring ]]; then
        "$CTL" --config "$CONFIG_FILE" keyring new "$ETC_DIR/keyring"
    fi
    chown "root:$WORKER_GROUP" "$ETC_DIR/keyring"
    chmod 640 "$ETC_DIR/keyring"
    "$(program sandlot-api)" --config "$CONFIG_FILE" --check-config
}

ctl()
{
    "$CTL" --config "$CONFIG_FILE" "$@"
}

# config_env FILE [EXTRA]: shell assignments for clients, tests and benchmarks. The clients read SANDLOT_URL,
# SANDLOT_KEY and SANDLOT_CA, sandlotctl reads SANDLOT_CONFIG, and both are found in PATH.
config_env()
{
    {
        printf 'export SANDLOT_URL=%q\n' "$BASE_URL"
        printf 'SANDLOT_CONSOLE_URL=%q\n' "$CONSOLE_URL"
        if [[ -r $ETC_DIR/demo-keys ]]; then
            cat "$ETC_DIR/demo-keys"
        fi
        printf 'SANDLOT_DATA_PLANE_HOST=%q\n' "$DATA_PLANE_HOST"
        printf 'export SANDLOT_CA=%q\n' "$TLS_DIR/ca.pem"
        printf 'export SANDLOT_CONFIG=%q\n' "$CONFIG_FILE"
        printf "export PATH=%q:%q:\$PATH\n" "$PREFIX/bin" "$PREFIX/sbin"
        printf 'SANDLOT_TEMPLATE=%q\n' "$TEMPLATE"
        printf 'SANDLOT_SSH_HOST=%q\n' "ssh.$DOMAIN"
        printf 'SANDLOT_SSH_PORT=%q\n' "$SSH_PORT"
        printf 'SANDLOT_SSH_KNOWN_HOSTS=%q\n' "$STATE_ROOT/ssh_known_hosts"
        printf "SANDLOT_CTL='%s --config %s'\n" "$CTL" "$CONFIG_FILE"
        if [[ ${2:-} == with-internals ]]; then
            printf 'SANDLOT_STATE_ROOT=%q\n' "$STATE_ROOT"
            # Of the host that has the sandboxes.
            if [[ $HOSTS != 1 ]]; then
                printf 'SANDLOT_INCUS_SOCKET=%q\n' "$OTHER_DIR/incus/unix.socket"
                printf 'SANDLOT_INCUS_PROJECT=%q\n' "$OTHER_PROJECT"
                printf 'SANDLOT_OTHER_NETNS=%q\n' "$OTHER_NETNS"
                printf 'SANDLOT_OTHER_RELAY=%q\n' "https://$OTHER_ADDRESS:8446"
            else
                printf 'SANDLOT_INCUS_SOCKET=%q\n' "$INCUS_SOCKET_FILE"
                printf 'SANDLOT_INCUS_PROJECT=%q\n' "$PROJECT"
            fi
            printf 'SANDLOT_DATABASE_SOCKET=%q\n' "$DATABASE_SOCKET"
            printf 'SANDLOT_DATABASE_PASSWORD_FILE=%q\n' "$ETC_DIR/database-password"
            printf 'SANDLOT_NFT_TABLE=%q\n' "$NFT_TABLE"
            printf 'SANDLOT_NIC_PREFIX=%q\n' "$NIC_PREFIX"
            printf 'SANDLOT_RANGE=%q\n' "${OTHER_RANGE:-$RANGE}"
        fi
    } | write_file 600 root:root "$1"
}
