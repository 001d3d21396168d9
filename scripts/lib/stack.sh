# SPDX-License-Identifier: GPL-2.0-or-later
# The order in which a stack comes up and goes down.
# shellcheck shell=bash

stack_directories()
{
    mkdir -p "$SHARED_DIR" "$CACHE_DIR"
    user_ensure "$WORKER_USER" /nonexistent
    install -d -m 755 "$STATE_ROOT" "$ETC_DIR" "$NGINX_DIR" "$TLS_DIR" "$LOG_DIR"
    install -d -m 775 -o root -g "$WORKER_USER" "$RUN_DIR"
}

# stack_ground: what the programs stand on: database and Incus.
stack_ground()
{
    step "users and directories" stack_directories
    step "database" database_start
    step "CRIU, for pausing with memory" criu_ensure
    step "Incus daemon" incus_start
    step "storage pool" incus_pool
}
