/*
 * Declarations that only the files config*.c share: numbers for the keys, names for the roles, and
 * functions that report a mistake. config_parse.c reads files and lines, config_values.c parses the
 * value of one key, and config_check.c compares the values with each other.
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

/* Report a mistake, unless an earlier mistake has been reported, and return false. If `word` is not
 * NULL, it appears in quotation marks between `what` and `remedy`. config_parse.c later adds the
 * file and the line. */
bool config_complain(struct config *c, const char *what, const char *word, const char *remedy);
bool config_complain_unknown(struct config *c, const char *what, const char *word,
                             const char *const *known, size_t count);
bool config_complain_name(struct config *c, const char *name);

/* Returns true if a member, a group or a user group may have this name. */
bool config_is_name(const char *s);

/* Returns the length of the folder part of the configuration file's path, including the slash. */
int config_folder(const struct config *c);

/* Parses and stores the value of a key. `index` is the index of the member or the group to which
 * the key belongs. Returns false, with a complaint, if the value is invalid. */
bool config_take_value(struct config *c, unsigned index, enum config_key key, const char *value);

/* Returns true if all required values are present and fit together; otherwise false, with a
 * complaint. */
bool config_check(struct config *c);

#endif
