# SPDX-License-Identifier: GPL-2.0-or-later
# Incus: a daemon of the stack's own, with its own state directory and storage pool.
# shellcheck shell=bash

INCUSD=/usr/libexec/incus/incusd

# incus_cli ARGUMENTS…: the client, talking to this stack's daemon.
incus_cli()
{
    INCUS_DIR=$INCUS_STATE INCUS_CONF=$STATE_ROOT/incus-client incus "$@"
}

# incus_certificate: what the daemon shows at its address; the members of a cluster share theirs.
incus_certificate()
{
    local file=$INCUS_STATE/cluster.crt

    [[ -e $file ]] || file=$INCUS_STATE/server.crt
    printf '%s' "$file"
}

incus_answers()
{
    [[ $(curl -s --max-time 5 --unix-socket "$INCUS_SOCKET_FILE" http://incus/1.0 |
        jq -r .metadata.auth 2>/dev/null) == trusted ]]
}

# incus_modules: where the kernel has them as modules.
incus_modules()
{
    local module

    for module in btrfs loop veth fuse overlay; do
        modprobe -q "$module" 2>/dev/null || true
    done
}

# incus_ids: the user and group ids of unprivileged containers; each sandbox has a range of 65,536
# among them (fcgi/drivers/runtime/runtime_incus_body.c). Debian's package of Incus has the same.
incus_ids()
{
    local file

    for file in /etc/subuid /etc/subgid; do
        sed -i '/^root:100000:10000001$/d' "$file" 2>/dev/null || true # of earlier versions of this
        grep -qs '^root:' "$file" || echo root:1000000:1000000000 >>"$file"
        grep -qx root:1000000:1000000000 "$file" ||
            die "add the line root:1000000:1000000000 to $file, which sandboxes need, and then restart incusd"
    done
}

# incus_cgroups: where nothing has mounted control groups, they are mounted here.
incus_cgroups()
{
    mountpoint -q /sys/fs/cgroup && return 0
    mount -t cgroup2 cgroup2 /sys/fs/cgroup ||
        die "cannot mount control groups at /sys/fs/cgroup, which Incus needs"
}

# incus_lxcfs_closed: nobody writes through lxcfs. Before 6.0 it passes what any user of any
# sandbox writes below /sys/devices/system/cpu on to the host's own files, as root. The file system
# is one, however often it is mounted: read-only here, it is in all sandboxes, also those that run.
# With -i, mount(8) does not hand the change to mount.fuse, which would start another lxcfs. FUSE takes the change
# by mount(2) only, and mount(8) since 2.39 prefers fsconfig(2).
incus_lxcfs_closed()
{
    LIBMOUNT_FORCE_MOUNT2=always mount -i -o remount,ro /var/lib/lxcfs ||
        die "cannot mount lxcfs at /var/lib/lxcfs read-only: sandboxes could change the processors of the host"
}

# lxcfs shows a sandbox its own limits. One serves all stacks of the machine, so its
# pid file is theirs together; a dead one leaves a mount that must go first.
incus_lxcfs()
{
    local RUN_DIR=$SHARED_DIR/run LOG_DIR=$SHARED_DIR/log STACK=shared

    if mountpoint -q /var/lib/lxcfs && [[ -d /var/lib/lxcfs/proc ]]; then
        incus_lxcfs_closed
        return 0
    fi
    umount -l /var/lib/lxcfs 2>/dev/null || true
    mkdir -p /var/lib/lxcfs
    if [[ ! -c /dev/fuse ]]; then
        note "no /dev/fuse: sandboxes see the machine's memory and processors, not their own limits"
        return 0
    fi
    # One whose mount is gone would hold the pid file.
    strays_end lxcfs /run/lxcfs-sandlot.pid
    service_start lxcfs root -- /usr/bin/lxcfs -l -f -p /run/lxcfs-sandlot.pid /var/lib/lxcfs
    if ! wait_for 10 mountpoint -q /var/lib/lxcfs; then
        note "lxcfs did not start: sandboxes see the machine's limits"
        return 0
    fi
    incus_lxcfs_closed
}

# A first start that was killed in the middle leaves a state that no daemon can use.
incus_discard_half_made()
{
    [[ -d $INCUS_STATE && ! -e $STATE_ROOT/incus.made ]] || return 0
    echo "an earlier run was ended while it prepared Incus: its state is discarded"
    incus_end_instances
    incus_unmount
    crypt_discard
    rm -rf "$INCUS_STATE"
}

# incus_bin_put NAME: a program, replaced as a whole, as a running daemon and the hooks of its containers
# may call it at any time.
incus_bin_put()
{
    install -m 755 "$(program "$1")" "$INCUS_BIN/$1.new"
    mv "$INCUS_BIN/$1.new" "$INCUS_BIN/$1"
}

# incus_bin_install: the programs between incusd and the kernel, as "make install" has them, with the
# CRIU that all stacks share.
incus_bin_install()
{
    local link

    mkdir -p "$INCUS_BIN/bin" "$INCUS_BIN/criu-path"
    incus_bin_put sandlot-incus
    incus_bin_put sandlot-start
    incus_bin_put sandlot-criu.so
    incus_bin_put sandlot-incusd.so
    while read -r link; do
        [[ -L $INCUS_BIN/$link ]] || cp -P "$PREFIX/libexec/sandlot/$link" "$INCUS_BIN/$link"
    done < <(find "$PREFIX/libexec/sandlot" -type l -lname '*sandlot-incus' -printf '%P\n')
    ln -sfn "$CRIU_DIR" "$INCUS_BIN/criu"
    [[ -n $CRIU_FOUND ]] || rm -f "$INCUS_BIN/bin/criu"
}

# incus_share: mounts of an incusd with a mount namespace of its own reach this one. systemd shares all mounts.
incus_share()
{
    mkdir -p "$INCUS_STATE"
    "${WITHIN[@]}" findmnt -no PROPAGATION -T "$INCUS_STATE" | grep -q shared && return 0
    "${WITHIN[@]}" mount --bind "$INCUS_STATE" "$INCUS_STATE"
    "${WITHIN[@]}" mount --make-shared "$INCUS_STATE"
}

# incus_start: the daemon answers on its socket.
incus_start()
{
    incus_bin_install
    incus_modules
    incus_ids
    incus_cgroups
    with_lock lxcfs incus_lxcfs
    if ! service_running incusd; then
        incus_end_daemons
        incus_discard_half_made
        crypt_open
        incus_share
        "${WITHIN[@]}" env INCUS_LXC_TEMPLATE_CONFIG="$LXC_CONFIG_DIR" SANDLOT_NIC_PREFIX="$NIC_PREFIX" \
            PATH="$INCUS_BIN/bin:$PATH" SANDLOT_CRIU="$CRIU_OF_MACHINE" \
            INCUS_EXEC_PATH="$INCUS_BIN/incusd-exec" "$INCUS_BIN/incusd-prepare"
        service_start incusd root -- env PATH="$INCUS_BIN/bin:$PATH" \
            SANDLOT_CRIU="$CRIU_OF_MACHINE" SANDLOT_LAZY_PAGES="$STATE_ROOT/etc/eager-pages" \
            LD_PRELOAD="$INCUS_BIN/sandlot-incusd.so" HOME=/root INCUS_DIR="$INCUS_STATE" \
            INCUS_EXEC_PATH="$INCUS_BIN/incusd-exec" \
            INCUS_LXC_TEMPLATE_CONFIG="$LXC_CONFIG_DIR" SANDLOT_INCUSD="$INCUSD" \
            "$INCUSD" --group "$INCUS_GROUP" --logfile "$STATE_ROOT/log/incusd.log"
    fi
    service_wait incusd 60 incus_answers || die "incusd does not answer; see also $LOG_DIR/incusd.log"
    chmod 711 "$INCUS_STATE"
    # A daemon that an earlier run started may have given it to another group.
    chgrp "$INCUS_GROUP" "$INCUS_SOCKET_FILE"
}

# incus_has_simple_quotas: whether this kernel has them; Linux 6.7 was the first.
incus_has_simple_quotas()
{
    modprobe -q btrfs 2>/dev/null || true
    [[ -e /sys/fs/btrfs/features/simple_quota ]]
}

# incus_simple_quotas: they must be on before any size is set, because the older kind
# makes creating and deleting slower with every sandbox there has been.
incus_simple_quotas()
{
    local mount=$INCUS_STATE/storage-pools/$POOL mode

    mode=$("${WITHIN[@]}" cat "/sys/fs/btrfs/$("${WITHIN[@]}" findmnt -no UUID "$mount")/qgroups/mode" 2>/dev/null) || mode=
    [[ $mode == squota ]] && return 0
    [[ -z $mode || $mode == disabled ]] || "${WITHIN[@]}" btrfs quota disable "$mount"
    "${WITHIN[@]}" btrfs quota enable --simple "$mount" ||
        note "this kernel has no simple quotas: creating sandboxes will slow down as they come and go"
}

# incus_guard_start: a part of the pool is kept from the guests as long as it is mounted.
incus_guard_start()
{
    if ! cmp -s "$INCUS_BIN/sandlot-incus" "$RUN_DIR/pool-guard.running"; then
        service_stop pool-guard
        install -m 644 "$INCUS_BIN/sandlot-incus" "$RUN_DIR/pool-guard.running"
    fi
    service_start pool-guard root -- "$INCUS_BIN/pool-guard" watch "$INCUS_STATE/storage-pools/$POOL"
}

# incus_pool_on_crypt: the pool on an encrypted file; fails where the machine cannot do that.
incus_pool_on_crypt()
{
    crypt_possible && crypt_make "$POOL_SIZE" || return 1
    if incus_cli storage create "$POOL" btrfs source="$CRYPT_DEVICE"; then
        return 0
    fi
    note "the storage pool is not encrypted: Incus could not create one on $CRYPT_DEVICE"
    incus_cli storage delete "$POOL" 2>/dev/null || true
    crypt_discard
    return 1
}

# incus_pool_plain: what a machine can do that cannot have a btrfs pool.
incus_pool_plain()
{
    note "this machine cannot have a btrfs pool (no loop device or file system); using plain directories instead;" \
        "creating a sandbox copies its whole disk, and disk sizes are not enforced"
    incus_cli storage create "$POOL" dir
}

# incus_pool: the storage pool; btrfs on a sparse file, encrypted where that goes, or plain
# directories.
incus_pool()
{
    local driver

    driver=$(incus_cli query "/1.0/storage-pools/$POOL" 2>/dev/null | jq -r .driver) || driver=
    if [[ -z $driver ]]; then
        driver=btrfs
        if ! incus_pool_on_crypt && ! incus_cli storage create "$POOL" btrfs size="$POOL_SIZE"; then
            incus_cli storage delete "$POOL" 2>/dev/null || true
            incus_pool_plain
            driver=dir
        fi
    fi
    if [[ $driver == btrfs ]]; then
        incus_simple_quotas
        incus_guard_start
    fi
    touch "$STATE_ROOT/incus.made"
}

# incus_stop_instances: all instances of all projects, by the daemon.
incus_stop_instances()
{
    local project name

    incus_answers || return 0
    incus_cli list --all-projects --format json |
        jq -r '.[] | select(.status != "Stopped") | "\(.project) \(.name)"' |
        while read -r project name; do
            echo "stopping $project/$name"
            incus_cli stop --force --project "$project" "$name" </dev/null &
            # As many at a time as there are processors; the rest waits.
            [[ $(jobs -pr | wc -l) -lt $(nproc) ]] || wait -n || true
        done
}

# incus_end_instances: what runs although the daemon that knew it is gone. Each container
# has a monitor (a process of the program that started it, incusd's or sandlot-start, with our
# state directory in its title) whose child is the container's init: with the init its whole pid
# namespace ends.
incus_end_instances()
{
    local monitor child

    for monitor in $(strays sandlot-start "$INCUS_STATE/") $(strays incusd "$INCUS_STATE/"); do
        echo "ending what is left of a sandbox ($monitor)"
        while read -r child; do
            kill -KILL "$child" 2>/dev/null || true
        done < <(tr ' ' '\n' <"/proc/$monitor/task/$monitor/children" 2>/dev/null | grep .)
        wait_for 3 process_gone "$monitor" || kill -KILL "$monitor" 2>/dev/null || true
    done
}

# incus_end_daemons: daemons of this stack that an earlier run lost sight of.
incus_end_daemons()
{
    strays_end incusd "$STATE_ROOT/log/incusd.log"
}

# incus_unmount: pools and helper mounts below the state directory, and loop devices.
incus_unmount()
{
    local target loop

    while read -r target; do
        umount "$target" 2>/dev/null || umount -l "$target" || true
    done < <(awk -v root="$INCUS_STATE" '$2 == root || index($2, root "/") == 1 { print $2 }' /proc/mounts | sort -r)
    losetup -l -n -O NAME,BACK-FILE 2>/dev/null | awk -v root="$INCUS_STATE/" \
        'index($2, root) == 1 { print $1 }' |
        while read -r loop; do
            losetup -d "$loop" || true
        done
    crypt_close
}

# incus_remove_links: veth pairs of sandboxes that are gone (a restore that failed early
# leaves both ends on the host).
incus_remove_links()
{
    local link

    for link in $(ip -o link show type veth | awk -F '[ :@]+' '{ print $2 }' |
        grep -E "^${NIC_PREFIX}[a-z0-9]{13}\$"); do
        ip link delete "$link" 2>/dev/null || true
    done
}

# incus_remove_cgroups: empty control groups of the containers of this stack, which is stopped and whose daemons have
# their state still. One that is used refuses to go; of another stack's container that is being started it would not.
incus_remove_cgroups()
{
    local containers

    [[ -d $STATE_ROOT ]] || return 0
    containers=$(find "$STATE_ROOT" -maxdepth 4 -path '*/incus/containers/*' -printf '%f\n')
    [[ -n $containers ]] || return 0
    find /sys/fs/cgroup -depth -type d -path '*/lxc.*' | grep -F "$containers" | xargs -r rmdir 2>/dev/null || true
}

incus_stop()
{
    local pid

    incus_stop_instances
    service_stop pool-guard
    # On SIGPWR the daemon stops what is left and unmounts its pools.
    if pid=$(service_pid incusd); then
        kill -PWR "$pid" 2>/dev/null || true
        wait_for 30 process_gone "$pid" || true
    fi
    service_stop incusd 10
    incus_end_daemons
    incus_end_instances
    incus_unmount
    incus_remove_links
}

any_incusd()
{
    pgrep -f "^$INCUSD( |\$)" >/dev/null
}

# lxcfs goes with the last stack; mounts of it in running sandboxes would break.
incus_stop_lxcfs()
{
    local RUN_DIR=$SHARED_DIR/run LOG_DIR=$SHARED_DIR/log STACK=shared

    any_incusd && return 0
    service_stop lxcfs
    rm -f /run/lxcfs-sandlot.pid
}
