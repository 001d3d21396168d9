# SPDX-License-Identifier: GPL-2.0-or-later
# The demonstration: one sandbox through its whole life, by curl alone.
# shellcheck shell=bash

# demo_api METHOD PATH [BODY]: prints the answer; an answer that is no success ends the run.
demo_api()
{
    local answer status

    answer=$(curl -sS --max-time 120 --cacert "$TLS_DIR/ca.pem" -X "$1" \
        -H "Authorization: Bearer $SANDLOT_KEY" -H 'Content-Type: application/json' \
        ${3:+--data "$3"} -w '\n%{http_code}' "$BASE_URL$2") || die "$1 $2: no answer from the API"
    status=${answer##*$'\n'}
    answer=${answer%$'\n'*}
    printf '%s %s -> %s %s\n' "$1" "$2" "$status" "$(jq -c 'del(.session)' <<<"$answer" 2>/dev/null)" >&2
    [[ $status == 2* ]] || die "$1 $2 was answered with $status: $(jq -r '.message // empty' <<<"$answer" 2>/dev/null)"
    printf '%s' "$answer"
}

# demo_session ANSWER: the data plane's address and token.
demo_session()
{
    DATA_PLANE_URL=$(jq -er .session.data_plane_url <<<"$1") || die "the answer has no session"
    ACCESS_TOKEN=$(jq -er .session.access_token <<<"$1")
}

demo_curl()
{
    curl -sS --fail-with-body --max-time 30 --cacert "$TLS_DIR/ca.pem" -H "X-Access-Token: $ACCESS_TOKEN" "$@"
}

# demo_envelope: standard input as one message of a Connect stream: a flag, a length, JSON.
demo_envelope()
{
    local text

    text=$(cat)
    # shellcheck disable=SC2059
    printf "\\x00$(printf '\\x%02x' $((${#text} >> 24)) $((${#text} >> 16 & 255)) \
        $((${#text} >> 8 & 255)) $((${#text} & 255)))"
    printf '%s' "$text"
}

# demo_start SECONDS COMMAND…: runs a program in the sandbox; prints the messages of its stream,
# one a line. It goes on in the sandbox when SECONDS are over.
demo_start()
{
    local seconds=$1 status=0

    shift
    jq -nc '{process: {cmd: $ARGS.positional[0], args: $ARGS.positional[1:]}, stdin: false}' --args -- "$@" |
        demo_envelope | demo_curl --max-time "$seconds" --no-buffer --data-binary @- \
        -H 'Content-Type: application/connect+json' -H 'Connect-Protocol-Version: 1' \
        "$DATA_PLANE_URL/process.Process/Start" | tr -c '[:print:]' '\n' |
        sed -nE 's/^[^{]*\{?(\{"(event|error)".*)$/\1/p' || status=$?
    # 28: the time was over, which is meant for what goes on.
    [[ $status -eq 0 || $status -eq 28 ]]
}

# demo_run SCRIPT: what the script wrote; its failure ends the run.
demo_run()
{
    local messages

    messages=$(demo_start 30 /bin/bash -l -c "$1") || die "the data plane did not run: $1"
    printf '%s\n' "$messages" >&2
    jq -se 'any(.[]; .event.end and ((.event.end.exitCode // 0) == 0))' <<<"$messages" >/dev/null ||
        die "a command failed in the sandbox: $1"
    jq -r '.event.data.stdout // empty' <<<"$messages" | base64 -d
}

demo_create()
{
    local body answer

    # shellcheck disable=SC1091
    . "$ETC_DIR/demo-keys"
    body=$(jq -nc '{team: "demo", timeout: 600, metadata: {made_by: "quickstart"},
        envs: {GREETING: "hello from the sandbox"},
        exposed_ports: [{port: 3000, protocol: "http", public: true}]}')
    answer=$(demo_api POST /v1/sandboxes "$body")
    SANDBOX=$(jq -er .id <<<"$answer")
    SANDBOX_PATH=/v1/sandboxes/$SANDBOX
    demo_session "$answer"
}

# shellcheck disable=SC2016
demo_code()
{
    local output

    output=$(demo_run 'echo "$GREETING"; python3 -c "print(6 * 7)"')
    [[ $output == $'hello from the sandbox\n42' ]] || die "unexpected output: $output"
}

demo_files()
{
    local name=/home/user/numbers.bin

    head -c 1000000 /dev/urandom >"$RUN_DIR/demo-up"
    demo_curl -o /dev/null -H 'Content-Type: application/octet-stream' --data-binary "@$RUN_DIR/demo-up" \
        "$DATA_PLANE_URL/files?path=$name" || die "the upload was refused"
    demo_curl -o "$RUN_DIR/demo-down" "$DATA_PLANE_URL/files?path=$name" || die "the download was refused"
    cmp "$RUN_DIR/demo-up" "$RUN_DIR/demo-down" || die "the downloaded file differs from the uploaded one"
    rm -f "$RUN_DIR"/demo-{up,down}
}

demo_preview_answers()
{
    curl -sS --fail --max-time 5 --cacert "$TLS_DIR/ca.pem" "$PREVIEW_URL" | grep -q numbers.bin
}

demo_preview()
{
    demo_start 0.5 python3 -m http.server --bind 127.0.0.1 --directory /home/user 3000
    PREVIEW_URL=$(demo_api GET "$SANDBOX_PATH/ports/3000" | jq -er .url)
    wait_for 15 demo_preview_answers || die "the preview $PREVIEW_URL does not show the server's page"
}

# shellcheck disable=SC2016
demo_count()
{
    demo_start 0.5 /bin/bash -c 'n=0; while :; do n=$((n + 1)); echo "$$ $n" >/tmp/count; sleep 0.1; done'
    read -r COUNT_PID COUNT < <(demo_run 'cat /tmp/count') || die "the counting process does not count"
}

demo_pause()
{
    demo_api POST "$SANDBOX_PATH/pause" >/dev/null
    [[ $(demo_api GET "$SANDBOX_PATH" | jq -r .state) == stopped ]] || die "the sandbox is not paused"
}

demo_resume()
{
    local answer pid count

    answer=$(demo_api POST "$SANDBOX_PATH/resume" '{}')
    demo_session "$answer"
    RESUMED_FROM=$(demo_api GET "$SANDBOX_PATH" | jq -r .resumed_from)
    if [[ $RESUMED_FROM != memory ]]; then
        note "pauses on this machine keep the disk only: the sandbox started again from its disk, without its processes"
        if [[ -n $CRIU_FOUND ]]; then
            note "for the reason, read $LOG_DIR/dispatcher.log, $LOG_DIR/api.log and $INCUS_STATE/logs/"
        fi
        return 0
    fi
    read -r pid count < <(demo_run 'sleep 0.3; cat /tmp/count')
    [[ $pid == "$COUNT_PID" && $count -gt $COUNT ]] ||
        die "the counting process did not continue: $COUNT_PID was at $COUNT, now $pid is at $count"
    demo_preview_answers || die "the preview did not come back"
    note "process $pid continued to count from $COUNT to $count"
}

demo_destroy()
{
    demo_api DELETE "$SANDBOX_PATH" >/dev/null
    if incus_cli list --all-projects --format csv -c n "sandlot.sandbox_id=$SANDBOX" 2>/dev/null | grep -q .; then
        die "the sandbox's instance still exists"
    fi
}

demo()
{
    step "create a sandbox" demo_create
    step "run code in it" demo_code
    step "upload and download a megabyte" demo_files
    step "preview of a server on its 127.0.0.1:3000" demo_preview
    step "start a counting process" demo_count
    step "pause it" demo_pause
    step "resume it; the counting continues" demo_resume
    step "destroy it" demo_destroy
}
