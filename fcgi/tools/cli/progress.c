/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/printable.h"
#include "cli/output.h"

#define BAR_WIDTH   24
#define INTERVAL_MS 100

static struct {
    int64_t began_ms, shown_ms;
    int64_t began_at; /* bytes */
    bool visible;
} state;

bool progress_is_wanted(void)
{
    return isatty(STDERR_FILENO);
}

static void print_size(double bytes)
{
    buffer_auto text = BUFFER_INIT(32);
    output_add_size(&text, bytes);
    fputs(buffer_string(&text), stderr);
}

static void print_bar(int64_t done, int64_t total)
{
    int filled = (int)(BAR_WIDTH * done / total);
    fprintf(stderr, "[%.*s%*s]", filled, "########################", BAR_WIDTH - filled, "");
}

void progress_show_steps(size_t done, size_t total, const char *title, double seconds)
{
    if (!progress_is_wanted() || !total)
        return;
    state.visible = true;
    fputs("\r\033[K", stderr);
    print_bar((int64_t)done, (int64_t)total);
    fprintf(stderr, " %zu of %zu steps", done, total);
    if (*title)
        printable_print(stderr, "  %.30s  %.0f s", title, seconds);
    fflush(stderr);
}

void progress_show(const char *name, int64_t done, int64_t total)
{
    int64_t now_ms = clock_monotonic_ms();
    if (!state.began_ms) {
        state.began_ms = now_ms;
        state.began_at = done;
    }
    if (now_ms - state.shown_ms < INTERVAL_MS)
        return;
    state.shown_ms = now_ms;
    state.visible = true;
    fputs("\r\033[K", stderr);
    printable_print(stderr, "%.40s  ", name);
    if (total > 0) {
        print_bar(done, total);
        fprintf(stderr, " %3d %%  ", (int)(100 * done / total));
    }
    print_size((double)done);
    if (now_ms > state.began_ms) {
        fputs("  ", stderr);
        print_size((double)(done - state.began_at) * 1000.0 / (double)(now_ms - state.began_ms));
        fputs("/s", stderr);
    }
    fflush(stderr);
}

void progress_show_wait(const char *why, unsigned seconds)
{
    if (!progress_is_wanted())
        return;
    state.visible = true;
    fprintf(stderr, "\r\033[K%s; trying again in %u s", why, seconds);
    fflush(stderr);
}

void progress_end(void)
{
    if (state.visible)
        fputs("\r\033[K", stderr);
    state.visible = false;
    state.began_ms = state.shown_ms = 0;
}
