# SPDX-License-Identifier: GPL-2.0-or-later
# The operator corrects the domain: dpkg-reconfigure changes the settings that come from the answer, keeps a line that the
# operator has edited, and the service answers at the new name while a sandbox runs.
# shellcheck shell=bash

# answer DOMAIN: given again by dpkg-reconfigure.
answer()
{
    echo "sandlot sandlot/domain string $1" | debconf-set-selections
    sed -i "s/^DOMAIN=.*/DOMAIN=$1/" /etc/sandlot/setup.conf
    dpkg-reconfigure -f noninteractive sandlot
}

# answers DOMAIN: without a key, the API says 401 at this name.
answers()
{
    [[ $(curl -s -o /dev/null -w '%{http_code}' --cacert /etc/sandlot/ca.pem --resolve "api.$1:443:127.0.0.1" \
        "https://api.$1/v1/sandboxes") == 401 ]]
}

begin kept
settings=/etc/sandlot/sandlot.conf
before=$(sed -n 's/^data_plane_host = //p' $settings)
sed -i 's|^console_url = .*|console_url = https://panel.moved.localhost|' $settings
printf '\n# A comment of the operator.\n' >>$settings
answer moved.localhost
grep -x 'base_url = https://api.moved.localhost' $settings
grep -x 'data_plane_host = moved.localhost' $settings
grep -x 'console_url = https://panel.moved.localhost' $settings
grep -x '# A comment of the operator.' $settings
wait_until 300 answers moved.localhost

sed -i 's|^console_url = .*|console_url = https://console.moved.localhost|' $settings
answer "$before"
grep -x "console_url = https://console.$before" $settings
wait_until 300 answers "$before"
wait_until 900 sandlotctl doctor
still_runs kept
sandlot rm kept
