/* See hook_output.h. */
#include "hook_output.h"

#include "../base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000
#define PAGE   4096
#define REST   256 /* pages to read after the hook's end: a full pipe */

static void print(struct hook_output *o, enum level level, const char *text)
{
    struct journal_entry e = o->about;
    e.event = JOURNAL_HOOK_OUTPUT;
    e.level = (uint8_t)level;
    journal_print(o->journal, &e, text,
                  json_pack("{s:s, s:i}", "hook", o->hook, "pid", (int)o->pid));
}

static void log_left_out(struct hook_output *o)
{
    char text[96];
    if (o->left_out > 0) {
        snprintf(text, sizeof text,
                 "%llu more lines are not logged (at most %d lines per second are)",
                 (unsigned long long)o->left_out, HOOK_OUTPUT_RATE);
        print(o, LEVEL_WARNING, text);
    }
    o->left_out = 0;
}

static void end_line(struct hook_output *o)
{
    int64_t now = boottime_now();
    size_t length = o->length < HOOK_OUTPUT_LINE ? o->length : HOOK_OUTPUT_LINE;
    snprintf(o->line + length, sizeof "...", "%s", o->length > HOOK_OUTPUT_LINE ? "..." : "");
    o->length = 0;
    if (now - o->second >= SECOND) {
        log_left_out(o);
        o->second = now;
        o->lines = 0;
    }
    if (o->lines == HOOK_OUTPUT_RATE) {
        o->left_out++;
        return;
    }
    o->lines++;
    text_clean_utf8(o->line);
    print(o, 0, o->line);
}

static void take_byte(struct hook_output *o, char byte)
{
    if (byte == '\n') {
        end_line(o);
        return;
    }
    if (o->length < HOOK_OUTPUT_LINE)
        o->line[o->length] = (char)(byte != '\0' ? byte : '?');
    o->length += o->length <= HOOK_OUTPUT_LINE;
}

static ssize_t take(struct hook_output *o)
{
    char bytes[PAGE];
    ssize_t got = read(o->pipe, bytes, sizeof bytes);
    for (ssize_t i = 0; i < got; i++)
        take_byte(o, bytes[i]);
    return got;
}

bool hook_output_take(struct hook_output *o)
{
    ssize_t got = take(o);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

void hook_output_end(struct hook_output *o)
{
    for (unsigned i = 0; i < REST && take(o) > 0; i++) {
    }
    if (o->length > 0)
        end_line(o);
    log_left_out(o);
    close(o->pipe);
}
