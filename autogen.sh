#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Generate configure and Makefile.in from a git checkout.
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake pkg-config; do
    if ! command -v "$tool" >/dev/null; then
        echo "autogen.sh: $tool not found (Debian: apt-get install autoconf automake pkg-config)" >&2
        exit 1
    fi
done
mkdir -p build-aux
exec autoreconf --install --force --warnings=all
