/*
 * Formats a log line in three forms. The line is a JSON object with the keys of docs/formats.md;
 * the other two forms are derived from it.
 *
 *     JSON     the object                           elect daemon -o json
 *     pairs    level=notice group=main text="..."   elect daemon
 *     prose    main: b became leader in term 1.2 (cause)  elect history, elect watch, journald
 */
#ifndef ELECT_DAEMON_LOG_LINE_H
#define ELECT_DAEMON_LOG_LINE_H

#include "../base/text.h"
#include "level.h"

#include <jansson.h>

/* Adds key=value for each key that is not null, and the time only if `dated` is set. The text, the
 * cause and any string with a character other than letters, digits and . _ : / - are JSON
 * strings. */
void log_line_pairs(const json_t *line, bool dated, struct text *t);
void log_line_prose(const json_t *line, struct text *t);
/* Adds the fields of a journal datagram, each as NAME=value and a newline. The message is the JSON
 * object if `json` is set, otherwise the prose. */
void log_line_fields(const json_t *line, enum level level, bool json, struct text *t);
void log_line_json(const json_t *line, struct text *t);

#endif
