# SPDX-License-Identifier: GPL-2.0-or-later
# The SSH entry point.
# shellcheck shell=bash

# ssh_host_key: made once; who has connected knows it.
ssh_host_key()
{
    if [[ ! -s $SSH_HOST_KEY ]]; then
        ssh-keygen -q -t ed25519 -N '' -C "ssh.$DOMAIN" -f "$SSH_HOST_KEY"
    fi
    chown "root:$WORKER_GROUP-sshd" "$SSH_HOST_KEY"
    chmod 640 "$SSH_HOST_KEY"
    # For known_hosts of clients: by address, and for a client that names the host by HostKeyAlias.
    printf '[ssh.%s]:%s,ssh.%s %s\n' "$DOMAIN" "$SSH_PORT" "$DOMAIN" "$(cut -d ' ' -f 1,2 "$SSH_HOST_KEY.pub")" |
        write_file 644 root:root "$STATE_ROOT/ssh_known_hosts"
}

# ssh_start: as a user that reads the key ring and the host key, and with the right to become the user of the
# processes that speak with clients.
ssh_start()
{
    service_running ssh && return 0
    worker_watch 1 "$(program sandlot-ssh)" --config "$CONFIG_FILE"
    service_start ssh root -- /usr/bin/setpriv --reuid "$WORKER_GROUP-sshd" --regid "$WORKER_GROUP" --groups "$WORKER_GROUP-sshd" \
        --inh-caps -all,+setuid,+setgid,+kill --ambient-caps -all,+setuid,+setgid,+kill \
        --bounding-set -all,+setuid,+setgid,+kill "${WATCH[@]}"
    service_wait ssh 10 ssh_answers || die "sandlot-ssh did not start; see also $LOG_DIR/ssh.log"
}

ssh_answers()
{
    local line

    exec {SSH_PROBE}<>"/dev/tcp/127.0.0.1/$SSH_PORT" || return 1
    read -r -t 5 line <&"$SSH_PROBE" || true
    exec {SSH_PROBE}>&-
    [[ ${line:-} == SSH-2.0-* ]]
}
