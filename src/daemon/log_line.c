/* See log_line.h. */
#include "log_line.h"

#include "../base/json.h"
#include "elect.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void add_dump(const json_t *value, struct text *t)
{
    char *dumped = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    text_add(t, dumped != NULL ? dumped : "");
    free(dumped);
}

void log_line_json(const json_t *line, struct text *t) { add_dump(line, t); }

/* Sentences are always quoted. */
static bool is_bare(const char *key, const char *s)
{
    static const char bare[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/-";
    return strcmp(key, "text") != 0 && strcmp(key, "cause") != 0 && *s != '\0' &&
           s[strspn(s, bare)] == '\0';
}

/* Adds a value for human readers: a term such as 2.3, or a string without quotes. */
static void add_plain(const char *key, const json_t *value, struct text *t)
{
    char term[ELECT_TERM_TEXT];
    if (json_is_string(value))
        text_add(t, json_string_value(value));
    else if (strcmp(key, "term") == 0)
        text_add(t, elect_term_text((elect_term)json_integer_value(value), term));
    else
        add_dump(value, t);
}

/* Returns true if human readers do not need the key: it is null, 0, or `at_us`, which is for
 * programs only. */
static bool is_left_out(const char *key, const json_t *value)
{
    return json_is_null(value) || strcmp(key, "at_us") == 0 ||
           (json_is_integer(value) && json_integer_value(value) == 0);
}

void log_line_pairs(const json_t *line, bool dated, struct text *t)
{
    const char *key, *gap = "";
    json_t *value;
    json_object_foreach((json_t *)line, key, value)
    {
        if (is_left_out(key, value) || (!dated && strcmp(key, "time") == 0))
            continue;
        text_add(t, gap);
        text_add(t, key);
        text_add(t, "=");
        if (json_is_string(value) && !is_bare(key, json_string_value(value)))
            add_dump(value, t);
        else
            add_plain(key, value, t);
        gap = " ";
    }
}

static void add_label(const json_t *line, const char *key, struct text *t)
{
    const char *label = field_text(line, key);
    text_add(t, label);
    text_add(t, *label != '\0' ? ": " : "");
}

void log_line_prose(const json_t *line, struct text *t)
{
    const char *cause = field_text(line, "cause");
    add_label(line, "group", t);
    add_label(line, "hook", t);
    text_add(t, field_text(line, "text"));
    if (*cause == '\0')
        return;
    text_add(t, " (");
    text_add(t, cause);
    text_add(t, ")");
}

/* Returns true if a standard field or the message already shows the value, so the journal entry
 * needs no field for it. */
static bool is_in_message(const char *key)
{
    return strcmp(key, "time") == 0 || strcmp(key, "level") == 0 || strcmp(key, "text") == 0;
}

/* No field can contain a newline: text_clean() replaces control characters, and hook output is
 * split into lines. */
void log_line_fields(const json_t *line, enum level level, bool json, struct text *t)
{
    const char *key;
    json_t *value;
    text_add(t, "MESSAGE=");
    (json ? log_line_json : log_line_prose)(line, t);
    text_add(t, "\nPRIORITY=");
    text_add_number(t, level);
    text_add(t, "\nSYSLOG_IDENTIFIER=elect\n");
    json_object_foreach((json_t *)line, key, value)
    {
        if (is_left_out(key, value) || is_in_message(key))
            continue;
        text_add(t, "ELECT_");
        for (const char *c = key; *c != '\0'; c++)
            text_add_bytes(t, &(char){(char)toupper((unsigned char)*c)}, 1);
        text_add(t, "=");
        add_plain(key, value, t);
        text_add(t, "\n");
    }
}
