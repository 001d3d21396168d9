# SPDX-License-Identifier: GPL-2.0-or-later
# A machine to install packages on: a Debian root that systemd runs, in namespaces of its own, with a
# cable to this machine.
# shellcheck shell=bash disable=SC2016

MACHINE=sandlot-machine
MACHINE_DIR=/var/lib/sandlot/.machine
MACHINE_ROOT=$MACHINE_DIR/root
MACHINE_NEAR=198.19.255.1
MACHINE_FAR=198.19.255.2
MACHINE_DOMAIN=box.localhost

# machine_make RELEASE: a new root, of what a bare installation has.
machine_make()
{
    local release=$1 mirror security base=$PACKAGING_CACHE/machine-$1.tar

    machine_remove
    mkdir -p "$MACHINE_ROOT" "$PACKAGING_CACHE"
    if [[ ! -s $base ]]; then
        mirror=$(packages_base_mirror)
        security=$(packages_mirror "$(debian_codename)-security")
        {
            printf 'deb %s %s main\n' "$mirror" "$release" "$mirror" "$release-updates" "$mirror" "$release-backports"
            [[ -z $security ]] || printf 'deb %s %s-security main\n' "$security" "$release"
        } >"$MACHINE_DIR/sources.list"
        mmdebstrap --mode=root --variant=minbase --format=tar \
            --include=systemd,systemd-sysv,dbus,iproute2,ca-certificates,procps,kmod,apt-utils \
            --dpkgopt=force-unsafe-io "$release" "$base.new" "$MACHINE_DIR/sources.list" ||
            die "mmdebstrap could not make the machine's root"
        mv "$base.new" "$base"
    fi
    tar --extract --file "$base" --directory "$MACHINE_ROOT" --numeric-owner --exclude='./dev/*'
    cp -L /etc/resolv.conf "$MACHINE_ROOT/etc/resolv.conf"
    # Devices are those of the machine below.
    ln -sf /dev/null "$MACHINE_ROOT/etc/systemd/system/systemd-udevd.service"
    ln -sf /dev/null "$MACHINE_ROOT/etc/systemd/system/systemd-udev-trigger.service"
    # The unit of lxcfs does not start inside a container, which systemd takes this machine for.
    mkdir -p "$MACHINE_ROOT/etc/systemd/system/lxcfs.service.d"
    printf '[Unit]\nConditionVirtualization=\n' >"$MACHINE_ROOT/etc/systemd/system/lxcfs.service.d/machine.conf"
}

# machine_init: prints the pid of its systemd, as this machine counts.
machine_init()
{
    local outer

    outer=$(cat "$MACHINE_DIR/pid" 2>/dev/null) && pgrep -P "$outer"
}

# within_machine SECONDS COMMAND…
within_machine()
{
    local limit=$1

    shift
    timeout "$limit" nsenter -t "$(machine_init)" -m -p -u -i -n -C -- env -i HOME=/root LC_ALL=C.UTF-8 \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

# machine_groups: a control group of its own in each hierarchy, with this process in it.
machine_groups()
{
    local tree kind

    # shellcheck disable=SC2013
    for tree in $(awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts); do
        mkdir -p "$tree/$MACHINE"
        for kind in cpus mems; do
            [[ ! -e $tree/cpuset.$kind ]] || cat "$tree/cpuset.$kind" >"$tree/$MACHINE/cpuset.$kind"
        done
        echo "$BASHPID" >"$tree/$MACHINE/cgroup.procs"
    done
}

# machine_boot: until systemd says that all is up.
machine_boot()
{
    local init

    # shellcheck disable=SC2016
    (
        exec 38>&- 39>&-
        machine_groups
        exec setsid unshare --mount --pid --uts --ipc --cgroup --net --fork --kill-child --propagation private \
            bash -euc '
            root=$1
            groups=$(awk "\$3 == \"cgroup\" || \$3 == \"cgroup2\" { print \$2, \$3, \$4 }" /proc/mounts)
            mount --bind "$root" "$root"
            cd "$root"
            mount -t proc proc proc
            mount -t sysfs sysfs sys
            [[ $groups == "/sys/fs/cgroup "* ]] || mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
            while read -r place type options; do
                mkdir -p ".$place"
                options=${options#rw,relatime}
                options=${options#,}
                case $options in
                name=*) options=none,$options ;;
                esac
                mount -t "$type" ${options:+-o "$options"} "$type" ".$place"
            done <<<"$groups"
            mount --rbind /dev dev
            mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
            mount -t tmpfs tmpfs run
            mount -t tmpfs tmpfs tmp
            hostname machine
            pivot_root . mnt
            umount -l mnt
            exec env -i container=sandlot PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 /lib/systemd/systemd' \
            bash "$MACHINE_ROOT" >"$MACHINE_DIR/console.log" 2>&1 </dev/null
    ) &
    echo $! >"$MACHINE_DIR/pid"
    wait_for 30 machine_init || die "the machine does not start: $MACHINE_DIR/console.log"
    init=$(machine_init)
    ip link add sandlot-m type veth peer name eth0 netns "$init"
    ip address add "$MACHINE_NEAR/30" dev sandlot-m
    ip link set sandlot-m up
    nsenter -t "$init" -n sh -euc "ip link set lo up; ip address add $MACHINE_FAR/30 dev eth0; ip link set eth0 up
        ip route add default via $MACHINE_NEAR"
    printf 'table ip sandlot_machine\ndelete table ip sandlot_machine\ntable ip sandlot_machine {\n%s\n}\n' \
        " chain out {
            type nat hook postrouting priority srcnat;
            ip saddr $MACHINE_FAR masquerade
        }" | nft -f -
    wait_for 300 machine_is_up || die "the machine does not come up: $MACHINE_DIR/console.log"
}

machine_is_up()
{
    local state

    state=$(within_machine 10 systemctl is-system-running) || true
    [[ $state == running || $state == degraded ]]
}

# machine_halt: in order, sandboxes first; what does not end is killed with its processes.
machine_halt()
{
    local outer

    outer=$(cat "$MACHINE_DIR/pid" 2>/dev/null) || return 0
    within_machine 30 systemctl --no-block poweroff || true
    wait_for 180 process_gone "$outer" || kill -KILL "$outer" || true
    ip link delete sandlot-m 2>/dev/null || true
    rm -f "$MACHINE_DIR/pid"
}

machine_remove()
{
    local loop

    machine_halt
    nft delete table ip sandlot_machine 2>/dev/null || true
    for loop in $(losetup -l -n -O NAME,BACK-FILE | grep -F "$MACHINE_ROOT/" | awk '{ print $1 }'); do
        losetup -d "$loop" || true
    done
    find /sys/fs/cgroup -depth -type d -path "*/$MACHINE*" -exec rmdir {} + 2>/dev/null || true
    rm -rf "$MACHINE_DIR"
}

# machine_answers: to the questions of the packages, given before they are asked.
machine_answers()
{
    within_machine 60 debconf-set-selections /dev/fd/3 3<<<"sandlot sandlot/domain string $MACHINE_DOMAIN"
}

# machine_repository DIRECTORY: the packages of it become a source of apt's.
machine_repository()
{
    local place=$MACHINE_ROOT/srv/repository

    rm -rf "$place"
    mkdir -p "$place"
    cp "$1"/*.deb "$place"
    within_machine 300 sh -euc 'cd /srv/repository
        apt-ftparchive packages . >Packages
        apt-ftparchive -o APT::FTPArchive::Release::Origin=sandlot-test -o APT::FTPArchive::Release::Label=sandlot-test \
            release . >.Release && mv .Release Release
        echo "deb [trusted=yes] file:/srv/repository ./" >/etc/apt/sources.list.d/sandlot-test.list'
    printf '%s\n' 'Unattended-Upgrade::Origins-Pattern { "origin=sandlot-test"; };' \
        'Dpkg::Options { "--force-unsafe-io"; };' >"$MACHINE_ROOT/etc/apt/apt.conf.d/60sandlot-test"
}

# machine_upgrade_unattended DIRECTORY: as a machine does by itself each day.
machine_upgrade_unattended()
{
    local version

    version=$(dpkg-deb --show --showformat '${Version}' "$(compgen -G "$1/sandlot_*.deb")")
    within_machine 600 apt-get -y -o Dpkg::Use-Pty=0 install --no-install-recommends unattended-upgrades
    machine_repository "$1"
    within_machine 300 apt-get -q update
    within_machine 1800 unattended-upgrade --verbose
    within_machine 10 dpkg-query --show --showformat '${Package} ${Version} ${db:Status-Status}\n' 'sandlot*' |
        tee "$MACHINE_DIR/versions"
    ! grep -v " $version installed\$" "$MACHINE_DIR/versions" ||
        die "unattended-upgrade has not upgraded all packages to $version"
}

# machine_remove_unattended: what nothing needs any more, when the operator lets it be removed.
machine_remove_unattended()
{
    within_machine 600 apt-get -y -o Dpkg::Use-Pty=0 remove sandlot
    within_machine 60 sh -c 'dpkg-query --show --showformat "\${Package}\n" | xargs apt-mark manual >/dev/null
        apt-mark auto sandlot-api sandlot-runtime sandlot-ctl sandlot-agent'
    echo 'Unattended-Upgrade::Remove-Unused-Dependencies "true";' >>"$MACHINE_ROOT/etc/apt/apt.conf.d/60sandlot-test"
    within_machine 1800 unattended-upgrade --verbose
    within_machine 10 sh -c '! dpkg-query --show --showformat "\${db:Status-Status}\n" sandlot-api sandlot-runtime |
        grep -x installed' || die "unattended-upgrade has not removed the packages"
    rm -f "$MACHINE_ROOT/etc/apt/apt.conf.d/60sandlot-test"
}

machine_says_what_is_wrong()
{
    within_machine 60 sandlotctl doctor | grep -v '^ok'
    return 1
}

# machine_install DIRECTORY: the packages of it, as an operator does.
machine_install()
{
    rm -rf "$MACHINE_ROOT/root/packages"
    cp -r "$1" "$MACHINE_ROOT/root/packages"
    within_machine 300 apt-get -q update
    # shellcheck disable=SC2016
    within_machine 1800 sh -c 'cd /root/packages && set -- ./*.deb
        ! grep -q bookworm /etc/os-release || set -- "$@" btrfs-progs/bookworm-backports
        apt-get -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io install "$@"' || machine_says_what_is_wrong
    within_machine 10 grep -qx "DOMAIN=$MACHINE_DOMAIN" /etc/sandlot/setup.conf ||
        die "the domain that was preseeded is not that of /etc/sandlot/setup.conf"
}

# machine_script TEXT: run by bash in the machine, with a key of a user in the environment.
machine_script()
{
    # shellcheck disable=SC2016
    within_machine 180 bash -euo pipefail -c '
        export SANDLOT_URL=https://api.'"$MACHINE_DOMAIN"' SANDLOT_CA=/etc/sandlot/ca.pem
        if [[ -s /root/key ]]; then
            export SANDLOT_KEY=$(cat /root/key)
        fi
        # begin NAME: a sandbox with a program in it whose end shows.
        begin()
        {
            sandlot create --name "$1" --timeout 12h
            sandlot exec -n "$1" sh -c \
                "setsid sleep 86400 >/dev/null 2>&1 </dev/null & echo \$! >/home/user/pid"
        }
        goes_on()
        {
            sandlot exec -n "$1" sh -c "kill -0 \$(cat /home/user/pid)"
        }
        # comes_back NAME: from its memory, with the program.
        comes_back()
        {
            local from

            from=$(sandlot resume "$1")
            echo "$1 is resumed from: $from"
            if [[ $from != memory ]]; then
                sandlotctl doctor
                return 1
            fi
            goes_on "$1"
        }
        trap '\''[[ $? == 0 ]] || journalctl --no-pager -o short-iso -n 60 -u "sandlot-*" -u "incus*"'\'' EXIT
        set -x
        '"$1"
}

# machine_doctor: all is well, and nothing of systemd's has failed.
machine_doctor()
{
    wait_for 120 within_machine 60 sandlotctl doctor || true
    within_machine 60 sandlotctl doctor
    within_machine 60 systemctl --failed --plain --no-legend --no-pager | tee "$MACHINE_DIR/failed"
    [[ ! -s $MACHINE_DIR/failed ]] || die "units have failed"
}

# machine_criu: incusd, as systemd runs it, finds a CRIU that will do.
machine_criu()
{
    within_machine 60 sandlotctl doctor | grep -E '^ok +criu '
}

machine_user()
{
    machine_script 'sandlotctl user create ann
        sandlotctl team create acme --plan pro --owner ann
        (umask 077 && sandlotctl key create --user ann --team acme --scope write >/root/key)'
}

# machine_apparmor: the profiles as they are installed; this kernel need not have AppArmor for that.
machine_apparmor()
{
    within_machine 600 apt-get -y -o Dpkg::Use-Pty=0 install --no-install-recommends apparmor
    within_machine 60 bash -euo pipefail -c 'for unit in $(systemctl list-unit-files --plain --no-legend "sandlot-*.service" |
            cut -d " " -f 1); do
            program=$(systemctl cat "$unit" | grep -oE "/usr/sbin/sandlot-[a-z]+" | head -n 1) || continue
            echo "$unit runs $program"
            test -s "/etc/apparmor.d/${program##*/}"
        done
        for profile in /etc/apparmor.d/sandlot-*; do
            apparmor_parser --skip-kernel-load --skip-cache --policy-features /etc/apparmor.d/abi/3.0 --stdout \
                "$profile" >/dev/null
        done'
}

# machine_database_elsewhere: a server that is not this machine's own, which stands still meanwhile.
machine_database_elsewhere()
{
    within_machine 300 bash -euo pipefail -c '
        rm -rf /srv/database && install -d -o mysql -g mysql /srv/database
        mariadb-install-db --no-defaults --force --user=mysql --datadir=/srv/database --skip-test-db \
            --auth-root-authentication-method=socket --skip-name-resolve >/dev/null
        systemctl stop mariadb.service
        systemd-run --unit=elsewhere --property=User=mysql mariadbd --no-defaults --datadir=/srv/database \
            --socket=/srv/database/socket --bind-address='"$MACHINE_FAR"' --skip-name-resolve
        echo "'"$MACHINE_FAR"' db.internal" >>/etc/hosts
        for i in $(seq 120); do
            ! mariadb --no-defaults --socket=/srv/database/socket -e "SELECT 1" || break
            sleep 0.5
        done
        mariadb --no-defaults --socket=/srv/database/socket -e "
            CREATE DATABASE sandlot CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
            CREATE USER sandlot@\"%\" IDENTIFIED BY \"one\"; GRANT SELECT ON sandlot.* TO sandlot@\"%\";
            CREATE USER sandlot_admin@\"%\" IDENTIFIED BY \"two\";
            GRANT ALL PRIVILEGES ON sandlot.* TO sandlot_admin@\"%\" WITH GRANT OPTION;
            GRANT ALL PRIVILEGES ON sandlot_check.* TO sandlot_admin@\"%\""'
    within_machine 60 debconf-set-selections /dev/fd/3 3<<END_OF_TEXT
sandlot sandlot/database string db.internal
sandlot sandlot/database-password password one
sandlot sandlot/database-admin-password password two
END_OF_TEXT
}

# machine_uses_it: and the answers are no longer in debconf's files.
machine_uses_it()
{
    within_machine 10 grep -qx 'database_host = db.internal' /etc/sandlot/sandlot.conf
    ! within_machine 10 systemctl is-active mariadb.service
    ! within_machine 10 grep -rqE '^Value: (one|two)$' /var/cache/debconf
    within_machine 10 test "$(within_machine 10 stat -c %a /etc/sandlot/database-admin-password)" = 600
    within_machine 30 mariadb --no-defaults --socket=/srv/database/socket sandlot -e 'SELECT name FROM users' | grep -x ann
}

# machine_tour: what a user does first.
machine_tour()
{
    machine_script 'begin tour
        goes_on tour
        [[ $(sandlot exec -n tour python3 -c "print(6 * 7)") == 42 ]]
        sandlot pause tour
        comes_back tour
        sandlot rm tour
        ! sandlot show tour'
}

# machine_size: a create in a size that no instance waits in, while Incus stands still.
machine_size()
{
    machine_script 'for i in $(seq 240); do
            [[ $(mariadb --batch --skip-column-names sandlot -e "SELECT COUNT(*) FROM warm_instances \
                WHERE state = \"ready\"") == 0 ]] || break
            sleep 0.5
        done
        incusd=$(systemctl show --property MainPID --value incus.service)
        kill -STOP "$incusd"
        made=no
        ! timeout 30 sandlot create --name size --cpu 2 --memory 1408 || made=yes
        seen=$(timeout 30 sandlot exec -n size sh -c "nproc; free -m" |
            awk "NR == 1 { print } /^Mem:/ { print \$2 }" | xargs) || true
        kill -CONT "$incusd"
        [[ $made == yes && $seen == "2 1408" ]]
        sandlot rm size'
}

# machine_sandboxes: what must outlive that which follows.
machine_sandboxes()
{
    machine_script 'begin work
        begin play'
}

# machine_asks: from now on a request each tenth of a second, on connections of their own, and output of a
# sandbox that is read all the while.
machine_asks()
{
    machine_script 'cat >/root/ask <<\END_OF_TEXT
while [[ ! -e /root/asked ]]; do
    curl -s -o /dev/null --max-time 60 --cacert "$SANDLOT_CA" -H "Authorization: Bearer $SANDLOT_KEY" \
        -w "%{http_code} %{time_total}\n" "$SANDLOT_URL/v1/sandboxes" || true
    sleep 0.1
done
END_OF_TEXT
        rm -f /root/asked
        setsid bash /root/ask >/root/answers 2>&1 </dev/null &
        setsid sandlot exec -n play sh -c "i=0; while [ ! -e /tmp/enough ]; do i=\$((i + 1)); echo \$i; sleep 0.2; done" \
            >/root/output 2>/root/output.errors </dev/null &'
    sleep 3
}

# machine_was_answered: each request with 200, however late, and the output without a gap.
machine_was_answered()
{
    machine_script 'touch /root/asked
        sandlot exec -n play touch /tmp/enough
        for i in $(seq 120); do
            pgrep -f "^bash /root/ask|^sandlot exec -n play sh" >/dev/null || break
            sleep 0.5
        done
        sort -k2 -n /root/answers | tail -n 3
        cut -d " " -f 1 /root/answers | sort | uniq -c
        [[ $(grep -c "^200 " /root/answers) -gt 20 ]]
        if grep -v "^200 " /root/answers; then
            tail -n 5 /var/log/nginx/*error.log
            return 1
        fi
        [[ ! -s /root/output.errors ]] || cat /root/output.errors
        [[ $(wc -l </root/output) -gt 20 ]]
        seq "$(wc -l </root/output)" | cmp - /root/output'
}

machine_sandboxes_go_on()
{
    machine_script 'goes_on work
        goes_on play'
}

machine_pause()
{
    machine_script "sandlot pause $1"
}

machine_resume()
{
    machine_script "comes_back $1"
}

# machine_processes: what sandboxes are on their machine goes on without the service.
machine_processes()
{
    [[ $(within_machine 10 pgrep -fc 'sleep 86400') == "$1" ]]
}

# machine_reboot: what was not paused starts from its disk.
machine_reboot()
{
    machine_halt
    machine_boot
}

machine_after_reboot()
{
    machine_script 'comes_back work
        [[ $(sandlot resume play) == disk ]]
        sandlot rm play'
}

machine_configure_again()
{
    within_machine 600 dpkg-reconfigure -f noninteractive sandlot
    within_machine 600 dpkg-reconfigure -f noninteractive sandlot-runtime sandlot-ctl sandlot-api
    machine_doctor
}

# machine_purge_refused: the programs are gone, the sandboxes go on; a purge that is refused keeps all.
machine_purge_refused()
{
    machine_processes 2 || die "a sandbox ended when the packages were removed"
    within_machine 600 dpkg --purge sandlot
    machine_processes 2 || die "a sandbox ended at a purge that was not told to delete it"
    within_machine 10 test -s /etc/sandlot/keyring || die "the key ring went with a purge that was not told to delete it"
}

# machine_purge: asked, and told to, with all that belongs to it.
machine_purge()
{
    within_machine 60 debconf-set-selections /dev/fd/3 3<<<'sandlot sandlot/purge-sandboxes boolean true'
    within_machine 600 apt-get -y -o Dpkg::Use-Pty=0 purge sandlot sandlot-api sandlot-runtime sandlot-ctl sandlot-agent
    machine_processes 0 || die "a sandbox is left behind by the purge"
    within_machine 10 sh -c 'rm -f /root/key; ! ls -d /etc/sandlot /var/lib/sandlot /var/cache/sandlot /var/log/sandlot' ||
        die "the purge leaves files behind"
    within_machine 10 sh -c '! mariadb -e "USE sandlot"' || die "the purge leaves the database behind"
    within_machine 10 sh -c '! nft list table inet sandlot' || die "the purge leaves the packet filter behind"
}

# packages_counts STATUS: the last line, whatever happened.
packages_counts()
{
    local failed=0

    [[ $1 -eq 0 ]] || failed=1
    say "test-packages: $((STEP_NUMBER - failed)) steps passed, $failed failed"
}

# packages_test RELEASE BEFORE NOW: the life of an installation.
packages_test()
{
    last_words packages_counts
    at_exit machine_remove
    step "machine with systemd, Debian $1" machine_make "$1"
    step "boot" machine_boot
    step "answers before the questions" machine_answers
    step "apt install, the version before" machine_install "$2"
    step "doctor" machine_doctor
    step "a user" machine_user
    step "two sandboxes" machine_sandboxes
    step "requests from now on" machine_asks
    step "unattended-upgrade to this version" machine_upgrade_unattended "$3"
    step "each request is answered" machine_was_answered
    step "the sandboxes go on" machine_sandboxes_go_on
    step "doctor" machine_doctor
    step "CRIU" machine_criu
    step "AppArmor profiles" machine_apparmor
    step "tour: create, exec, pause, resume, delete" machine_tour
    step "another size, while Incus stands still" machine_size
    step "pause with memory" machine_pause work
    step "the set-up once more" machine_configure_again
    step "resume from memory" machine_resume work
    step "the sandboxes go on" machine_sandboxes_go_on
    step "unattended removal" machine_remove_unattended
    step "purge without sandboxes" machine_purge_refused
    step "answers before the questions" machine_answers
    step "install again" machine_install "$3"
    step "the sandboxes go on" machine_sandboxes_go_on
    step "pause with memory" machine_pause work
    step "reboot" machine_reboot
    step "doctor" machine_doctor
    step "from memory, and from the disk" machine_after_reboot
    step "tour" machine_tour
    step "purge with all sandboxes" machine_purge
    step "answers before the questions" machine_answers
    step "a database elsewhere, preseeded" machine_database_elsewhere
    step "apt install, this version, on nothing" machine_install "$3"
    step "doctor" machine_doctor
    step "a user" machine_user
    step "the database elsewhere is used" machine_uses_it
    step "tour" machine_tour
    step "purge" machine_purge
}
