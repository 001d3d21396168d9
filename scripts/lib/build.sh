# SPDX-License-Identifier: GPL-2.0-or-later
# The programs: built out of tree, installed into the stack's own prefix.
# shellcheck shell=bash

# build_programs [CONFIGURE OPTION…]
build_programs()
{
    local wanted compiler

    compiler=$(build_compiler)
    set -- "$@" ${SANITIZER_OPTIONS:+"$SANITIZER_OPTIONS"} ${compiler:+"$compiler"}
    wanted="$SOURCE_DIR --prefix=$PREFIX $*"
    if [[ -e $SOURCE_DIR/config.status ]]; then
        die "the source tree is configured, which prevents a build in another folder: run make distclean in it"
    fi
    if [[ -x $SCRIPTS_DIR/build-microhttpd ]]; then
        with_lock microhttpd "$SCRIPTS_DIR/build-microhttpd"
    fi
    with_lock autogen build_autogen
    # Another clone, other options: nothing of the old build holds, and programs that have gone stay in no prefix.
    if [[ ! -e $BUILD_DIR/.configured || $(<"$BUILD_DIR/.configured") != "$wanted" ]]; then
        rm -rf "$BUILD_DIR" "$PREFIX"
        mkdir -p "$BUILD_DIR"
        (cd "$BUILD_DIR" && "$SOURCE_DIR/configure" --quiet --prefix="$PREFIX" "$@") ||
            die "configure failed"
        printf '%s' "$wanted" >"$BUILD_DIR/.configured"
    fi
    make -C "$BUILD_DIR" -j "$(nproc)" || die "the build failed"
    make -C "$BUILD_DIR" --no-print-directory install >/dev/null || die "make install failed"
}

# Later builds with the same compiler and options are faster, also those of other clones.
build_compiler()
{
    if [[ -z ${CC:-} ]] && command -v ccache >/dev/null; then
        printf 'CC=ccache gcc'
    fi
}

build_autogen()
{
    if [[ ! -x $SOURCE_DIR/configure || $SOURCE_DIR/configure.ac -nt $SOURCE_DIR/configure ]]; then
        "$SOURCE_DIR/autogen.sh" || die "autogen.sh failed"
    fi
}

# program NAME: the path of an installed program.
program()
{
    local directory

    for directory in sbin bin libexec/sandlot; do
        if [[ -x $PREFIX/$directory/$1 ]]; then
            printf '%s' "$PREFIX/$directory/$1"
            return 0
        fi
    done
    die "$1 was not installed below $PREFIX"
}
