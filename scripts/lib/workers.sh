# SPDX-License-Identifier: GPL-2.0-or-later
# The FastCGI pools, the dispatchers, the firewall and what sets limits.
# shellcheck shell=bash

# worker_pools: prints a line for each pool of workers: name, program, number of workers, reach.
worker_pools()
{
    sed -n 's/^POOL(\([^,]*\), \([^,]*\), \([^,]*\), [^,]*, [^,]*, \([^,]*\), .*/\1 \2 \3 \4/p' \
        "$SOURCE_DIR/fcgi/drivers/config/pools.def"
}
mapfile -t WORKER_POOLS < <(worker_pools | cut -d ' ' -f 1)

# worker_watch COUNT COMMAND…: prints the words that keep COUNT copies running. A worker that
# ends is started again without end; multiwatch would give up after three by itself.
worker_watch()
{
    WATCH=(/usr/bin/multiwatch -s TERM -r 1000000 -t 1000 -f "$1" -- "${@:2}")
}

# The programs that read the key ring, each with a user of its own.
WORKER_NAMES=("${WORKER_POOLS[@]}" events dispatcher sshd)

# worker_confine NAME [GROUP…]: prints the words that make root the user of NAME, with nothing of root and
# no way back to it. Each GROUP comes with the group of all workers.
worker_confine()
{
    local name=$1 groups

    shift
    CONFINE=(/usr/bin/setpriv --reuid "$WORKER_GROUP-$name" --regid "$WORKER_GROUP" --inh-caps -all
        --bounding-set -all --no-new-privs)
    if [[ $# -gt 0 ]]; then
        groups=$(IFS=,; printf '%s' "$*")
        CONFINE+=(--groups "$groups")
    else
        CONFINE+=(--clear-groups)
    fi
}

# worker_pool NAME COUNT PROGRAM [GROUP…]: a pool that accepts on RUN_DIR/NAME.sock.
worker_pool()
{
    local name=$1 count=$2 path

    service_running "$name" && return 0
    path=$(program "$3")
    shift 3
    worker_watch "$count" "$path" --config "$CONFIG_FILE"
    worker_confine "$name" "$@"
    rm -f "$RUN_DIR/$name.sock"
    # Root makes the socket for nginx, then becomes the worker's user.
    service_start "$name" root -- /usr/bin/spawn-fcgi -n -s "$RUN_DIR/$name.sock" -M 0660 \
        -U "$WORKER_GROUP-$name" -G "$NGINX_USER" -b 1024 -- "${CONFINE[@]}" "${WATCH[@]}"
    service_wait "$name" 10 test -S "$RUN_DIR/$name.sock" ||
        die "the pool $name did not start; see also $LOG_DIR/$name.log"
}

# workers_stamp: changes with the programs, their settings and the way they are started.
workers_stamp()
{
    find "$PREFIX" -type f -perm -u+x -exec sha256sum {} + | sort | cat - "$CONFIG_FILE" "$SCRIPTS_DIR/lib/workers.sh" | sha256sum
}

workers_start()
{
    local stamp name program workers reach own groups calls_hosts=("$RUNTIME_GROUP" "$INCUS_GROUP")

    stamp=$(workers_stamp)
    if [[ ! -e $RUN_DIR/workers.stamp || $(<"$RUN_DIR/workers.stamp") != "$stamp" ]]; then
        workers_stop
    fi
    workers_end_strays
    limits_start
    firewall_start
    while read -r name program workers reach; do
        own=SANDLOT_${name^^}_WORKERS
        # As in the units: only programs that call Incus are in its group.
        groups=()
        [[ $reach != hosts ]] || groups=("${calls_hosts[@]}")
        worker_pool "$name" "${!own:-$workers}" "$program" "${groups[@]}"
    done < <(worker_pools)
    worker_pool events 1 sandlot-events
    worker_watch "${SANDLOT_DISPATCHERS:-2}" "$(program sandlot-dispatcher)" --config "$CONFIG_FILE"
    worker_confine dispatcher "${calls_hosts[@]}"
    service_start dispatcher root -- "${CONFINE[@]}" "${WATCH[@]}"
    printf '%s' "$stamp" >"$RUN_DIR/workers.stamp"
}

# workers_end_strays: pools of an earlier run whose pid files are gone or stale, and workers
# whose pool was killed.
workers_end_strays()
{
    local name pid known=' '

    for name in "${WORKER_POOLS[@]}" events dispatcher firewall limits ssh; do
        known+="$(service_pid "$name" || true) "
    done
    for pid in $(strays multiwatch "$CONFIG_FILE"); do
        [[ $known == *" $pid "* ]] || kill -TERM "$pid" 2>/dev/null || true
    done
    for name in sandlot-api sandlot-gate sandlot-events sandlot-dispatcher sandlot-firewall sandlot-limits sandlot-ssh; do
        for pid in $(strays "$name" "$CONFIG_FILE"); do
            [[ $known == *" $(ps -o ppid= -p "$pid" | tr -d ' ') "* ]] || kill -TERM "$pid" 2>/dev/null || true
        done
    done
}

workers_stop()
{
    local name

    for name in ssh dispatcher events "${WORKER_POOLS[@]}" firewall limits; do
        service_stop "$name" 20
        rm -f "$RUN_DIR/$name.sock"
    done
    for name in multiwatch sandlot-api sandlot-gate sandlot-events sandlot-dispatcher sandlot-firewall sandlot-limits sandlot-ssh; do
        strays_end "$name" "$CONFIG_FILE"
    done
    rm -f "$RUN_DIR/workers.stamp"
}
