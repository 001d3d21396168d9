# SPDX-License-Identifier: GPL-2.0-or-later
# The installed system of this machine: the same steps that bring up a stack of the quickstart, at the
# places of an installation, and with systemd to run the programs.
# shellcheck shell=bash disable=SC2034

# What the set-up was told, for its next runs.
SETUP_FILE=/etc/sandlot/setup.conf
SETUP_WORDS=(DOMAIN CERTIFICATE_DIR DATABASE RANGE NIC_PREFIX POOL_SIZE POOL_SOURCE TEMPLATE)

# The status of a set-up that ends because this kernel is too old; debian/sandlot.postinst knows it.
SETUP_NEEDS_KERNEL=3

# installed_recall: what the command line left open is as it was, or usual.
installed_recall()
{
    local name value
    local -A usual=([DOMAIN]=sandbox.localhost [CERTIFICATE_DIR]='' [DATABASE]=local [RANGE]=10.88.0.0/16
        [NIC_PREFIX]=sl [POOL_SIZE]='' [POOL_SOURCE]='' [TEMPLATE]=python)

    if [[ -r $SETUP_FILE ]]; then
        while IFS='=' read -r name value; do
            if [[ -v usual[$name] ]]; then
                usual[$name]=$value
            fi
        done <"$SETUP_FILE"
    fi
    for name in "${SETUP_WORDS[@]}"; do
        if [[ ! -v $name ]]; then
            printf -v "$name" '%s' "${usual[$name]}"
        fi
    done
}

installed_remember()
{
    local name

    for name in "${SETUP_WORDS[@]}"; do
        printf '%s=%s\n' "$name" "${!name}"
    done | write_file 644 root:root "$SETUP_FILE"
}

# installed_former NAME: the answer of the run before.
installed_former()
{
    sed -n "s/^$1=//p" "$SETUP_FILE"
}

# installed_network_lines RANGE NIC_PREFIX: network.env by these answers.
installed_network_lines()
{
    printf 'SANDLOT_RANGE=%s\nSANDLOT_NIC_PREFIX=%s\n' "$1" "$2"
}

# installed_pool_answer NAME ADVICE: an answer about a storage pool that exists changes nothing.
installed_pool_answer()
{
    local former

    former=$(installed_former "$1")
    if [[ $former != "${!1}" ]] && incus_cli query "/1.0/storage-pools/$POOL" >/dev/null 2>&1; then
        note "the storage pool $POOL exists already, and stays as it is; $2"
        printf -v "$1" '%s' "$former"
    fi
}

# installed_answers: remembers them. A host has the network of its first set-up; before there is a host, network.env
# follows the answers, unless the operator has edited it.
installed_answers()
{
    local former_range=$RANGE former_prefix=$NIC_PREFIX file=$ETC_DIR/network.env

    if [[ -e $SETUP_FILE && -e $file ]]; then
        former_range=$(installed_former RANGE)
        former_prefix=$(installed_former NIC_PREFIX)
    fi
    if [[ ${former_range:-$RANGE} != "$RANGE" || ${former_prefix:-$NIC_PREFIX} != "$NIC_PREFIX" ]]; then
        [[ $(ctl --json host list | jq '.hosts | length') == 0 ]] ||
            die "the host has the network of its first set-up, which cannot change: run sandlot-setup with" \
                "--range $former_range --nic-prefix $former_prefix"
        if [[ $(<"$file") == "$(installed_network_lines "$former_range" "$former_prefix")" ]]; then
            rm -f "$file"
        fi
    fi
    if [[ -e $SETUP_FILE ]]; then
        installed_pool_answer POOL_SOURCE "another device is for a new host"
        installed_pool_answer POOL_SIZE "\"incus storage set $POOL size=$POOL_SIZE\" changes its size"
    fi
    installed_remember
}

# installed_settings: everything that follows.
installed_settings()
{
    local prefix=${SOURCE_DIR%/share/sandlot}

    STACK=sandlot
    HOSTS=1
    PROJECT=sandlot
    POOL=sandlot
    IMAGE_ALIAS=sandlot-default
    WORKER_GROUP=sandlot
    RUNTIME_GROUP=sandlot-runtime
    WITHIN=()
    installed_recall
    [[ $DOMAIN =~ ^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$ ]] || die "this is not a domain name: $DOMAIN"
    [[ $NIC_PREFIX =~ ^[a-z]{2}$ ]] || die "the NIC prefix must be two letters: $NIC_PREFIX"
    [[ $RANGE =~ ^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+/[0-9]+$ ]] ||
        die "the range must be an IPv4 network such as 10.88.0.0/16: $RANGE"
    FIRST_RANGE=$RANGE
    PREFIX=$prefix
    ETC_DIR=/etc/sandlot
    RUN_DIR=/run/sandlot
    STATE_ROOT=/var/lib/sandlot/installed
    MARKS_DIR=$STATE_ROOT/marks
    TLS_DIR=$ETC_DIR/tls
    INCUS_STATE=/var/lib/incus
    INCUS_SOCKET_FILE=$INCUS_STATE/unix.socket
    DATABASE_SOCKET=/run/mysqld/mysqld.sock
    CONFIG_FILE=$ETC_DIR/sandlot.conf
    CTL=$PREFIX/sbin/sandlotctl
    SSH_PORT=2222
    SSH_HOST_KEY=$ETC_DIR/ssh_host_key
}

installed_directories()
{
    systemd-sysusers
    systemd-tmpfiles --create sandlot.conf
    install -d -m 755 "$STATE_ROOT" "$MARKS_DIR"
}

# installed_database: the server of this machine, or passwords for another one's.
installed_database()
{
    local file

    if [[ $DATABASE == local ]]; then
        systemctl start mariadb.service 2>/dev/null || systemctl start mysql.service ||
            die "cannot start a database server on this machine: install mariadb-server, or give that of another machine"
        wait_for 300 database_decides || die "the database server does not answer at $DATABASE_SOCKET"
        ! database_refuses || die "the database server refuses root at $DATABASE_SOCKET: sign in as root with its" \
            "password, run \"ALTER USER root@localhost IDENTIFIED VIA unix_socket\" (MySQL: WITH auth_socket), and" \
            "run sandlot-setup; or keep the password, and use --database"
        database_make_login
        return 0
    fi
    for file in database-password database-admin-password; do
        [[ -s $ETC_DIR/$file ]] || die "$ETC_DIR/$file must hold the password of a login of $DATABASE"
    done
}

# installed_certificate: those of an authority of this machine, when the operator has named none.
installed_certificate()
{
    if [[ -n $CERTIFICATE_DIR ]]; then
        openssl x509 -in "$CERTIFICATE_DIR/fullchain.pem" -noout -checkhost "x.$DOMAIN" | grep -q 'does match' ||
            die "$CERTIFICATE_DIR/fullchain.pem is not a certificate for *.$DOMAIN"
        return 0
    fi
    tls_ensure
    # Who connects needs it, the SSH entry point among them.
    install -m 644 "$TLS_DIR/ca.pem" "$ETC_DIR/ca.pem"
}

# installed_renew: a certificate of this machine's own authority that ends soon; certbot renews its own ones.
installed_renew()
{
    if [[ -n $CERTIFICATE_DIR ]] || tls_valid "$TLS_DIR/server.pem"; then
        echo "no certificate of the set-up ends soon"
        return 0
    fi
    installed_certificate
    systemctl reload nginx.service || note "nginx does not use the new certificate: it cannot be reloaded"
}

installed_config_lines()
{
    printf 'base_url = https://api.%s\ndata_plane_host = %s\nconsole_url = https://console.%s\n' \
        "$DOMAIN" "$DOMAIN" "$DOMAIN"
    printf 'default_template = %s\n' "$TEMPLATE"
    if [[ $DATABASE == local ]]; then
        printf 'database_socket = %s\n' "$DATABASE_SOCKET"
    else
        printf 'database_host = %s\n' "$DATABASE"
    fi
    printf 'database_name = %s\ndatabase_user = %s\ndatabase_password_file = %s/database-password\n' \
        "$DATABASE_NAME" "$DATABASE_LOGIN" "$ETC_DIR"
    printf 'database_admin_user = %s\ndatabase_admin_password_file = %s/database-admin-password\n' \
        "$DATABASE_ADMIN" "$ETC_DIR"
    printf 'key_file = %s/keyring\n' "$ETC_DIR"
    if [[ -n $CERTIFICATE_DIR ]]; then
        printf 'tls_certificate_file = %s/fullchain.pem\ntls_certificate_key_file = %s/privkey.pem\n' \
            "$CERTIFICATE_DIR" "$CERTIFICATE_DIR"
    else
        printf 'tls_certificate_file = %s/server.pem\ntls_certificate_key_file = %s/server.key\n' "$TLS_DIR" "$TLS_DIR"
        printf 'ssh_ca_file = %s/ca.pem\n' "$ETC_DIR"
    fi
    if [[ $NIC_PREFIX != sl ]]; then
        printf 'firewall_tun = 0tun-%s\n' "$NIC_PREFIX"
    fi
}

# installed_config_change WRITTEN: a line of the settings that is still as this script wrote it, WRITTEN, follows its
# answer. Lines that the operator has edited stay.
installed_config_change()
{
    local line name lines=()
    local -A written=() wanted=()

    while IFS= read -r line; do
        written[${line%% = *}]=$line
    done <"$1"
    while IFS= read -r line; do
        wanted[${line%% = *}]=$line
    done < <(installed_config_lines)
    while IFS= read -r line || [[ -n $line ]]; do
        name=${line%% = *}
        if [[ $name == "$line" ]]; then # a comment, or empty
            lines+=("$line")
            continue
        fi
        if [[ ${written[$name]-} == "$line" ]]; then
            lines+=(${wanted[$name]+"${wanted[$name]}"})
            continue
        fi
        [[ $line == "${wanted[$name]-}" || ${written[$name]-} == "${wanted[$name]-}" ]] ||
            note "$CONFIG_FILE keeps your own line \"$line\"; the answers give \"${wanted[$name]-}\""
        lines+=("$line")
    done <"$CONFIG_FILE"
    for name in "${!wanted[@]}"; do
        [[ -v written[$name] ]] || grep -q "^$name *=" "$CONFIG_FILE" || lines+=("${wanted[$name]}")
    done
    printf '%s\n' "${lines[@]}" | write_file 644 root:root "$CONFIG_FILE"
}

# installed_config: a lost key ring is not replaced in silence.
installed_config()
{
    local written=$MARKS_DIR/settings

    if [[ ! -e $CONFIG_FILE ]]; then
        {
            echo '# sandlot-setup wrote these lines. It changes a line only when you change the answer that the line'
            echo '# comes from, and never a line that you have edited.'
            installed_config_lines
        } | write_file 644 root:root "$CONFIG_FILE"
    elif [[ -e $written ]] && ! cmp -s "$written" <(installed_config_lines); then
        # Programs that run have the old settings, also when this run fails before it restarts them.
        touch "$MARKS_DIR/restart"
        installed_config_change "$written"
    fi
    installed_config_lines | write_file 644 root:root "$written"
    if [[ ! -e $ETC_DIR/keyring ]]; then
        [[ ! -e $MARKS_DIR/keyring ]] ||
            die "$ETC_DIR/keyring is missing: restore its copy; without it, the encrypted data of the database is lost"
        ctl keyring new "$ETC_DIR/keyring"
    fi
    # Also of one that the operator has copied here, for example from a backup.
    touch "$MARKS_DIR/keyring"
    systemd-tmpfiles --create sandlot.conf
    "$PREFIX/sbin/sandlot-api" --config "$CONFIG_FILE" --check-config
}

# incus_environment NAME: of the daemon that runs.
incus_environment()
{
    local pid

    pid=$(systemctl show --property MainPID --value incus.service)
    [[ $pid != 0 ]] && tr '\0' '\n' <"/proc/$pid/environ" | sed -n "s/^$1=//p"
}

# installed_other_filters: says which packet filters of the machine drop packets of sandboxes, unless they have a rule.
installed_other_filters()
{
    local chains chain

    chains=$(nft -j list chains 2>/dev/null | jq -r '.nftables[] | .chain // empty |
        select((.hook == "forward" or .hook == "input") and (.family == "ip" or .family == "inet") and
            (.policy == "drop" or .table == "firewalld") and (.table | startswith("sandlot") | not)) |
        "chain \(.name) of table \(.table)"') || return 0
    while read -r chain; do
        [[ -z $chain ]] ||
            note "your $chain must let packets of sandboxes pass: see \"A firewall of your own\" in" \
                "doc/howto/install-by-hand.md"
    done <<<"$chains"
}

# installed_incus: the daemon with our helpers around it; a restart of it ends no sandbox.
installed_incus()
{
    local start=start

    if [[ ! -e $ETC_DIR/network.env ]]; then
        installed_network_lines "$RANGE" "$NIC_PREFIX" | write_file 644 root:root "$ETC_DIR/network.env"
        start=restart # the filter may be that of an earlier answer
    fi
    incus_modules
    incus_ids
    systemctl daemon-reload
    systemctl enable --quiet sandlot-nftables.service sandlot-pool.service
    systemctl "$start" sandlot-nftables.service
    # It counts as started where a purge has removed the table since.
    nft list table inet sandlot >/dev/null 2>&1 || systemctl restart sandlot-nftables.service ||
        die "cannot load the packet filter; read its log with journalctl -u sandlot-nftables"
    installed_other_filters
    # Earlier versions of sandlot disabled mounts that map user ids.
    if [[ $(incus_environment INCUS_EXEC_PATH) != "$PREFIX/libexec/sandlot/incusd-exec" ||
        -n $(incus_environment INCUS_IDMAPPED_MOUNTS_DISABLE) ]]; then
        systemctl restart incus.service || die "Incus does not start; read its log with journalctl -u incus"
    fi
    wait_for 300 incus_answers || die "Incus does not answer at $INCUS_SOCKET_FILE"
    if mountpoint -q /var/lib/lxcfs; then
        incus_lxcfs_closed
    fi
}

# --- what systemd does here ---

incus_pool_on_crypt()
{
    # The operator makes an encrypted device first, and POOL_SOURCE names it. A file would not be encrypted.
    [[ -n $POOL_SOURCE ]] || return 1
    incus_cli storage create "$POOL" btrfs source="$POOL_SOURCE" ||
        die "Incus cannot create a storage pool on $POOL_SOURCE, which must be an empty block device"
}

# In plain directories, sandboxes' disks would have no bounds.
incus_pool_plain()
{
    die "Incus cannot create a storage pool of $POOL_SIZE on the file system of $INCUS_STATE: free space there, or give" \
        "another --pool-size, or an empty block device with --pool-source"
}

incus_guard_start()
{
    systemctl restart sandlot-pool.service
}

# --- ---

# installed_pool_size: half of what is free, when nobody said.
installed_pool_size()
{
    if [[ -z $POOL_SIZE ]]; then
        POOL_SIZE=$(df --output=avail -B 1G "$INCUS_STATE" | awk 'NR == 2 { print int($1 / 2) }')GiB
    fi
}

installed_pool()
{
    installed_pool_size
    incus_pool
}

# installed_host: the operator's values of a host that is there stay. An Incus with sandboxes, and a database without a
# host: the database is lost, or another one, and the dispatcher would delete the sandboxes. Running instances of a warm
# pool do not count: they may be unused.
installed_host()
{
    local left

    if [[ $(ctl --json host list | jq '.hosts | length') -gt 0 ]]; then
        echo "there are hosts"
        return 0
    fi
    left=$(incus_cli list --project "$PROJECT" --format json 2>/dev/null |
        jq '[.[] | select(.config["user.sandlot.role"] == "sandbox" and
            ((.name | startswith("warm-") | not) or .status != "Running"))] | length') || left=0
    [[ ${left:-0} -eq 0 ]] ||
        die "Incus has at least $left sandboxes in its project $PROJECT, and the database has no host: to restore a backup with" \
            "them, follow \"Only the database is lost\" in doc/howto/restore.md; to give them up, run" \
            "\"incus delete --force --project $PROJECT NAME\" for each name of \"incus list --project $PROJECT\", and" \
            "run sandlot-setup"
    HOST_DISK_OVERCOMMIT=${HOST_DISK_OVERCOMMIT:-20} accounts_host
}

# installed_template: also when the mark is right and the database is a restored one, whose template has the agent of the
# backup.
installed_template()
{
    local image

    image=$(incus_cli query "/1.0/images/aliases/$IMAGE_ALIAS" | jq -r .target) || image=
    ctl --json template list --team deployment |
        jq -e --arg slug "$TEMPLATE" --arg image "$image" \
            'any(.template_versions[]; .slug == $slug and .fingerprint == $image)' >/dev/null || rm -f "$MARKS_DIR/template"
    accounts_template
}

# installed_listens FILE: nginx has the port of the first server with TLS in FILE.
installed_listens()
{
    local port

    port=$(sed -n '/^ *listen \([0-9]*\) ssl[ ;].*/{s//\1/p;q}' "$1")
    [[ $(ss -Hltnp "sport = :$port") == *'"nginx"'* ]]
}

# installed_nginx_serves FILE: nginx uses its configuration, of which FILE is a part. When another program has a port, a
# reload changes nothing, and reports no failure.
installed_nginx_serves()
{
    nginx -q -t || die "nginx refuses its configuration; nginx -t prints the reason"
    systemctl enable --quiet nginx.service
    systemctl reload-or-restart nginx.service || die "nginx does not start; read its log with journalctl -u nginx"
    wait_for 60 installed_listens "$1" ||
        die "nginx does not get a port of $1: another program may use it, as \"ss -ltnp\" shows; read" \
            "/var/log/nginx/error.log"
}

# installed_nginx: our sites beside those that the machine has.
installed_nginx()
{
    install -d -m 755 "$ETC_DIR/nginx"
    ctl nginx-config --output "$ETC_DIR/nginx"
    if [[ ! -e /etc/nginx/conf.d/sandlot.conf ]]; then
        echo "include $ETC_DIR/nginx/*.conf;" | write_file 644 root:root /etc/nginx/conf.d/sandlot.conf
    fi
    systemctl enable --quiet sandlot-front.service
    systemctl restart sandlot-front.service ||
        die "cannot load the limits of connections by address; read the log with journalctl -u sandlot-front"
    installed_nginx_serves "$ETC_DIR/nginx/sandlot.conf"
}

installed_programs()
{
    systemctl list-unit-files --no-legend 'sandlot-*.socket' | cut -d ' ' -f 1 |
        xargs systemctl enable --quiet sandlot-dispatcher.service sandlot-ssh.service sandlot.target
    if [[ -e $MARKS_DIR/restart ]]; then
        systemctl restart sandlot.target
        rm -f "$MARKS_DIR/restart"
    fi
    systemctl start sandlot.target sandlot-ssh.service || die "some programs do not start; systemctl --failed lists them"
}

# installed_well: doctor finds nothing wrong, except packages with known holes: those are no fault of the set-up, and apt
# could not configure the package that runs it.
installed_well()
{
    local report

    report=$(ctl --json doctor) && return 0
    jq -e '[.findings[] | select(.state == "WRONG" and .check != "holes")] == []' <<<"$report" >/dev/null
}

# installed_doctor: all is well, the warm pool included, which on a slow machine takes minutes.
installed_doctor()
{
    local hole

    wait_for 900 installed_well || true
    if installed_well; then
        while read -r hole; do
            note "$hole"
        done < <(ctl --json doctor | jq -r '.findings[] | select(.state == "WRONG") | "\(.message) \(.advice)"')
        return 0
    fi
    # What a log's last lines show.
    ctl doctor | grep -v '^ok' >&2 || true
    die "sandlotctl doctor finds a fault"
}

# installed_kernel COMMAND: one on which disks have bounds and creating sandboxes stays quick. COMMAND is the one that
# was refused. The package counts a refusal as configured, because apt could not install the kernel otherwise.
installed_kernel()
{
    local kernel flavour

    incus_has_simple_quotas && return 0
    kernel=$(uname -r)
    flavour=${kernel##*[0-9]-}
    die_as "$SETUP_NEEDS_KERNEL" "the kernel $kernel has no simple quotas of btrfs (Linux 6.7 has), without which" \
        "sandboxes' disks have no bounds: run \"apt-get install -t $(debian_codename)-backports linux-image-$flavour\"," \
        "reboot, and run \"$1\""
}

installed_up()
{
    step "answers" installed_answers
    step "kernel" installed_kernel sandlot-setup
    step "users and directories" installed_directories
    step "database" installed_database
    step "certificates" installed_certificate
    step "settings and key ring" installed_config
    step "host key of SSH" ssh_host_key
    step "database schema" ctl migrate
    step "packet filter and Incus" installed_incus
    step "storage pool" installed_pool
    step "default template's tree" template_package_use
    step "default template's image" template_import
    step "nginx" installed_nginx
    step "programs" installed_programs
    step "host" installed_host
    step "package registries" accounts_registries
    step "template \"$TEMPLATE\"" installed_template
    step "doctor" installed_doctor
}

# installed_after_upgrade: sandboxes that run keep the agent that they have.
installed_after_upgrade()
{
    step "certificate" installed_renew
    step "default template's tree" template_package_use
    step "default template's image" template_import
    step "template \"$TEMPLATE\"" installed_template
}
