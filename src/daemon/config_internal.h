/*
 * Shared by the config*.c files only. config_parse.c reads files and lines, config_values.c parses
 * single values, and config_check.c checks the values against each other.
 */
#ifndef ELECT_DAEMON_CONFIG_INTERNAL_H
#define ELECT_DAEMON_CONFIG_INTERNAL_H

#include "config.h"

enum config_section { SECTION_CLUSTER, SECTION_MEMBER, SECTION_GROUP };

enum config_key {
#define X(section, name, word, value, text) KEY_##name,
    CONFIG_KEYS(X)
#undef X
        KEY_COUNT
};

enum config_role_number { ROLE_MEMBER, ROLE_WITNESS, ROLE_OBSERVER, ROLE_COUNT };
extern const char *const config_roles[ROLE_COUNT];

/* Report the first mistake; later ones are ignored. Return false. If `word` is not NULL, it is
 * quoted between `what` and `remedy`. config_parse.c adds the file and the line. */
bool config_complain(struct config *c, const char *what, const char *word, const char *remedy);
bool config_complain_unknown(struct config *c, const char *what, const char *word,
                             const char *const *known, size_t count);
bool config_complain_name(struct config *c, const char *name);

bool config_is_name(const char *s);

/* Returns the length of the folder part of the configuration file's path, including the slash. */
int config_folder(const struct config *c);

/* Parses and stores a value. `index` is the index of the key's member or group. Returns false, with
 * a complaint, if the value is invalid. */
bool config_take_value(struct config *c, unsigned index, enum config_key key, const char *value);

/* Returns false, with a complaint, if values are missing or do not fit together. */
bool config_check(struct config *c);

#endif
