/*
 * What the files config*.c share and no other file needs: the keys by number, the roles, and how a
 * mistake is reported. config_parse.c reads files and lines, config_values.c the value of one key,
 * config_check.c compares the values with each other.
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

/* Report a mistake, unless one was reported before: only the first counts. `word`, if not NULL, is
 * quoted between `what` and `remedy`. The file and the line are added later. Return false. */
bool config_complain(struct config *c, const char *what, const char *word, const char *remedy);
bool config_complain_unknown(struct config *c, const char *what, const char *word,
                             const char *const *known, size_t count);
bool config_complain_name(struct config *c, const char *name);

/* Returns true if members, groups and users may be called so. */
bool config_is_name(const char *s);

/* Returns how many characters of the path of the file are its folder, with the slash. */
int config_folder(const struct config *c);

/* Reads the value of a key into the configuration: into its member or group of that index if it is
 * a key of one. False, with a complaint, if it is no such value. */
bool config_take_value(struct config *c, unsigned index, enum config_key key, const char *value);

/* Returns true if everything that is needed is there and fits together; else with a complaint. */
bool config_check(struct config *c);

#endif
