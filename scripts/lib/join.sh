# SPDX-License-Identifier: GPL-2.0-or-later
# A machine becomes a host: what a token of `sandlotctl host token` is good for, step by step. Each step
# looks at what is there, so that a run that was ended anywhere is simply made again. What differs
# between an installed machine and one that stands beside a stack is in join-installed.sh and bare.sh.
# shellcheck shell=bash disable=SC2034,SC2153

JOIN_PORT_INCUS=8443
JOIN_PORT_RELAY=8446
# The trial itself takes seconds; more is for what has to be mended meanwhile.
JOIN_TRIAL_S=900

# join_token TOKEN: JOIN_URL, JOIN_CONNECT, JOIN_PIN and JOIN_SECRET, which it carries.
join_token()
{
    local text

    text=$(base64 -d <<<"$1" 2>/dev/null | jq -ce 'select(.url and .pin and .token)' 2>/dev/null) ||
        die "this is not a token of \"sandlotctl host token\"; copy the whole token that it printed"
    JOIN_URL=$(jq -r .url <<<"$text")
    JOIN_CONNECT=$(jq -r '.connect // ""' <<<"$text")
    JOIN_PIN=$(jq -r .pin <<<"$text")
    JOIN_SECRET=$(jq -r .token <<<"$text")
    # curl wants the colon where the port is the same.
    [[ $JOIN_CONNECT =~ ^$|:[0-9]+$ ]] || JOIN_CONNECT+=:
}

# join_machine: by its own secret the front knows this machine again.
join_machine()
{
    install -d -m 700 "$JOIN_DIR"
    [[ -s $JOIN_DIR/machine ]] ||
        head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' | write_file 600 root:root "$JOIN_DIR/machine"
}

# join_unreached STATUS: what it means that curl ended so.
join_unreached()
{
    local at=$JOIN_URL${JOIN_CONNECT:+ ($JOIN_CONNECT)} words

    words=$(sed 's/^curl: //' "$JOIN_DIR/curl.log")
    if [[ $1 == 90 ]]; then
        die "the front at $at has another certificate than the one in the token. If the front has a new certificate," \
            "create another token. Otherwise another server answers in its place; this machine has sent it nothing"
    fi
    die "the front at $at does not answer: $words; check the network and firewalls, or give another address with --front of" \
        "\"sandlotctl host token\", and run this again"
}

# join_ask [OFFER]: shows the token, and the architecture of this machine; the answer is in JOIN_DIR/answer, and this machine's address towards
# the front in JOIN_LOCAL. Secrets are no arguments of any program.
join_ask()
{
    local status=0 said code

    (umask 077 && : >"$JOIN_DIR/answer.new")
    said=$(JOIN_SECRET=$JOIN_SECRET JOIN_OFFER=${1:-null} jq -cn --rawfile machine "$JOIN_DIR/machine" --arg architecture "$(uname -m)" \
        '{token: env.JOIN_SECRET, machine: $machine, architecture: $architecture} + (env.JOIN_OFFER | fromjson | if . then {offer: .} else {} end)' |
        "${WITHIN[@]}" curl -sS --insecure --pinnedpubkey "$JOIN_PIN" ${JOIN_CONNECT:+--connect-to "::$JOIN_CONNECT"} \
            --max-time 30 --output "$JOIN_DIR/answer.new" --write-out '%{http_code} %{local_ip} %header{date}' \
            --header 'Content-Type: application/json' --data-binary @- "$JOIN_URL/v1/host-joins" \
            2>"$JOIN_DIR/curl.log") || status=$?
    [[ $status == 0 ]] || join_unreached "$status"
    read -r code JOIN_LOCAL JOIN_DATE <<<"$said"
    case $code in
    200) mv "$JOIN_DIR/answer.new" "$JOIN_DIR/answer" ;;
    401 | 422) die "$(jq -r '.message // .error.message' "$JOIN_DIR/answer.new")" ;;
    *) die "the front answered with status $code; run sandlotctl doctor on the front, and then repeat this command" ;;
    esac
}

join_said()
{
    jq -r "$1" "$JOIN_DIR/answer"
}

# join_clock: whether the clock of this machine is that of the front, whose time the last answer has.
join_clock()
{
    local front apart

    front=$(date -d "$JOIN_DATE" +%s 2>/dev/null) || return 0
    apart=$(($(date +%s) - front))
    [[ ${apart#-} -le 5 ]] ||
        note "the clock of this machine is ${apart#-} s $([[ $apart -lt 0 ]] && echo behind || echo ahead of) the" \
            "front's: keep the clocks of both by NTP (systemd-timesyncd, chrony)"
}

join_take()
{
    join_ask
    join_clock
    JOIN_NAME=$(join_said .name)
    JOIN_STATE=$(join_said .state)
    RANGE=$(join_said '.options | if .network == "" then .range else .network end')
    NIC_PREFIX=$(join_said .options.nic_prefix)
    PROJECT=$(join_said .options.project)
    POOL=$(join_said .options.pool)
    JOIN_NETWORKS=$(join_said '.options.protected_networks_open // ""')
    JOIN_RESOLVERS=$(join_said '.options.dns_upstreams // ""')
    JOIN_ADDRESS=${JOIN_ADDRESS:-$JOIN_LOCAL}
    [[ $JOIN_ADDRESS =~ ^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$ ]] ||
        die "this machine connects to the front node from $JOIN_ADDRESS: give the IPv4 address at which the front nodes can connect to it" \
            "with --address"
}

# join_files: the relay's certificate, and whom its Incus lets in. Nothing of it is on a disk twice.
join_files()
{
    install -d -m 755 "$RELAY_DIR"
    join_said '.files["ca.pem"]' | write_file 644 root:root "$RELAY_DIR/ca.pem"
    join_said '.files["host.pem"]' | write_file 600 root:root "$RELAY_DIR/host.pem"
    join_said '.files["incus-client.pem"]' | write_file 644 root:root "$JOIN_DIR/incus-client.pem"
    rm -f "$JOIN_DIR/answer"
}

# join_listen: Incus listens at the address of this machine. An Incus with projects of its own may listen already: other
# clients use that address, so it stays.
join_listen()
{
    local wanted=$JOIN_ADDRESS:$JOIN_PORT_INCUS there

    there=$(incus_cli config get core.https_address)
    case $there in
    "$wanted" | "$JOIN_ADDRESS" | "$JOIN_ADDRESS:" | :"$JOIN_PORT_INCUS" | 0.0.0.0 | 0.0.0.0:"$JOIN_PORT_INCUS" | '[::]' | '[::]':"$JOIN_PORT_INCUS")
        echo "Incus listens at $there"
        ;;
    '')
        incus_cli config set core.https_address "$wanted" ||
            die "Incus cannot listen at $wanted; give an address of this machine with --address"
        ;;
    *)
        die "Incus of this machine listens at $there, but the front nodes need $wanted: run" \
            "\"incus config set core.https_address :$JOIN_PORT_INCUS\" (all addresses), and repeat this command"
        ;;
    esac
}

# join_trust CERTIFICATE: who shows it may use our project, and nothing else of this Incus.
join_trust()
{
    local fingerprint member

    member=$(incus_cli query /1.0 | jq -r 'if .environment.server_clustered then .environment.server_name else empty end')
    join_listen
    incus_cli project show "$PROJECT" >/dev/null 2>&1 ||
        incus_cli project create "$PROJECT" -c features.images=false -c features.profiles=true \
            -c features.storage.volumes=true -c restricted=true -c restricted.containers.lowlevel=allow \
            -c restricted.virtual-machines.lowlevel=allow \
            -c features.networks=false -c restricted.devices.nic=allow -c restricted.devices.disk=managed \
            -c restricted.snapshots=allow -c restricted.backups=allow ${member:+-c restricted.cluster.target=allow -c "user.sandlot.member=$member"}
    fingerprint=$(openssl x509 -in "$1" -noout -fingerprint -sha256 | cut -d = -f 2 | tr -d : | tr A-F a-f)
    incus_cli config trust list --format csv | grep -q "${fingerprint:0:12}" ||
        incus_cli config trust add-certificate "$1" --name control --restricted --projects "$PROJECT"
}

join_fronts()
{
    join_trust "$JOIN_DIR/incus-client.pem"
}

# join_offer: what the front is told of this host.
join_offer()
{
    local memory_mb

    memory_mb=$(awk '/^MemTotal:/ { print int($2 / 1024 * 0.8) }' /proc/meminfo)
    join_ask "$(jq -cn --rawfile certificate "$(incus_certificate)" \
        --arg url "https://$JOIN_ADDRESS:$JOIN_PORT_INCUS" --arg relay "https://$JOIN_ADDRESS:$JOIN_PORT_RELAY" \
        --argjson vcpus "$(($(nproc) * 16))" --argjson memory_mb "$memory_mb" \
        '{url: $url, server_cert: $certificate, relay: $relay, vcpus: $vcpus, memory_mb: $memory_mb}')"
}

# join_wait: until a sandbox was tried here. What keeps it from that is said once.
join_wait()
{
    local until_s=$((SECONDS + JOIN_TRIAL_S)) failure said=

    while join_ask && [[ $(join_said .state) != active ]]; do
        failure=$(join_said .failure)
        if [[ -n $failure && $failure != "$said" ]]; then
            printf '\n    not yet: %s\n  %-58s' "$failure" "" >&30
            said=$failure
        fi
        [[ $SECONDS -lt $until_s ]] ||
            die "host $JOIN_NAME is not active yet${said:+: $said}; the front tries again, and you can repeat this command to wait"
        sleep 1
    done
    rm -f "$JOIN_DIR/answer"
    touch "$JOIN_DIR/active"
}

# join_steps TOKEN: the steps of a host that is not active yet, which is all that their count can assume.
join_steps()
{
    step "places" join_places
    step "token" join_token "$1"
    step "secret of this machine" join_machine
    step "front" join_take
    if [[ ${JOIN_STATE:-} == active ]]; then
        return 0
    fi
    step "certificates" join_files
    step "settings" join_config
    step "packet filter and Incus" join_incus
    step "storage pool" join_pool
    step "project, and the front nodes' way to Incus" join_fronts
    step "firewall" join_firewall
    step "relay" join_relay
    step "row of the host" join_offer
    step "trial" join_wait
}

# join_run TOKEN
join_run()
{
    steps_of join_steps "$1"
    if [[ $JOIN_STATE == active ]]; then
        rm -f "$JOIN_DIR/answer"
        touch "$JOIN_DIR/active"
        say "Host $JOIN_NAME is active already."
    else
        say "Host $JOIN_NAME is active and gets sandboxes."
    fi
}
