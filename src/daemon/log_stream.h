/*
 * Writes the log to standard error. If that is systemd's journal, each line goes to the journal's
 * own socket, with a priority and fields. If the socket cannot be reached, the line goes to
 * standard error with a priority prefix such as <4>. Nothing here blocks.
 */
#ifndef ELECT_DAEMON_LOG_STREAM_H
#define ELECT_DAEMON_LOG_STREAM_H

#include "level.h"

#include <jansson.h>
#include <stdbool.h>

#define LOG_STREAM_SOCKET "/run/systemd/journal/socket"

struct log_stream {
    bool json;
    bool journal; /* standard error is systemd's journal */
    const char *socket;
    int fd;
};

void log_stream_open(struct log_stream *s, bool json);
/* Writes the whole line without blocking, or returns false. */
bool log_stream_put(const struct log_stream *s, enum level level, const json_t *line);

#endif
