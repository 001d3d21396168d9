# SPDX-License-Identifier: GPL-2.0-or-later
# unattended-upgrades installs the next version of the packages, in the smallest steps that it knows, while a client
# sends requests and a sandbox runs: no question is asked, each request is answered, and the sandbox keeps its memory.
# shellcheck shell=bash disable=SC2016

# next_version DEB DIRECTORY: the same package, one version later.
next_version()
{
    local root=/root/next.root

    rm -rf "$root"
    dpkg-deb -R "$1" "$root"
    sed -i -E 's/^Version: .*/&+next/; s/(sandlot[a-z-]* \(= [^)]+)\)/\1+next)/g' "$root/DEBIAN/control"
    dpkg-deb -Znone -b "$root" "$2/$(basename "$1")"
    rm -rf "$root"
}

begin kept
apt-get -y -o Dpkg::Use-Pty=0 --no-install-recommends install unattended-upgrades apt-utils </dev/null
mkdir /root/next
for deb in /root/packages/*.deb; do
    next_version "$deb" /root/next
done
(cd /root/next && apt-ftparchive packages . >Packages &&
    apt-ftparchive -o APT::FTPArchive::Release::Origin=sandlot release . >/root/Release && mv /root/Release .)
echo 'deb [trusted=yes] file:/root/next ./' >/etc/apt/sources.list.d/next.list
cat >/etc/apt/apt.conf.d/99next <<'END_OF_TEXT'
#clear Unattended-Upgrade::Origins-Pattern;
Unattended-Upgrade::Origins-Pattern { "origin=sandlot"; };
Unattended-Upgrade::MinimalSteps "true";
END_OF_TEXT
apt-get -q update </dev/null
ask_all_the_time
unattended-upgrade -v </dev/null
all_were_answered
dpkg-query --show --showformat '${Package} ${Version} ${db:Status-Status}\n' 'sandlot*' | tee /tmp/packages
! grep -v '+next installed$' /tmp/packages || fail "a package was not upgraded"
still_runs kept
wait_until 900 sandlotctl doctor
pause_and_resume kept
sandlot rm kept
rm -rf /root/next /etc/apt/sources.list.d/next.list /etc/apt/apt.conf.d/99next
