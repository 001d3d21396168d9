# SPDX-License-Identifier: GPL-2.0-or-later
# The ground of all set-up scripts: steps with their time, logs, failures, locks.
# shellcheck shell=bash
#
# A step runs with its output in a log of its own. When it fails, one sentence says
# what failed and where the log is. File descriptor 30 is the person's terminal, 38 and 39
# are locks: high numbers, because dash, which runs hooks of apt, knows ten only.

exec 30>&1

PROGRAM=$(basename "$0")
STEP_TITLE=
STEP_LOG=
STEP_NUMBER=0
STEP_COUNT=
STEP_SHOWN=
STEP_WATCHER=
NOTES=()
FAILURE=
CLEANUPS=()
LAST_WORDS=:
AHEAD=()

now_ms()
{
    date +%s%3N
}

# seconds_since MS: the time since MS, as "12.3".
seconds_since()
{
    local passed=$(($(now_ms) - $1))

    printf '%d.%d' $((passed / 1000)) $((passed % 1000 / 100))
}

say()
{
    printf '%s\n' "$*" >&30
}

# note TEXT: something the person should know; shown below the step it belongs to.
note()
{
    NOTES+=("$*")
    printf 'note: %s\n' "$*"
}

# die SENTENCE: ends the program; within a step the log is named too.
die()
{
    die_as 1 "$@"
}

# die_as STATUS SENTENCE: the same, with a status that the caller of the program knows.
die_as()
{
    local status=$1

    shift
    FAILURE=$*
    printf 'failed: %s\n' "$*" >&2
    exit "$status"
}

# at_exit COMMAND…: runs when the program ends, last registered first.
at_exit()
{
    CLEANUPS=("$(printf '%q ' "$@")" "${CLEANUPS[@]+"${CLEANUPS[@]}"}")
}

# last_words COMMAND: prints what must stand at the very end, whatever happened; it is given
# the status with which the program ends.
last_words()
{
    LAST_WORDS=$1
}

steps_on_exit()
{
    local status=$? cleanup

    trap - EXIT
    trap '' INT TERM HUP
    step_watch_end
    if [[ $status -ne 0 ]]; then
        steps_report_failure "$status"
    fi
    for cleanup in "${CLEANUPS[@]+"${CLEANUPS[@]}"}"; do
        eval "$cleanup" || true
    done
    $LAST_WORDS "$status"
    exit "$status"
}

steps_report_failure()
{
    local status=$1

    if [[ -n $STEP_TITLE ]]; then
        # What died in a subshell has left its sentence in the log.
        FAILURE=${FAILURE:-$(sed -n 's/^failed: //p' "$STEP_LOG" | tail -n 1)}
        printf ' failed\n\n%s: the step "%s" failed%s; its log is %s\n' "$PROGRAM" \
            "$STEP_TITLE" "${FAILURE:+: $FAILURE}" "$STEP_LOG" >&30
        if [[ -s $STEP_LOG ]]; then
            tail -n 20 "$STEP_LOG" | sed 's/^/    | /' >&30
        fi
    else
        printf '%s: %s\n' "$PROGRAM" "${FAILURE:-ended with status $status}" >&30
    fi
}

steps_init()
{
    set -E
    trap steps_on_exit EXIT
    # In the step's log: where it ended, when the command itself said nothing.
    trap 'printf "%s:%s: status %s from: %s\n" "${BASH_SOURCE[0]}" "$LINENO" "$?" "$BASH_COMMAND" >&2' ERR
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    [[ $EUID -eq 0 ]] || die "run this as root"
    # A session may run with a umask of 077; what is made here is read by several users.
    umask 022
    export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
    export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
}

# step_watch: at a terminal, how long the step takes and the last line of its log, in the step's own line.
step_watch()
{
    local started columns shown

    started=$SECONDS
    exec 38>&- 39>&-
    trap - ERR
    set +e # it ends by step_watch_end, or with this program
    columns=$(stty size <&30 2>/dev/null | cut -d ' ' -f 2)
    while sleep 1 && kill -0 $$ 2>/dev/null; do
        ((SECONDS - started >= 3)) || continue
        shown=$(tail -n 1 "$STEP_LOG" 2>/dev/null | tr -d '[:cntrl:]')
        shown=$(printf '  %-38.38s %4d s  %s' "$STEP_SHOWN" "$((SECONDS - started))" "$shown")
        printf '\r%s\e[K' "${shown:0:${columns:-80}-1}" >&30
    done
}

step_watch_end()
{
    [[ -n $STEP_WATCHER ]] || return 0
    # By KILL: TERM could run this program's own trap in a watcher that has just begun.
    kill -KILL "$STEP_WATCHER" 2>/dev/null || true
    wait "$STEP_WATCHER" 2>/dev/null || true
    STEP_WATCHER=
    printf '\r  %-58s\e[K' "$STEP_SHOWN" >&30
}

# steps_of COMMAND…: runs COMMAND, which consists of steps, and shows which step of how many each one is. A first
# pass only counts them, so COMMAND itself must change nothing, and decide the same in both passes.
steps_of()
{
    STEP_COUNT=$((STEP_NUMBER + $(steps_count "$@")))
    "$@"
    STEP_COUNT=
}

# In a subshell: it redefines step.
steps_count()
{
    local count=0

    # shellcheck disable=SC2317 # COMMAND calls it
    step()
    {
        count=$((count + 1))
    }
    "$@" >/dev/null
    echo "$count"
}

# step TITLE COMMAND…: runs COMMAND in this shell, with its output in a log.
step()
{
    local started text

    STEP_TITLE=$1
    shift
    STEP_NUMBER=$((STEP_NUMBER + 1))
    mkdir -p "$LOG_DIR/setup"
    STEP_LOG=${1##*/}
    STEP_LOG=$LOG_DIR/setup/$(printf '%02d' "$STEP_NUMBER")-${STEP_LOG//_/-}.log
    STEP_SHOWN=${STEP_COUNT:+[$STEP_NUMBER/$STEP_COUNT] }$STEP_TITLE
    printf '  %-58s' "$STEP_SHOWN" >&30
    started=$(now_ms)
    NOTES=()
    if [[ -t 30 ]]; then
        step_watch 2>/dev/null </dev/null &
        STEP_WATCHER=$!
    fi
    "$@" >"$STEP_LOG" 2>&1 </dev/null
    step_watch_end
    printf '%7s s\n' "$(seconds_since "$started")" >&30
    for text in "${NOTES[@]+"${NOTES[@]}"}"; do
        printf '    note: %s\n' "$text" >&30
    done
    STEP_TITLE=
}

# ahead NAME COMMAND…: runs COMMAND beside the steps that follow, with its output in setup/ahead-NAME.log. COMMAND
# prepares files that a later step uses under a lock (with_lock). When COMMAND fails, that step repeats it and reports the error.
ahead()
{
    local log=$LOG_DIR/setup/ahead-$1.log

    shift
    mkdir -p "$LOG_DIR/setup"
    (
        exec 30>&- 38>&- >"$log" 2>&1 </dev/null
        "$@"
    ) &
    AHEAD+=("$!")
}

# ahead_end: for at_exit.
ahead_end()
{
    local pid

    for pid in $(jobs -rp); do
        [[ " ${AHEAD[*]} " != *" $pid "* ]] || descendants_end "$pid"
    done
}

# descendants_end PID: ends the process and all that it has started.
descendants_end()
{
    local child

    for child in $(pgrep -P "$1" || true); do
        descendants_end "$child"
    done
    kill -TERM "$1" 2>/dev/null || true
}

# logs_apart NAME: the logs of steps that delete LOG_DIR, in a folder that no other user can prepare.
logs_apart()
{
    LOG_DIR=$(mktemp -d "/tmp/sandlot-$1.XXXXXX")
}

# wait_for SECONDS COMMAND…: tries COMMAND every 50 ms until it succeeds.
wait_for()
{
    local until_ms=$(($(now_ms) + $1 * 1000))

    shift
    until "$@" >/dev/null 2>&1; do
        [[ $(now_ms) -lt $until_ms ]] || return 1
        sleep 0.05
    done
}

# lock_take NAME WAIT_S: holds a lock of the machine until this program ends. What a
# later step leaves running must not inherit it: services.sh closes it there.
lock_take()
{
    mkdir -p /run/lock
    exec 38>"/run/lock/sandlot-$1.lock"
    flock -w "$2" 38 || die "another run is in progress (/run/lock/sandlot-$1.lock)"
}

# with_lock NAME COMMAND…: runs COMMAND while no other stack's set-up does the same.
with_lock()
{
    local file=/run/lock/sandlot-$1.lock status

    shift
    mkdir -p /run/lock
    exec 39>"$file"
    flock -w 900 39 || die "another run has held $file for more than 15 minutes"
    "$@"
    # Reached with a failure only where the caller asks for the status.
    status=$?
    exec 39>&-
    return "$status"
}

# write_file MODE OWNER FILE: standard input becomes FILE in one rename.
write_file()
{
    local mode=$1 owner=$2 file=$3 new

    mkdir -p "$(dirname "$file")"
    new=$(mktemp "$file.XXXXXX")
    cat >"$new"
    chown "$owner" "$new"
    chmod "$mode" "$new"
    mv -f "$new" "$file"
}

# has_systemd: true when systemd runs this machine.
has_systemd()
{
    [[ -d /run/systemd/system ]]
}
