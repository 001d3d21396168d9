# SPDX-License-Identifier: GPL-2.0-or-later
# The order in which a stack comes up and goes down.
# shellcheck shell=bash

stack_directories()
{
    local name

    mkdir -p "$SHARED_DIR" "$CACHE_DIR"
    group_ensure "$WORKER_GROUP"
    group_ensure "$RUNTIME_GROUP"
    for name in "${WORKER_NAMES[@]}"; do
        user_ensure "$WORKER_GROUP-$name" /nonexistent
    done
    user_ensure "$SSH_USER" /nonexistent
    group_ensure "$INCUS_GROUP"
    install -d -m 755 "$STATE_ROOT"
    settings_remember
    install -d -m 755 "$ETC_DIR" "$NGINX_DIR" "$TLS_DIR" "$LOG_DIR"
    sanitize_prepare
    install -d -m 755 "$RUN_DIR"
    # Several users count here together.
    install -d -m 2770 -o root -g "$WORKER_GROUP" "$RUN_DIR/pools"
}

# stack_ground: what the programs stand on: database and Incus.
stack_ground()
{
    step "users and directories" stack_directories
    step "database" database_start
    step "CRIU, for pausing with memory" criu_ensure
    step "firewall" firewall_load
    step "Incus daemon" incus_start
    step "storage pool" incus_pool
    step "default template's image" template_import
}

# stack_programs: our own, and nginx before them.
stack_programs()
{
    step "certificates" tls_ensure
    step "settings and key ring" config_write
    step "host key of SSH" ssh_host_key
    step "database schema" ctl migrate
    step "host" accounts_host
    step "package registries" accounts_registries
    if [[ $HOSTS != 1 ]]; then
        step "the other host" other_start
        step "the other host's row" other_add
    fi
    if [[ $HOSTS == 3 ]]; then
        step "the third host" third_host other_start
        step "the third host's row" third_host other_add
    fi
    step "template \"$TEMPLATE\"" accounts_template
    step "workers and dispatchers" workers_start
    step "nginx on port $PORT" nginx_start
    step "SSH on port $SSH_PORT" ssh_start
}

stack_stop()
{
    step "stop nginx" nginx_stop
    step "stop workers and dispatchers" workers_stop
    if [[ $HOSTS != 1 ]]; then
        step "stop the other host" other_stop
        step "stop the third host, where there is one" third_host other_stop
        step "the machine that joins goes" bare_discard
    fi
    step "stop sandboxes and Incus" incus_stop
    step "stop database" database_stop
    step "remove the packet filters" firewall_unload
    step "stop lxcfs" with_lock lxcfs incus_stop_lxcfs
}

# stack_discard: a stopped stack's data: database, sandboxes, keys. Builds and logs stay.
stack_discard()
{
    incus_remove_cgroups
    incus_unmount
    nginx_cache_unmount
    crypt_discard
    bare_discard
    other_discard
    third_host other_discard
    rm -rf "$FIREWALL_STATE" "$FIREWALL_STATE-certificates" "$INCUS_STATE" "$LXC_CONFIG_DIR" "$MYSQL_DIR" "$MARKS_DIR" "$STATE_ROOT"/{incus,mysql}.made "$STATE_ROOT/template.key" \
        "$ETC_DIR" "$RUN_DIR" "$NGINX_DIR" "$STATE_ROOT/stack.env" "$STATE_ROOT/ssh_known_hosts"
}

# stack_remove: all that a stopped stack has made on this machine.
stack_remove()
{
    incus_remove_cgroups
    firewall_remove
    bare_discard
    other_discard
    third_host other_discard
    incus_unmount
    nginx_cache_unmount
    firewall_remove_of_incus
    rm -rf "${STATE_ROOT:?}" "/run/lock/sandlot-$STACK.lock"
}

# shared_remove: what the stacks of this machine share, when this was the last one.
shared_remove()
{
    packages_policy_end
    if compgen -G '/var/lib/sandlot/*' >/dev/null; then
        echo "other stacks are there"
        return 0
    fi
    users_remove
    rm -rf "${SHARED_DIR:?}" "${CACHE_DIR:?}" /var/log/sandlot /run/lock/sandlot-*.lock
    rmdir /var/lib/sandlot 2>/dev/null || true
}
