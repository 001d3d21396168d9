# SPDX-License-Identifier: GPL-2.0-or-later
# Everything in this folder, for a program that handles a whole stack.
# shellcheck shell=bash

SCRIPTS_DIR=$SOURCE_DIR/scripts
. "$SCRIPTS_DIR/lib/steps.sh"
. "$SCRIPTS_DIR/lib/settings.sh"
. "$SCRIPTS_DIR/lib/packages.sh"
. "$SCRIPTS_DIR/lib/users.sh"
. "$SCRIPTS_DIR/lib/services.sh"
. "$SCRIPTS_DIR/lib/sanitize.sh"
. "$SCRIPTS_DIR/lib/database.sh"
. "$SCRIPTS_DIR/lib/newer.sh"
. "$SCRIPTS_DIR/lib/criu.sh"
. "$SCRIPTS_DIR/lib/mysql.sh"
. "$SCRIPTS_DIR/lib/crypt.sh"
. "$SCRIPTS_DIR/lib/incus.sh"
. "$SCRIPTS_DIR/lib/firewall.sh"
. "$SCRIPTS_DIR/lib/template.sh"
. "$SCRIPTS_DIR/lib/build.sh"
. "$SCRIPTS_DIR/lib/tls.sh"
. "$SCRIPTS_DIR/lib/config.sh"
. "$SCRIPTS_DIR/lib/accounts.sh"
. "$SCRIPTS_DIR/lib/ssh.sh"
. "$SCRIPTS_DIR/lib/workers.sh"
. "$SCRIPTS_DIR/lib/nginx.sh"
. "$SCRIPTS_DIR/lib/other.sh"
. "$SCRIPTS_DIR/lib/stack.sh"
