# SPDX-License-Identifier: GPL-2.0-or-later
# System users. What this makes is remembered, so that a purge removes no others.
# shellcheck shell=bash

# user_ensure NAME HOME: a system user and group without a login.
user_ensure()
{
    id "$1" >/dev/null 2>&1 && return 0
    useradd --system --user-group --home-dir "$2" --no-create-home --shell /usr/sbin/nologin "$1"
    mkdir -p "$SHARED_DIR"
    echo "$1" >>"$SHARED_DIR/users"
}

# group_ensure NAME: a system group without members.
group_ensure()
{
    getent group "$1" >/dev/null && return 0
    groupadd --system "$1"
    mkdir -p "$SHARED_DIR"
    echo "$1" >>"$SHARED_DIR/users"
}

users_remove()
{
    local name

    [[ -r $SHARED_DIR/users ]] || return 0
    while read -r name; do
        userdel "$name" 2>/dev/null || true
        groupdel "$name" 2>/dev/null || true
    done <"$SHARED_DIR/users"
}
