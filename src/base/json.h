/* Reads the fields of a JSON object. A field that is missing or has another type reads as "", 0 or
 * false. The functions are inline, so that the code in base/ need not be linked with a JSON
 * library. */
#ifndef ELECT_BASE_JSON_H
#define ELECT_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>

static inline const char *field_text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s != NULL ? s : "";
}

static inline json_int_t field_integer(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* Accepts integers and real numbers. */
static inline double field_number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static inline bool field_is_true(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}

#endif
