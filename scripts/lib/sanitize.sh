# SPDX-License-Identifier: GPL-2.0-or-later
# A stack whose programs carry sanitizers, which write what they find below its logs.
# shellcheck shell=bash

SANITIZERS=
SANITIZER_OPTIONS=

# sanitize LIST: build with these, "address,undefined" or "thread".
sanitize()
{
    [[ $1 =~ ^[a-z,]+$ ]] || die "the sanitizers must be a list such as address,undefined: $1"
    SANITIZERS=$1
    SANITIZER_OPTIONS=--with-sanitizer=$1
}

# sanitize_prepare: where reports go, and what tells the programs: those that this starts or
# that the tests run, and those that incusd runs.
sanitize_prepare()
{
    local common=log_path=$LOG_DIR/sanitizer/report:log_exe_name=1:print_stacktrace=1

    [[ -n $SANITIZERS ]] || return 0
    rm -rf "$LOG_DIR/sanitizer"
    # Of several users.
    install -d -m 1777 "$LOG_DIR/sanitizer"
    # A worker keeps little of what it has freed: there are dozens of them.
    export ASAN_OPTIONS=$common:detect_leaks=1:quarantine_size_mb=16
    # libfcgi forgets the parameters of FCGI_GET_VALUES, which doctor asks a pool for.
    echo 'leak:libfcgi.so' >"$STATE_ROOT/lsan-suppressions"
    export LSAN_OPTIONS=suppressions=$STATE_ROOT/lsan-suppressions:print_suppressions=0
    export UBSAN_OPTIONS=$common TSAN_OPTIONS=$common:halt_on_error=0
    SERVICE_ENVIRONMENT=(ASAN_OPTIONS="$ASAN_OPTIONS" LSAN_OPTIONS="$LSAN_OPTIONS" UBSAN_OPTIONS="$UBSAN_OPTIONS"
        TSAN_OPTIONS="$TSAN_OPTIONS")
}

# sanitize_reports: prints the files that there are.
sanitize_reports()
{
    [[ ! -d $LOG_DIR/sanitizer ]] || find "$LOG_DIR/sanitizer" -type f -size +0 | sort
}
