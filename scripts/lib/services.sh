# SPDX-License-Identifier: GPL-2.0-or-later
# Long-running programs of a stack: transient units where systemd runs the machine,
# otherwise a session of their own with a pid file and a log.
#
# A pid file holds "PID START BOOT": the process's start time and the boot's id say
# whether the number still means the process that we started.
# shellcheck shell=bash

# In whose namespaces they run (lib/other.sh): words before the command's own.
WITHIN=()

# What each of them has in its environment beside the usual: NAME=VALUE words.
SERVICE_ENVIRONMENT=()

boot_id()
{
    cat /proc/sys/kernel/random/boot_id
}

# process_start PID: when the process started, in clock ticks since the boot.
process_start()
{
    local stat

    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # The command's name, in brackets, may hold blanks.
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    [[ $1 != Z ]] || return 1
    printf '%s' "${20}"
}

service_unit()
{
    printf 'sandlot-%s-%s.service' "$STACK" "$1"
}

# service_pid_write NAME PID: remembers PID as the process of NAME.
service_pid_write()
{
    printf '%s %s %s\n' "$2" "$(process_start "$2")" "$(boot_id)" >"$RUN_DIR/$1.pid"
}

# service_pid NAME: prints the pid when the process we started is still there.
service_pid()
{
    local pid start boot

    if has_systemd; then
        pid=$(systemctl show --property MainPID --value "$(service_unit "$1")" 2>/dev/null) || return 1
        [[ ${pid:-0} -gt 0 ]] || return 1
        printf '%s' "$pid"
        return 0
    fi
    [[ -s $RUN_DIR/$1.pid ]] || return 1
    read -r pid start boot <"$RUN_DIR/$1.pid" || return 1
    [[ $pid =~ ^[0-9]+$ && $boot == "$(boot_id)" ]] || return 1
    [[ $(process_start "$pid") == "$start" ]] || return 1
    printf '%s' "$pid"
}

service_running()
{
    service_pid "$1" >/dev/null
}

# service_start NAME USER -- COMMAND…: does nothing when NAME already runs.
service_start()
{
    local name=$1 user=$2

    shift 3
    service_running "$name" && return 0
    mkdir -p "$RUN_DIR" "$LOG_DIR"
    if has_systemd; then
        systemctl reset-failed "$(service_unit "$name")" 2>/dev/null || true
        # KillMode=process: sandboxes outlive the daemon that started them.
        systemd-run --quiet --collect --unit="$(service_unit "$name")" \
            --service-type=exec --property=User="$user" --property=KillMode=process \
            --property=LimitNOFILE=1048576 --property=TasksMax=infinity \
            --property=StandardOutput="append:$LOG_DIR/$name.log" \
            --property=StandardError="append:$LOG_DIR/$name.log" \
            --setenv=PATH="$PATH" "${SERVICE_ENVIRONMENT[@]/#/--setenv=}" -- "${WITHIN[@]}" "$@"
        return
    fi
    # Nothing of the caller's environment: the next start may be made from another one. Each session has a share of the
    # processors, as each sandbox has; that of a service is nine times a usual one.
    # shellcheck disable=SC2016 # the inner shell's
    setsid sh -c '{ echo -10 >/proc/self/autogroup; } 2>/dev/null || true; exec "$@"' sh \
        "${WITHIN[@]}" setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups \
        env -i PATH="$PATH" LANG=C.UTF-8 HOME=/ "${SERVICE_ENVIRONMENT[@]}" "$@" </dev/null \
        >>"$LOG_DIR/$name.log" 2>&1 30>&- 38>&- 39>&- &
    service_pid_write "$name" $!
}

# service_stop NAME [SECONDS]: ends it, by force when it is still there after SECONDS (10).
service_stop()
{
    local name=$1 seconds=${2:-10} pid

    if pid=$(service_pid "$name"); then
        echo "ending $name ($pid)"
        kill -TERM "$pid" 2>/dev/null || true
        if ! wait_for "$seconds" process_gone "$pid"; then
            echo "$name ($pid) is still there: killed"
            kill -KILL -- "-$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null || true
            wait_for 5 process_gone "$pid" || true
        fi
    fi
    if has_systemd; then
        systemctl stop --quiet "$(service_unit "$name")" 2>/dev/null || true
    fi
    rm -f "$RUN_DIR/$name.pid"
}

# service_wait NAME SECONDS COMMAND…: until COMMAND succeeds; fails at once when NAME ends, and says
# what NAME wrote last.
service_wait()
{
    local name=$1 until_ms=$(($(now_ms) + $2 * 1000))

    shift 2
    until "$@" >/dev/null 2>&1; do
        if [[ $(now_ms) -ge $until_ms ]] || ! service_running "$name"; then
            tail -n 5 "$LOG_DIR/$name.log" >&2 || true
            return 1
        fi
        sleep 0.05
    done
}

process_gone()
{
    ! process_start "$1" >/dev/null
}

# strays PROGRAM TEXT: pids of processes of that program name with TEXT in their arguments.
strays()
{
    local pid exe

    for pid in $(pgrep -f -- "${2//./\\.}" || true); do
        exe=$(readlink "/proc/$pid/exe" 2>/dev/null) || continue
        exe=${exe% (deleted)}
        if [[ ${exe##*/} == "$1" ]]; then
            printf '%s\n' "$pid"
        fi
    done
}

# holders PROGRAM FILE: pids of processes of that program name that have FILE open.
holders()
{
    local pid

    for pid in $(pgrep -x "$1" || true); do
        if readlink "/proc/$pid/fd/"* 2>/dev/null | grep -qF -- "$2"; then
            printf '%s\n' "$pid"
        fi
    done
}

# strays_end PROGRAM TEXT: ends what an earlier run lost sight of (its pid file is gone).
strays_end()
{
    local pid

    for pid in $(strays "$1" "$2"); do
        process_end "$1" "$pid"
    done
}

# holders_end PROGRAM FILE: the same for those that have FILE open.
holders_end()
{
    local pid

    for pid in $(holders "$1" "$2"); do
        process_end "$1" "$pid"
    done
}

process_end()
{
    echo "ending a left-over $1 ($2)"
    kill -TERM "$2" 2>/dev/null || true
    wait_for 10 process_gone "$2" || kill -KILL "$2" 2>/dev/null || true
    wait_for 5 process_gone "$2" || true
}
